import type { Bus } from '../bus/port.ts'
import { windowSize } from '../bus/session/window.ts'
import type { Settings } from '../config/index.ts'
import { type Change, nameOf, whyOf } from '../control/change.ts'
import { readControl } from '../control/read.ts'
import { type HeldBack, partitionsOwned, readHeldBack } from '../fleet/held-back.ts'
import { UndecodableRecords } from '../inspect/decoding.ts'
import { remedyOf } from '../inspect/message/conclusion.ts'
import { readProgress } from '../inspect/progress.ts'
import type { SchemaRegistry } from '../records/registry.ts'
import { shellFlag } from '../shell.ts'
import type { Outcome } from '../vocabulary/lists.ts'
import { cut, sentence } from '../words.ts'
import type { FollowedTopic } from './followed-topic.ts'
import { LatestMessages, readEarlierResults } from './latest-messages.ts'
import type { Control, Failure, FunnelRow, History, Now, PartitionNow, ProcessNow } from './now.ts'
import { followTraffic, stepMs, steps, type TopicTraffic, Traffic, windowMs } from './topic-traffic.ts'
import { DeadLetterCauses, OpenDoubtList } from './troubles.ts'

/** Lag and window of each partition, from the group's committed offsets and the ends of the topics. */
async function groupProgress(bus: Bus, settings: Settings, topics: readonly FollowedTopic[]): Promise<PartitionNow[]> {
  const ends = topics.flatMap(({ topic, positions }) => positions.map((end, partition) => ({ topic, partition, end })))
  if (ends.length === 0) return []
  const progress = await readProgress(bus, settings, ends)
  return ends.map(({ topic, partition, end }, i) => {
    const window = progress[i]?.window
    if (!window) return { topic, partition, lag: null, window: 0 }
    return { topic, partition, lag: Math.max(0, end - window.base), window: window.length / windowSize }
  })
}

export interface BoardOptions {
  bus: Bus
  registry: SchemaRegistry
  settings: Settings
  /** Whether to show message texts and phone numbers. */
  reveal: boolean
  /** As in `Now`. Default: empty. */
  commandFlags?: string | null
}

/** Steps between two reads of the group's progress and the control topic. */
const progressSteps = 2
const mostPartitions = 256
/** Most controls shown, since programs may withdraw thousands of messages. */
const mostControls = 100
/** Most holds, processes and their roles. */
const mostHolds = 50
const mostProcesses = 50
const mostRoles = 10
/** Most rows of the funnel, and most reasons of failures. */
const mostRows = 50
/** Longest texts that are shown: a name, an explanation. */
const longestName = 250
const longestText = 1000

/** Maintains the current state that the page shows. */
export class Board {
  readonly #options: BoardOptions
  readonly #since = Date.now()
  readonly #traffic = new Traffic()
  readonly #latest = new LatestMessages()
  readonly #undecodable = new UndecodableRecords()
  readonly #topics: TopicTraffic
  readonly #doubts: OpenDoubtList
  readonly #deadLetters: DeadLetterCauses
  readonly #watchers = new Set<(now: Now) => void>()
  #inForce: readonly Change[] = []
  #partitions: PartitionNow[] = []
  /** Why the group's progress cannot be read now. */
  #trouble: string | null = null
  #controlTrouble: string | null = null
  #isRefreshing = false
  #heldBack: HeldBack | null = null
  /** Why it is unknown what holds commands back. */
  #holdsTrouble: string | null = null
  #isLookingForHolds = false
  #timer: NodeJS.Timeout
  #steps = 0

  constructor(options: BoardOptions) {
    const { bus, registry, settings } = options
    this.#options = options
    const reading = { bus, registry, settings, undecodable: this.#undecodable }
    this.#topics = followTraffic(reading, this.#traffic, this.#latest)
    this.#doubts = new OpenDoubtList(reading)
    this.#deadLetters = new DeadLetterCauses(bus, settings.topics.deadLetters)
    void this.begun().then(() => readEarlierResults(options, this.#topics.results, this.#latest))
    this.#timer = setTimeout(() => this.#step(), 0)
  }

  /** Resolves after the first attempt to follow each topic. */
  async begun(): Promise<void> {
    await Promise.all(this.#followed.map(({ begun }) => begun))
  }

  /** Calls the watcher with each new state. @returns a function that stops this */
  watch(watcher: (now: Now) => void): () => void {
    this.#watchers.add(watcher)
    return () => this.#watchers.delete(watcher)
  }

  history(): History {
    return { room: steps, stepMs, series: this.#series((...name) => this.#traffic.line(...name)) }
  }

  /** Values for each line of the chart: one per lane, and `results`. */
  #series<T>(of: (kind: string, label?: string) => T): Record<string, T> {
    const lanes = this.#options.settings.topics.commands.map(topic => [topic, of('command', topic)] as const)
    return Object.fromEntries([...lanes, ['results', of('result')]])
  }

  now(): Now {
    const { settings, reveal } = this.#options
    const at = Date.now()
    const failures = this.#failures()
    return {
      at,
      since: Math.max(this.#since, at - windowMs),
      reveal,
      trouble: this.#troubles(),
      counting: this.#isCounting,
      lanes: settings.topics.commands.map(topic => ({ topic, commands: this.#commandsOf(topic) })),
      funnel: this.#funnel(),
      failures: failures.slice(0, mostRows),
      otherFailures: failures.slice(mostRows).reduce((sum, { count }) => sum + count, 0),
      doubts: this.#doubts.now(at, this.#areCurrent([this.#doubts.topic])),
      ...this.#holds(),
      pauses: this.#controlsOf('paused'),
      withdrawals: this.#controlsOf('withdrawn'),
      partitions: this.#partitions.toSorted(fullestFirst).slice(0, mostPartitions),
      deadLetters: { ...this.#deadLetters.now(), known: this.#areCurrent([this.#deadLetters.topic]) },
      processes: this.#processes(),
      latest: this.#latest.now(),
      commandFlags: this.#options.commandFlags === undefined ? '' : this.#options.commandFlags,
      undecodable: this.#undecodable.texts,
      points: this.#series((...name) => this.#traffic.perSecond(...name)),
    }
  }

  async close(): Promise<void> {
    clearTimeout(this.#timer)
    this.#watchers.clear()
    await Promise.all(this.#followed.map(topic => topic.close()))
  }

  #step(): void {
    const began = performance.now()
    const isDue = this.#steps++ % progressSteps === 0 || this.#partitions.length === 0
    if (isDue && !this.#isRefreshing) void this.#refresh() // not awaited, since brokers may be slow
    if (!this.#isLookingForHolds) void this.#lookForHolds()
    this.#traffic.step(this.#isCounting)
    const now = this.now()
    for (const watcher of this.#watchers) watcher(now)
    this.#timer = setTimeout(() => this.#step(), Math.max(0, stepMs - (performance.now() - began)))
  }

  async #refresh(): Promise<void> {
    const { bus, settings } = this.#options
    this.#isRefreshing = true
    const [group, control] = await Promise.allSettled([
      this.#readProgress(),
      readControl(bus, settings).then(({ inForce }) => {
        this.#inForce = inForce
      }),
    ])
    this.#trouble = group.status === 'rejected' ? (group.reason as Error).message : null
    this.#controlTrouble = control.status === 'rejected' ? (control.reason as Error).message : null
    if (this.#trouble !== null) this.#partitions = []
    this.#isRefreshing = false
  }

  async #lookForHolds(): Promise<void> {
    const { bus, settings } = this.#options
    this.#isLookingForHolds = true
    try {
      this.#heldBack = await readHeldBack(bus, settings)
      this.#holdsTrouble = null
    } catch (error) {
      this.#heldBack = null
      this.#holdsTrouble = `what holds commands back is unknown: ${(error as Error).message}`
    }
    this.#isLookingForHolds = false
  }

  async #readProgress(): Promise<void> {
    const { bus, settings } = this.#options
    await this.#doubts.refresh()
    this.#partitions = await groupProgress(bus, settings, this.#topics.commands)
  }

  /** Whether all traffic is being counted. */
  get #isCounting(): boolean {
    return this.#areCurrent([...this.#topics.commands, this.#topics.results, this.#topics.statuses])
  }

  /** Whether the topics are read without errors up to their ends. */
  #areCurrent(topics: readonly FollowedTopic[]): boolean {
    return this.#trouble === null && topics.every(({ trouble, complete }) => trouble === null && complete)
  }

  get #followed(): FollowedTopic[] {
    return [
      ...this.#topics.commands,
      this.#topics.results,
      this.#topics.statuses,
      this.#doubts.topic,
      this.#deadLetters.topic,
    ]
  }

  #troubles(): string | null {
    const troubles = [
      this.#trouble,
      this.#controlTrouble,
      this.#holdsTrouble,
      ...this.#followed.map(({ trouble }) => trouble),
    ]
    const text = [...new Set(troubles.filter(trouble => trouble !== null))].join('; ')
    return text === '' ? null : cut(text, longestText)
  }

  #holds(): Pick<Now, 'holds' | 'otherHolds'> {
    if (this.#heldBack === null) return { holds: null, otherHolds: 0 }
    const { holds } = this.#heldBack
    const shown = holds.slice(0, mostHolds).map(({ kind, name, text, mend, waiting }) => ({
      account: kind === 'account' ? name : null,
      text: cut(sentence(text), longestText),
      mend,
      waiting,
    }))
    return { holds: shown, otherHolds: holds.length - shown.length }
  }

  #processes(): ProcessNow[] {
    const { alive = [], silent = [] } = this.#heldBack?.fleet ?? {}
    return [...alive, ...silent].slice(0, mostProcesses).map(one => ({
      name: one.name,
      version: one.report.version,
      roles: one.report.roles.slice(0, mostRoles),
      partitions: partitionsOwned(one),
      silentSince: silent.includes(one) ? one.seenAt : null,
    }))
  }

  #controlsOf(effect: Change['effect']): Control[] {
    const all = this.#inForce.filter(one => one.effect === effect)
    const shown = all.slice(0, mostControls).map(change => ({
      what: cut(nameOf(change), longestName),
      why: cut(whyOf(change), longestText),
    }))
    const others = all.length - shown.length
    return others > 0 ? [...shown, { what: `${others} more`, why: 'busgate status shows all' }] : shown
  }

  #commandsOf(topic: string): number {
    const own = this.#traffic.counts('command').filter(({ labels: [of] }) => of === topic)
    return own.reduce((sum, { count }) => sum + count, 0)
  }

  #funnel(): FunnelRow[] {
    const rows = new Map<string, FunnelRow>()
    const add = (type = '', column: Exclude<keyof FunnelRow, 'type'>, count: number) => {
      const row = rows.get(type) ?? { type, ...emptyRow }
      row[column] += count
      rows.set(type, row)
    }
    for (const { labels, count } of this.#traffic.counts('command')) add(labels[1], 'commands', count)
    for (const { labels, count } of this.#traffic.counts('result')) {
      add(labels[0], columns[labels[1] as Outcome] ?? 'notSent', count)
    }
    for (const { labels, count } of this.#traffic.counts('verdict')) {
      if (labels[1] === 'DELIVERED') add(labels[0], 'delivered', count)
      if (labels[1] === 'FAILED') add(labels[0], 'notDelivered', count)
    }
    const sorted = [...rows.values()].toSorted((a, b) => b.commands - a.commands || a.type.localeCompare(b.type))
    const others = sorted.slice(mostRows)
    return others.length === 0 ? sorted : [...sorted.slice(0, mostRows), sumOf(others)]
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
        examples: examplesCommand(group[0]!),
      }))
      .toSorted((a, b) => b.count - a.count)
  }
}

function examplesCommand({ outcome, errorCode }: Pick<Failure, 'outcome' | 'errorCode'>): string {
  const code = errorCode === '' ? '' : ` ${shellFlag('error-code', errorCode)}`
  return `busgate tail results ${shellFlag('outcome', outcome)}${code} --since 1h --until-end`
}

/** One row for all of these types. */
function sumOf(rows: readonly FunnelRow[]): FunnelRow {
  const sum = { type: 'other', ...emptyRow }
  for (const row of rows) for (const column of columnNames) sum[column] += row[column]
  return sum
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

const emptyRow = { commands: 0, sent: 0, notSent: 0, inDoubt: 0, unresolved: 0, delivered: 0, notDelivered: 0 }
const columnNames = Object.keys(emptyRow) as (keyof typeof emptyRow)[]

const fullestFirst = (a: PartitionNow, b: PartitionNow) =>
  b.window - a.window || (b.lag ?? 0) - (a.lag ?? 0) || a.topic.localeCompare(b.topic) || a.partition - b.partition
