import type { Backlog, BusRecord, OutgoingRecord } from '../../src/bus/port.ts'
import { type BacklogShare, SharedBacklog } from '../../src/bus/session/backlog.ts'
import { CommitCycle } from '../../src/bus/session/commit-cycle.ts'
import type { Acquired, Batch, Part, PartitionDriver } from '../../src/bus/session/driver.ts'
import { Ledger } from '../../src/bus/session/ledger.ts'
import type { LostOffsets } from '../../src/bus/session/lost-offsets.ts'
import { PartitionSession, type SessionOptions } from '../../src/bus/session/session.ts'
import { buildRecord, TestListener } from './bus.ts'
import { ManualClock, settled } from './clock.ts'

/** Whatever there is to commit is due by then. */
export const commitDueMs = 80

/** The broker's side of one partition: its log, its checkpoint, and which epoch of its ownership may commit. */
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

  /** @param gap offsets without a record before each */
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

  /** Retention, or an operator, takes what is before this offset. */
  cut(low: number): void {
    this.low = low
    this.records.splice(0, this.records.filter(({ offset }) => offset < low).length)
  }

  /** An unclean election: what is from this offset on is gone. */
  truncate(end: number): void {
    this.end = end
    this.records.splice(this.records.findIndex(({ offset }) => offset >= end))
  }

  get ends(): { low: number; high: number } {
    return { low: this.low, high: this.end }
  }

  /** The log ends with the marker of a transaction. */
  appendGap(length = 1): void {
    this.end += length
  }
}

/** How a commit ends: committed or not, and what its owner hears. */
export type Ending = 'ok' | 'lost answer' | 'failed'

/** One epoch of a partition's ownership whose every step takes as long as the test likes. */
export class ScriptedDriver implements PartitionDriver {
  readonly log: PartitionLog
  /** -1 until it was acquired. */
  epoch = -1
  position = 0
  paused = true
  readonly seeks: number[] = []
  #acquiring: ((error: Error | null) => void) | null = null

  constructor(log: PartitionLog) {
    this.log = log
  }

  /** Whether nobody has taken the partition over since. */
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

  /** The log has what was committed. */
  land({ records, offset, metadata }: Pick<Part, 'records' | 'offset' | 'metadata'>): void {
    this.log.published.push(...records)
    this.log.committed = { offset, metadata }
  }

  /** The next fetch, with `most` records at most. */
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

/** One commit at a time for all partitions, which takes as long as the test likes. */
export class ScriptedCommits {
  /** The driver of each partition's session, or of the one that is being opened. */
  readonly #driverOf: (partition: number) => ScriptedDriver
  /** The partitions of each commit that began. */
  readonly began: number[][] = []
  #end: ((ending: Ending) => void) | null = null

  constructor(driverOf: (partition: number) => ScriptedDriver) {
    this.#driverOf = driverOf
  }

  get isRunning(): boolean {
    return this.#end !== null
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

/** A session's own part of memory, which nobody shares. */
export const shareOf = (backlog: Backlog): BacklogShare =>
  new SharedBacklog({ records: 2 * backlog.records, bytes: 2 * backlog.bytes }, backlog).share()

const wide: Backlog = { records: 1_000_000, bytes: 1 << 30 }

export interface OwnerOptions extends Partial<Omit<SessionOptions, 'backlog'>> {
  backlog?: Backlog
}

/** A process that owns the partition, again and again. */
export function buildOwner(log: PartitionLog, { backlog = wide, ...options }: OwnerOptions = {}) {
  const clock = new ManualClock()
  const listener = new TestListener()
  const ledger = new Ledger()
  const losses: string[] = []
  /** Offsets that were gone from the log, each time. */
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
      lookBackMs: Number.POSITIVE_INFINITY,
      dataLost: offsets => lost.push(offsets),
      known: { foundSeq: null, confirmed: null },
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

/** Intends and lets the intent be committed. */
export async function intend({ session, commit }: OpenSession, ...offsets: number[]): Promise<boolean> {
  const intended = session.intend(offsets)
  await commit()
  return intended
}

/** A log with so many commands, from offset 0 on. */
export function buildLog(count: number): PartitionLog {
  const log = new PartitionLog()
  log.append(count)
  return log
}

export const result = (offset: number): OutgoingRecord[] => [buildRecord('results', String(offset))]
