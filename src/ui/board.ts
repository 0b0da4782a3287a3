import type { Bus } from '../bus/port.ts'
import { unpackCheckpoint } from '../bus/session/checkpoint.ts'
import { windowSize } from '../bus/session/window.ts'
import type { Settings } from '../config/index.ts'
import { remedyOf } from '../inspect/message/conclusion.ts'
import type { Outcome } from '../protocol/index.ts'
import type { SchemaRegistry } from '../records/registry.ts'
import { DeadLetterCauses } from './dead-letter-causes.ts'
import type { FollowedTopic } from './followed-topic.ts'
import type { AccountNow, ChannelRow, Failure, FunnelRow, History, Now, PartitionNow, SourceState } from './now.ts'
import { OpenDoubtList } from './open-doubts.ts'
import { OperatorPauses } from './operator-pauses.ts'
import { followTraffic, type TopicTraffic } from './topic-traffic.ts'
import { stepMs, steps, Traffic, windowMs } from './traffic.ts'
import { WorkerPages } from './worker-pages.ts'

/** Lag and window of each partition, by what the workers' group has committed and where the topics end. */
async function groupProgress(bus: Bus, groupId: string, topics: readonly FollowedTopic[]): Promise<PartitionNow[]> {
  const ends = topics.flatMap(({ topic, positions }) => positions.map((end, partition) => ({ topic, partition, end })))
  if (ends.length === 0) return []
  const progress = await bus.progress(groupId, ends)
  return ends.map(({ topic, partition, end }, i) => {
    const committed = progress[i]
    if (!committed) return { topic, partition, lag: null, window: 0 }
    const lag = Math.max(0, end - committed.offset)
    return { topic, partition, lag, window: windowUsed(committed) }
  })
}

function windowUsed({ offset, metadata }: { offset: number; metadata: string | null }): number {
  try {
    return unpackCheckpoint(offset, metadata).window.length / windowSize
  } catch {
    return 0 // written by something else: busgate doctor tells of it
  }
}

export interface BoardOptions {
  bus: Bus
  registry: SchemaRegistry
  settings: Settings
  /** Addresses of workers' telemetry ports; without any the topics are counted instead. */
  workers: readonly URL[]
  show: boolean
}

/** The workers' group is asked for its progress every so many steps. */
const progressSteps = 2
const mostPartitions = 256

/** Keeps up to date what the page shows of this moment. */
export class Board {
  readonly #options: BoardOptions
  readonly #since = Date.now()
  readonly #traffic = new Traffic()
  readonly #workers: WorkerPages | null
  /** null: the workers tell. */
  readonly #topics: TopicTraffic | null
  readonly #doubts: OpenDoubtList
  readonly #deadLetters: DeadLetterCauses
  readonly #pauses: OperatorPauses
  readonly #watchers = new Set<(now: Now) => void>()
  #partitions: PartitionNow[] = []
  #trouble: string | null = null
  #isAsking = false
  #timer: NodeJS.Timeout
  #steps = 0

  constructor(options: BoardOptions) {
    const { bus, registry, settings, workers } = options
    this.#options = options
    this.#workers = workers.length > 0 ? new WorkerPages(workers, this.#traffic) : null
    this.#topics = this.#workers ? null : followTraffic(bus, registry, settings, this.#traffic)
    this.#doubts = new OpenDoubtList(bus, registry, settings)
    this.#deadLetters = new DeadLetterCauses(bus, settings.topics.deadLetters)
    this.#pauses = new OperatorPauses(bus, settings.topics.control)
    this.#timer = setTimeout(() => void this.#step(), 0)
  }

  /** Calls back with each new state. @returns what ends that */
  watch(watcher: (now: Now) => void): () => void {
    this.#watchers.add(watcher)
    return () => this.#watchers.delete(watcher)
  }

  history(): History {
    return { room: steps, stepMs, series: this.#series((...name) => this.#traffic.line(...name)) }
  }

  /** Tells what is drawn of each lane and of the results. */
  #series<T>(of: (kind: string, label?: string) => T): Record<string, T> {
    const lanes = this.#options.settings.topics.commands.map(topic => [topic, of('command', topic)] as const)
    return Object.fromEntries([...lanes, ['results', of('result')]])
  }

  now(): Now {
    const { settings, show } = this.#options
    const at = Date.now()
    const workers = this.#workers?.now()
    const doubts = this.#doubts.now(at, this.#reads([this.#doubts]))
    return {
      at,
      since: Math.max(this.#since, at - windowMs),
      windowMs,
      show,
      figures: workers ? 'workers' : 'topics',
      counting: this.#counting,
      sources: this.#sources(),
      lanes: settings.topics.commands.map(topic => ({
        topic,
        perSecond: this.#traffic.perSecond('command', topic),
        commands: this.#counted('command', ([of]) => of === topic),
      })),
      funnel: this.#funnel(),
      channels: workers ? this.#channels() : null,
      failures: this.#failures(),
      doubts,
      accounts: this.#accounts(workers?.accounts ?? []),
      pauses: [...this.#pauses.now(), ...(workers?.pauses ?? [])],
      partitions: (workers?.partitions ?? this.#partitions).toSorted(fullestFirst).slice(0, mostPartitions),
      deadLetters: { ...this.#deadLetters.now(), known: this.#reads([this.#deadLetters]) },
      points: this.#series((...name) => this.#traffic.perSecond(...name)),
    }
  }

  async close(): Promise<void> {
    clearTimeout(this.#timer)
    this.#watchers.clear()
    await Promise.all(this.#parts().map(one => one.close()))
  }

  async #step(): Promise<void> {
    const began = performance.now()
    const isTime = this.#steps++ % progressSteps === 0 || this.#partitions.length === 0
    if (isTime && !this.#isAsking) void this.#askGroup() // brokers may take their time: the rest is told meanwhile
    await this.#workers?.ask()
    this.#topics?.verdicts.countEarly()
    this.#traffic.step(this.#counting)
    const now = this.now()
    for (const watcher of this.#watchers) watcher(now)
    this.#timer = setTimeout(() => void this.#step(), Math.max(0, stepMs - (performance.now() - began)))
  }

  async #askGroup(): Promise<void> {
    const { bus, settings } = this.#options
    this.#isAsking = true
    try {
      await this.#doubts.refresh()
      this.#partitions = await groupProgress(bus, settings.kafka.groupId, this.#topics?.commands ?? [])
      this.#trouble = null
    } catch (error) {
      this.#trouble = (error as Error).message
      this.#partitions = []
    } finally {
      this.#isAsking = false
    }
  }

  /** Whether the sources of the counts tell all now. */
  get #counting(): boolean {
    if (this.#workers) {
      // A worker that the brokers are away from counts on, and counts nothing.
      const { sources } = this.#workers
      const isCutOff = this.#brokersTrouble !== null && sources.some(({ reasons }) => reasons.length > 0)
      return !isCutOff && sources.every(({ trouble }) => trouble === null)
    }
    const { commands, others } = this.#topics!
    return this.#reads([...commands, ...others])
  }

  /** Whether topics are read up to now. */
  #reads(topics: readonly { trouble: string | null; complete: boolean }[]): boolean {
    return this.#trouble === null && topics.every(({ trouble, complete }) => trouble === null && complete)
  }

  /** All that reads topics. */
  #parts() {
    const { commands = [], others = [] } = this.#topics ?? {}
    return [...commands, ...others, this.#doubts, this.#deadLetters, this.#pauses]
  }

  get #brokersTrouble(): string | null {
    const troubles = [this.#trouble, ...this.#parts().map(({ trouble }) => trouble)].filter(trouble => trouble !== null)
    return troubles.length > 0 ? [...new Set(troubles)].join('; ') : null
  }

  #sources(): SourceState[] {
    const { kafka } = this.#options.settings
    const name = Array.isArray(kafka.brokers) ? kafka.brokers.join(', ') : 'the bus inside this process'
    return [{ name, kind: 'brokers', trouble: this.#brokersTrouble, reasons: [] }, ...(this.#workers?.sources ?? [])]
  }

  #counted(kind: string, fits: (labels: string[]) => boolean): number {
    return this.#traffic.counts(kind).reduce((sum, { labels, count }) => sum + (fits(labels) ? count : 0), 0)
  }

  #funnel(): FunnelRow[] {
    const rows = new Map<string, FunnelRow>()
    const none = this.#workers ? null : 0
    const empty = { sent: 0, notSent: 0, inDoubt: 0, unresolved: 0 }
    const rowOf = (type = '') => {
      const row = rows.get(type) ?? { type, commands: none, ...empty, delivered: none, notDelivered: none }
      rows.set(type, row)
      return row
    }
    for (const { labels, count } of this.#traffic.counts('result')) {
      const [type, outcome = ''] = labels
      rowOf(type)[columns[outcome as Outcome] ?? 'notSent'] += count
    }
    if (none === 0) {
      for (const { labels, count } of this.#traffic.counts('command')) rowOf(labels[1]).commands! += count
      for (const { channel, delivered, notDelivered } of this.#channels()) {
        Object.assign(rowOf(channel), { delivered, notDelivered })
      }
    }
    return [...rows.values()].toSorted(
      (a, b) => b.sent + b.notSent - a.sent - a.notSent || a.type.localeCompare(b.type),
    )
  }

  #channels(): ChannelRow[] {
    const verdicts = this.#traffic.counts('verdict')
    const counted = (channel: string, wanted: string) =>
      verdicts.reduce(
        (sum, { labels: [of, state], count }) => sum + (of === channel && state === wanted ? count : 0),
        0,
      )
    const channels = new Set(verdicts.map(({ labels: [channel = ''] }) => channel))
    return [...channels]
      .map(channel => ({
        channel,
        delivered: counted(channel, 'DELIVERED'),
        notDelivered: counted(channel, 'FAILED'),
      }))
      .filter(({ delivered, notDelivered }) => delivered + notDelivered > 0)
      .toSorted((a, b) => b.delivered - a.delivered)
  }

  #failures(): Failure[] {
    const failures = this.#traffic
      .counts('result')
      .flatMap(({ labels: [, outcome = '', errorCode = ''], count }) =>
        outcome === 'SENT' || outcome === 'IN_DOUBT' ? [] : [{ outcome, errorCode, count }],
      )
    const groups = Map.groupBy(failures, ({ outcome, errorCode }) => `${outcome} ${errorCode}`)
    return [...groups.values()]
      .map(group => ({
        ...group[0]!,
        count: group.reduce((sum, { count }) => sum + count, 0),
        remedy: remedyOf(group[0]!.errorCode),
      }))
      .toSorted((a, b) => b.count - a.count)
  }

  #accounts(told: readonly Omit<AccountNow, 'perSecond' | 'rate'>[]): AccountNow[] {
    const { accounts } = this.#options.settings.gateway
    const used = this.#traffic.counts('use').map(({ labels: [name = ''] }) => name)
    const names = new Set([...accounts.keys(), ...used, ...told.map(({ account }) => account)])
    const paused = new Set(this.#pauses.now().map(({ what }) => what))
    return [...names].sort().map(account => {
      const perSecond = this.#traffic.perSecond('use', account)
      const rate = accounts.get(account)?.rate ?? null
      const known = told.find(one => one.account === account)
      const one = { account, headroom: null, learnt: null, state: null, ...known, perSecond, rate }
      return paused.has(`account ${account}`) ? { ...one, state: 'paused' } : one
    })
  }
}

const columns: Readonly<Record<Outcome, 'sent' | 'notSent' | 'inDoubt' | 'unresolved'>> = {
  SENT: 'sent',
  REJECTED: 'notSent',
  INVALID: 'notSent',
  EXPIRED: 'notSent',
  DUPLICATE: 'notSent',
  IN_DOUBT: 'inDoubt',
  UNRESOLVED: 'unresolved',
}

const fullestFirst = (a: PartitionNow, b: PartitionNow) =>
  b.window - a.window || (b.lag ?? 0) - (a.lag ?? 0) || a.topic.localeCompare(b.topic) || a.partition - b.partition
