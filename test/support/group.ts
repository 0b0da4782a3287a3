import type { TopicPartition } from '../../src/bus/port.ts'
import type { GroupDriver, Part } from '../../src/bus/session/driver.ts'
import { Ownership, type OwnershipOptions } from '../../src/bus/session/ownership.ts'
import { type Events, Telemetry } from '../../src/telemetry/events.ts'
import { TestListener } from './bus.ts'
import { ManualClock, settled } from './clock.ts'
import { commitDueMs, type Ending, PartitionLog, ScriptedDriver } from './sessions.ts'

/** One commit at a time for all partitions, which takes as long as the test likes. */
class ScriptedCommits {
  /** The driver of each partition's session, or of the one that is being opened. */
  readonly #driverOf: (partition: number) => ScriptedDriver
  /** The partitions of each commit that began. */
  readonly began: number[][] = []
  #end: ((ending: Ending) => void) | null = null

  constructor(driverOf: (partition: number) => ScriptedDriver) {
    this.#driverOf = driverOf
  }

  /** Is refused when another process has taken one of the partitions over, as its generation is over then. */
  async commit(parts: readonly Part[]): Promise<void> {
    this.began.push(parts.map(({ partition }) => partition))
    const drivers = parts.map(({ partition }) => this.#driverOf(partition))
    const { promise, resolve: end } = Promise.withResolvers<Ending>()
    this.#end = end
    const ending = await promise
    if (!drivers.every(driver => driver.current)) throw new Error('ILLEGAL_GENERATION')
    if (ending !== 'failed') for (const [i, part] of parts.entries()) drivers[i]!.land(part)
    if (ending !== 'ok') throw new Error('no answer')
  }

  end(ending: Ending = 'ok'): void {
    const end = this.#end
    this.#end = null
    end?.(ending)
  }
}

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
  return {
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
    /** The next generation of the group: nobody else can have owned what is kept. */
    async assign(...partitions: number[]) {
      void ownership.joining()
      ownership.assigned(at(partitions), true)
      await settled()
    },
    /** A generation after one that this process had no part in. */
    async assignAfterGap(...partitions: number[]) {
      void ownership.joining()
      ownership.assigned(at(partitions), false)
      await settled()
    },
    /** The broker answers the take-over of these partitions. */
    async acquire(partitions: readonly number[], error: Error | null = null) {
      for (const partition of partitions) driverOf(partition).acquired(error)
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
  const all = group.tps.map(({ partition }) => partition)
  await group.assign(...all)
  await group.acquire(all)
  return group
}
