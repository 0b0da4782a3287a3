import type { GroupDriver } from '../../src/bus/driver.ts'
import type { TopicPartition } from '../../src/bus/port.ts'
import { Ownership, type OwnershipOptions } from '../../src/bus/session/ownership.ts'
import { type Events, Telemetry } from '../../src/telemetry/events.ts'
import { TestListener } from './bus.ts'
import { anHour, ManualClock, settled } from './clock.ts'
import { commitDueMs, type Ending, PartitionLog, ScriptedCommits, ScriptedDriver } from './sessions.ts'

/** Builds the ownership of one topic's partitions, in a group whose broker the test scripts. */
export async function buildGroup(
  count: number,
  options: Partial<Omit<OwnershipOptions, 'clock'>> & { clock?: ManualClock } & {
    known?: boolean
    logs?: PartitionLog[]
    /** No partition has a leader when the process starts. */
    withoutLeader?: boolean
    /** The number of partitions when the process started. */
    partitionsAtStart?: number
    /** Whether other processes are in the group. Default: no. */
    members?: () => boolean
  } = {},
) {
  const { clock = new ManualClock(anHour) } = options
  const listener = new TestListener()
  const telemetry = new Telemetry()
  const told: string[] = []
  const tell = (name: keyof Events) =>
    telemetry.on(name, ({ partition }: { partition: number }) => told.push(`${name} ${partition}`))
  const logged: string[] = []
  telemetry.on('bus.log', ({ message }) => logged.push(message))
  const cuts: Events['log.cut'][] = []
  telemetry.on('log.cut', event => cuts.push(event))
  for (const name of ['session.opened', 'session.openFailed', 'session.lost', 'session.closed'] as const) tell(name)
  const ownership = new Ownership({
    listener,
    telemetry,
    clock,
    groupId: 'busgate',
    drainMs: 5_000,
    startFrom: 'earliest',
    lookBack: () => 0,
    ...options,
  })
  const logs = options.logs ?? Array.from({ length: count }, () => new PartitionLog())
  const tps: TopicPartition[] = logs.map((_, partition) => ({ topic: 'commands', partition }))
  /** The drivers of each partition, oldest first. */
  const drivers: ScriptedDriver[][] = logs.map(() => [])
  const { promise: left, resolve: leave } = Promise.withResolvers<void>()
  const leaving = { begun: false, end: leave }
  const lease = { holds: true }
  /** The driver of a partition's current session, or of the one that is opening. */
  const driverOf = (partition: number) => drivers[partition]!.at(-1)!
  const sharedCommits = new ScriptedCommits(driverOf)
  const driver: GroupDriver = {
    partition({ partition }) {
      const made = new ScriptedDriver(logs[partition]!)
      drivers[partition]!.push(made)
      return made
    },
    history: async () =>
      logs.slice(0, options.partitionsAtStart).map(({ committed }) => options.known ?? committed !== null),
    async ends(tp) {
      if (options.withoutLeader) throw new Error('there is no leader')
      return { ...tp, ...logs[tp.partition]!.ends }
    },
    commit: parts => sharedCommits.commit(parts),
    unread: () => [],
    close: () => {},
    hasMembers: async () => options.members?.() ?? false,
    member: {
      totalPartitions: count,
      trouble: null,
      unread: [],
      get isMember() {
        return lease.holds
      },
      get hasLease() {
        return lease.holds && !leaving.begun
      },
      retire: () => {},
      leave: () => {
        leaving.begun = true
        return left
      },
    },
  }
  await ownership.attach(driver, ['commands'])
  const at = (partitions: number[]) => partitions.map(partition => tps[partition]!)
  const all = tps.map(({ partition }) => partition)
  /** Begins the next generation: no other process can have owned the partitions that stay. */
  async function assign(...partitions: number[]): Promise<void> {
    void ownership.joining()
    ownership.assigned(at(partitions), true)
    await settled()
  }
  /** Lets the broker answer the take-over of these partitions. */
  async function acquire(partitions: readonly number[], error: Error | null = null): Promise<void> {
    for (const partition of partitions) driverOf(partition).acquired(error)
    await settled()
  }
  return {
    assign,
    acquire,
    /** Assigns and opens all partitions. */
    async open() {
      await assign(...all)
      await acquire(all)
    },
    /** Opens all partitions again after their sessions were lost. */
    async reopen() {
      await clock.pass(200)
      await acquire(all)
    },
    clock,
    listener,
    told,
    logged,
    cuts,
    ownership,
    logs,
    drivers,
    driverOf,
    /** The group as ownership sees it. */
    driver,
    tps,
    /** `begun`: LeaveGroup was sent; `end` answers it. */
    leaving,
    lease,
    sharedCommits,
    /** Begins a generation after one that this process missed. */
    async assignAfterGap(...partitions: number[]) {
      void ownership.joining()
      ownership.assigned(at(partitions), false)
      await settled()
    },
    /** Delivers the next fetch of a partition. */
    deliver(partition: number) {
      ownership.batch({ ...driverOf(partition).fetch(), partition })
    },
    /** Lets the next commit begin and end. */
    async commit(ending?: Ending) {
      await clock.pass(commitDueMs)
      sharedCommits.end(ending)
      await settled()
    },
  }
}

/** Builds a group that owns all partitions, with open sessions. */
export async function openGroup(count: number, options: Parameters<typeof buildGroup>[1] = {}) {
  const group = await buildGroup(count, options)
  await group.open()
  return group
}
