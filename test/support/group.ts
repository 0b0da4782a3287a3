import type { TopicPartition } from '../../src/bus/port.ts'
import type { GroupDriver } from '../../src/bus/session/driver.ts'
import { Ownership, type OwnershipOptions } from '../../src/bus/session/ownership.ts'
import { type Events, Telemetry } from '../../src/telemetry/events.ts'
import { TestListener } from './bus.ts'
import { ManualClock, settled } from './clock.ts'
import { commitDueMs, type Ending, PartitionLog, ScriptedCommits, ScriptedDriver } from './sessions.ts'

/** Ownership in a group whose broker does as the test says, with the partitions of one topic. */
export async function buildGroup(
  count: number,
  options: Partial<Omit<OwnershipOptions, 'clock'>> & { clock?: ManualClock } & {
    known?: boolean
    logs?: PartitionLog[]
    /** No broker can be asked about a log when the process starts. */
    withoutLeader?: boolean
    /** How many of them there were when the process started. */
    partitionsAtStart?: number
    /** Whether other processes are in the group. Default none. */
    members?: () => boolean
  } = {},
) {
  const { clock = new ManualClock() } = options
  const listener = new TestListener()
  const telemetry = new Telemetry()
  const told: string[] = []
  const tell = (name: keyof Events) =>
    telemetry.on(name, ({ partition }: { partition: number }) => told.push(`${name} ${partition}`))
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
    onDataLoss: 'continue',
    lookBack: () => 0,
    ...options,
  })
  const logs = options.logs ?? Array.from({ length: count }, () => new PartitionLog())
  const tps: TopicPartition[] = logs.map((_, partition) => ({ topic: 'commands', partition }))
  /** All drivers that were asked for, in order. */
  const drivers: ScriptedDriver[][] = logs.map(() => [])
  const { promise: left, resolve: leave } = Promise.withResolvers<void>()
  const leaving = { begun: false, end: leave }
  const lease = { holds: true }
  /** The driver of a partition's session, or of the one that is being opened. */
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
  /** The next generation of the group: nobody else can have owned what is kept. */
  async function assign(...partitions: number[]): Promise<void> {
    void ownership.joining()
    ownership.assigned(at(partitions), true)
    await settled()
  }
  /** The broker answers the take-over of these partitions. */
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
    /** Opens all partitions again, whose sessions were lost. */
    async reopen() {
      await clock.pass(200)
      await acquire(all)
    },
    clock,
    listener,
    told,
    cuts,
    ownership,
    logs,
    drivers,
    driverOf,
    tps,
    /** Whether the group was left, and the broker's answer to it. */
    leaving,
    lease,
    sharedCommits,
    /** A generation after one that this process had no part in. */
    async assignAfterGap(...partitions: number[]) {
      void ownership.joining()
      ownership.assigned(at(partitions), false)
      await settled()
    },
    /** A fetch arrives. */
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

/** A group that owns all of its partitions, open. */
export async function openGroup(count: number, options: Parameters<typeof buildGroup>[1] = {}) {
  const group = await buildGroup(count, options)
  await group.open()
  return group
}
