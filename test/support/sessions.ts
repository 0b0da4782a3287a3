import type { Acquired, Batch, Part, PartitionDriver } from '../../src/bus/driver.ts'
import type { Backlog, BusRecord, OutgoingRecord } from '../../src/bus/port.ts'
import { type BacklogShare, SharedBacklog } from '../../src/bus/session/backlog.ts'
import { Ledger } from '../../src/bus/session/ledger.ts'
import type { LostOffsets } from '../../src/bus/session/lost-offsets.ts'
import { PartitionSession, type SessionOptions } from '../../src/bus/session/session.ts'
import { CommitCycle } from '../../src/bus/transactions/commit-cycle.ts'
import { Telemetry } from '../../src/telemetry/events.ts'
import { buildRecord, TestListener } from './bus.ts'
import { anHour, ManualClock, settled } from './clock.ts'

/** After this time everything that can be committed is due. */
export const commitDueMs = 80

/** A partition at the broker: its log, its checkpoint, and the epoch of the owner that may commit. */
export class PartitionLog {
  readonly topic = 'commands'
  readonly partition = 0
  readonly records: BusRecord[] = []
  low = 0
  end = 0
  committed: Acquired['committed'] = null
  topicId: string | undefined
  lacksCommit = false
  epoch = 0
  readonly published: OutgoingRecord[] = []

  /** @param gap the number of offsets without a record before each record */
  append(count: number, gap = 0): void {
    for (let i = 0; i < count; i++) {
      const offset = this.end + gap
      this.records.push({
        offset,
        timestamp: 0,
        key: Buffer.from(String(offset)),
        value: Buffer.from(`command ${offset}`),
        headers: {},
      })
      this.end = offset + 1
    }
  }

  /** Deletes the records before this offset, as retention or an operator does. */
  cut(low: number): void {
    this.low = low
    this.records.splice(0, this.records.filter(({ offset }) => offset < low).length)
  }

  /** Loses the records from this offset on, as an unclean leader election does. */
  truncate(end: number): void {
    this.end = end
    this.records.splice(this.records.findIndex(({ offset }) => offset >= end))
  }

  get ends(): { low: number; high: number } {
    return { low: this.low, high: this.end }
  }

  /** Appends offsets without a record, like the marker of a transaction. */
  appendGap(length = 1): void {
    this.end += length
  }
}

/** How a commit ends. With 'lost answer' it takes effect, but its owner gets an error. */
export type Ending = 'ok' | 'lost answer' | 'failed'

/** The driver of one epoch of a partition's ownership. The test decides when each step ends. */
export class ScriptedDriver implements PartitionDriver {
  readonly log: PartitionLog
  /** -1 until it is acquired. */
  epoch = -1
  position = 0
  paused = true
  readonly seeks: number[] = []
  #acquiring: ((error: Error | null) => void) | null = null

  constructor(log: PartitionLog) {
    this.log = log
  }

  /** Whether no other owner has taken the partition over. */
  get current(): boolean {
    return this.epoch === this.log.epoch
  }

  acquire(): Promise<Acquired> {
    this.epoch = ++this.log.epoch
    const { committed, low, end, topicId, lacksCommit } = this.log
    return new Promise((resolve, reject) => {
      this.#acquiring = error => (error ? reject(error) : resolve({ committed, low, high: end, topicId, lacksCommit }))
    })
  }

  acquired(error: Error | null = null): void {
    this.#acquiring?.(error)
    this.#acquiring = null
  }

  /** Stores a commit in the log. */
  store({ records, offset, metadata }: Pick<Part, 'records' | 'offset' | 'metadata'>): void {
    this.log.published.push(...records)
    this.log.committed = { offset, metadata }
  }

  /** The next fetch, with at most `most` records. */
  fetch(most = Number.POSITIVE_INFINITY): Batch {
    const { topic, partition, end } = this.log
    const fetchedOffset = this.position
    const rest = this.log.records.filter(({ offset }) => offset >= fetchedOffset)
    const records = rest.slice(0, most)
    this.position = records.length === rest.length ? end : records.at(-1)!.offset + 1
    return { topic, partition, fetchedOffset, records, nextOffset: this.position, highWatermark: end }
  }

  async offsetAt(timestamp: number): Promise<number> {
    return this.log.records.find(record => record.timestamp >= timestamp)?.offset ?? this.log.end
  }

  seek(offset: number): void {
    this.seeks.push(offset)
    this.position = offset
  }

  pause(): void {
    this.paused = true
  }

  resume(): void {
    this.paused = false
  }
}

/** Runs one commit at a time for all partitions. The test decides when and how it ends. */
export class ScriptedCommits {
  /** The driver of a partition's current session, or of the one that is opening. */
  readonly #driverOf: (partition: number) => ScriptedDriver
  /** The partitions of each commit. */
  readonly began: number[][] = []
  #end: ((ending: Ending) => void) | null = null

  constructor(driverOf: (partition: number) => ScriptedDriver) {
    this.#driverOf = driverOf
  }

  get isRunning(): boolean {
    return this.#end !== null
  }

  /** Fails with ILLEGAL_GENERATION if another process has taken one of the partitions over. */
  async commit(parts: readonly Part[]): Promise<void> {
    this.began.push(parts.map(({ partition }) => partition))
    const drivers = parts.map(({ partition }) => this.#driverOf(partition))
    const { promise, resolve: end } = Promise.withResolvers<Ending>()
    this.#end = end
    const ending = await promise
    if (!drivers.every(driver => driver.current)) throw new Error('ILLEGAL_GENERATION')
    if (ending !== 'failed') for (const [i, part] of parts.entries()) drivers[i]!.store(part)
    if (ending !== 'ok') throw new Error('no answer')
  }

  end(ending: Ending = 'ok'): void {
    const end = this.#end
    this.#end = null
    end?.(ending)
  }
}

/** A share of a backlog that no other session uses. */
export const shareOf = (backlog: Backlog): BacklogShare =>
  new SharedBacklog({ records: 2 * backlog.records, bytes: 2 * backlog.bytes }, backlog).share()

const unlimited: Backlog = { records: 1_000_000, bytes: 1 << 30 }

export interface OwnerOptions extends Partial<Omit<SessionOptions, 'backlog'>> {
  backlog?: Backlog
}

/** Builds a process that can open sessions on one partition again and again. */
export function buildOwner(log: PartitionLog, { backlog = unlimited, ...options }: OwnerOptions = {}) {
  const clock = new ManualClock(anHour)
  const listener = new TestListener()
  const ledger = new Ledger()
  const losses: string[] = []
  /** The lost offsets of each cut or truncated log. */
  const lost: LostOffsets[] = []
  const confirmed: { records: number; windowUsed: number }[] = []
  async function open() {
    const driver = new ScriptedDriver(log)
    const commits = new ScriptedCommits(() => driver)
    const session: PartitionSession = new PartitionSession({
      topic: log.topic,
      partition: log.partition,
      driver,
      ledger,
      tag: 'this process',
      listener,
      telemetry: new Telemetry(),
      clock,
      cycle: new CommitCycle({
        clock,
        transact: parts => commits.commit(parts),
        failed: error => session.end('commit', error),
      }),
      backlog: shareOf(backlog),
      lookBack: 0,
      startAt: low => low,
      shortTo: (end, high) => Math.min(end, high),
      readsAll: false,
      lookBackMs: Number.POSITIVE_INFINITY,
      dataLost: offsets => lost.push(offsets),
      known: { foundSeq: null, confirmed: null, lastEnd: 0 },
      committed: (records, windowUsed) => confirmed.push({ records, windowUsed }),
      lost: (stage, error) => losses.push(`${stage}: ${error.message}`),
      ...options,
    })
    const started = session.start()
    driver.acquired()
    await started
    const deliver = (most?: number) => session.accept(driver.fetch(most))
    /** Lets the next commit begin and end. */
    const commit = async (ending?: Ending) => {
      await clock.pass(commitDueMs)
      commits.end(ending)
      await settled()
    }
    return { session, driver, commits, deliver, commit }
  }
  return { clock, listener, ledger, losses, lost, confirmed, open }
}

export type OpenSession = Awaited<ReturnType<ReturnType<typeof buildOwner>['open']>>

/** Intends offsets and commits the intents. */
export async function intend({ session, commit }: OpenSession, ...offsets: number[]): Promise<boolean> {
  const intended = session.intend(offsets)
  await commit()
  return intended
}

/** Builds a log with `count` commands, from offset 0. */
export function buildLog(count: number): PartitionLog {
  const log = new PartitionLog()
  log.append(count)
  return log
}

export const result = (offset: number): OutgoingRecord[] => [buildRecord('results', String(offset))]
