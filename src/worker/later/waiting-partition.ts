import { randomUUID } from 'node:crypto'
import type { BusRecord, LostRange, OutgoingRecord, RecordHeaders, Session } from '../../bus/port.ts'
import { type Clock, sleep } from '../../clock.ts'
import { withdrawalText } from '../../control/change.ts'
import type { Controls } from '../../control/controls.ts'
import { isSendType } from '../../protocol/index.ts'
import { hookedByType } from '../../records/command.ts'
import {
  copyOf,
  keyText,
  type LaterEntry,
  type LaterFacts,
  type LaterKey,
  readLater,
  releasedRecord,
  tombstone,
  waitingRecord,
} from '../../records/later.ts'
import type { Origin, ResultDetails, WriteResult } from '../../records/result.ts'
import type { Telemetry } from '../../telemetry/events.ts'
import { traceOf } from '../../telemetry/trace.ts'
import { ResultCounts } from '../result-counts.ts'
import { Copies, type Copy } from './copies.ts'
import { type Loaded, load } from './load.ts'
import { LostCommands } from './lost-commands.ts'
import type { ControlNames } from './names.ts'
import type { Row, Rows } from './rows.ts'
import { type LaterTable, whenWritten } from './table.ts'
import { TablePlace } from './table-place.ts'
import type { WaitingRows } from './waiting-rows.ts'

export interface WaitingOptions {
  table: LaterTable
  rows: Rows
  names: ControlNames
  controls: Controls
  writeResult: WriteResult
  deadLetterTopic: string
  clock: Clock
  telemetry: Telemetry
}

/** Most copies on a partition that are not finished, half of them of one account: other commands never wait behind more. */
const mostReleased = 4_000
/** An urgent command waits for the transaction with these copies: with 1,000, twice as long. */
const releasedAtOnce = 250
/** Most commands that end unsent at once. */
const endedAtOnce = 500
/** While fewer rows wait, all of them are looked through at once. */
const rowsAtOnce = 4_096
/** Longest time until the clock is looked at again: somebody may set it. */
const lookMs = 1_000
/** Pause after a read that brought nothing: the table cannot be read, or not to its end yet. */
const retryMs = 100
/** How often it is looked whether the table was made anew. */
const identityMs = 10_000
const omittedText = 'the command is too large to wait: raise max.message.bytes of the topic of later commands'
const omittedCopyText = (topic: string) =>
  `the command, which has waited, is too large for a copy of it on ${topic}: raise max.message.bytes of that topic`

const invalid = (error: string): ResultDetails => ({
  ...{ outcome: 'INVALID', attempts: 0, errorCode: 'VALIDATION', error },
})

/** What the table says of a command that waits. */
interface Found {
  entry: Exclude<LaterEntry, { state: 'over' }>
  record: BusRecord
}

/** A command that ends without being sent, and the headers of its record. */
interface Waited {
  key: LaterKey
  facts: LaterFacts
  headers: RecordHeaders
}

/**
 * The commands of one partition that wait on the table. Its session writes everything: a record of the table is always part
 * of the transaction with the progress that it belongs to.
 */
export class WaitingPartition {
  readonly #session: Session
  readonly #options: WaitingOptions
  readonly #rows: WaitingRows
  readonly copies: Copies
  readonly #place: TablePlace
  readonly #lost: LostCommands
  /** Records whose offset on the table is not known yet. */
  #unwritten = new Map<string, { key: LaterKey; facts: LaterFacts }>()
  /** Those of them of which a commit is under way. */
  readonly #checked = new Map<string, { key: LaterKey; facts: LaterFacts }>()
  #isWorking = false
  #isEnding = false
  #isEndingAgain = false
  /** Set while it is found out what waits on a table that was made anew: rows that wait there. */
  #here: Set<Row> | null = null
  readonly #replaced: Loaded['replaced']
  #cancelTimer = () => {}
  /** Called with ids that were not used. */
  onUnused: (account: string, id: bigint, offsets: readonly number[]) => void = () => {}

  private constructor(session: Session, options: WaitingOptions, loaded: Loaded) {
    this.#session = session
    this.#options = options
    this.#rows = loaded.rows
    this.#place = new TablePlace(session, loaded.rows, options.clock, options.table.topic, loaded)
    this.#lost = new LostCommands(session, options.deadLetterTopic, options.telemetry)
    this.#replaced = loaded.replaced
    this.copies = new Copies(session, loaded.rows)
  }

  /** Reads what waits, before the partition's records are delivered. @throws Error when the table cannot be read */
  static async open(session: Session, options: WaitingOptions): Promise<WaitingPartition> {
    return new WaitingPartition(session, options, await load(session, options))
  }

  /** Begins to release what is due. */
  begin(): void {
    this.#place.remember()
    if (this.#replaced) this.#session.add([this.#lost.elsewhere(this.#options.table.topic, this.#replaced)])
    this.controlsChanged(false)
  }

  /** The offset after the last record that is known to have been moved to the table. */
  get movedUntil(): number {
    return this.#rows.movedUntil
  }

  /**
   * Whether a command with this id waits.
   * @param before only of records before this offset; default: of any
   */
  hasId(account: string, id: bigint, before?: number): boolean {
    return this.#rows.hasId(account, id, before)
  }

  /** Whether the record at this offset was moved to the table: it waits there, or this session has finished it. */
  holds(offset: number, id: bigint): boolean {
    return (this.#rows.size > 0 && this.#rows.find({ offset, id }) >= 0) || this.#rows.hasEnded({ offset, id })
  }

  /** Looks whether delivered records are copies; the end of a copy on the table will be part of its outcome. */
  deliver(records: readonly BusRecord[], isPast: boolean): void {
    if (this.#rows.released === 0) return
    for (const record of records) {
      const copy = this.copies.take(record, isPast)
      if (copy) this.#attach(record.offset, [this.#tombstone(copy.key)])
    }
  }

  #attach(offset: number, records: readonly OutgoingRecord[]): void {
    const copy = this.copies.at(offset)!
    this.#session.attach(offset, records, () => {
      if (this.copies.at(offset) !== copy) return // the log lost it
      this.copies.remove(offset, copy)
      this.#rows.finish(copy.row)
      this.#place.remember()
      this.#workSoon()
    })
  }

  /** Settles a record, which may be a copy, and lets its command wait on the table. */
  wait(offset: number, origin: Origin, key: LaterKey, facts: LaterFacts): void {
    if (this.copies.at(offset)) this.#attach(offset, [])
    const text = keyText(key)
    if (this.#unwritten.size === 0) queueMicrotask(() => this.#contained(() => this.#check()))
    this.#unwritten.set(text, { key, facts })
    this.#place.unwritten++
    const written = (at: number) => this.#written(text, at)
    this.#session.settle(offset, [whenWritten(waitingRecord(this.#place.own, key, facts, origin), written)])
    this.#place.remember()
  }

  #written(text: string, at: number): void {
    const one = this.#unwritten.get(text) ?? this.#checked.get(text)
    if (!one || !this.#session.alive) return
    if (!this.#unwritten.delete(text)) this.#checked.delete(text)
    this.#place.unwritten--
    const row = this.#rows.add(one.key, one.facts, at)
    this.#here?.add(row)
    this.#place.written(at)
    const { names } = this.#options
    if (names.isWithdrawn(row)) this.#endWithdrawnSoon()
    this.#workSoon()
  }

  /** Finds records on the table of which the brokers did not say where they are. */
  async #check(): Promise<void> {
    const batch = this.#unwritten
    this.#unwritten = new Map()
    for (const [text, one] of batch) this.#checked.set(text, one)
    await this.#session.committed()
    const missing = new Set([...batch.keys()].filter(text => this.#checked.has(text)))
    if (missing.size === 0 || !this.#session.alive) return
    const last = new Map<string, number>()
    const take = (entry: LaterEntry | null, { offset }: { offset: number }) => {
      const text = entry && keyText(entry.key)
      if (text !== null && missing.has(text)) last.set(text, offset)
    }
    for (;;) {
      const { own, low } = this.#place
      const read = await this.#options.table.read(this.#session, own.partition, low, take).then(
        () => true,
        () => false,
      )
      if (read) for (const [text, offset] of last) this.#written(text, offset)
      if (read || !this.#session.alive) return
      await sleep(this.#options.clock, retryMs)
    }
  }

  /** The log lost these offsets. @returns records about the copies among them */
  lost(ranges: readonly LostRange[]): OutgoingRecord[] {
    if (this.copies.isEmpty) return []
    return ranges.flatMap(({ first, last, kind }) =>
      this.copies.within(first, last).flatMap(([offset, copy]) => {
        this.copies.remove(offset, copy)
        this.#rows.finish(copy.row)
        return [this.#lost.gone(copy.key, kind !== 'unsent', copy.facts.timestamp), this.#tombstone(copy.key)]
      }),
    )
  }

  /**
   * Pauses or withdrawals have changed.
   * @param isPauseChanged whether other campaigns or tenants are paused: all that a pause holds is looked at again
   */
  controlsChanged(isPauseChanged: boolean): void {
    if (isPauseChanged) this.#rows.review()
    if (this.#options.names.hasWithdrawals) this.#endWithdrawnSoon()
    this.#workSoon()
  }

  /** `open` has changed. */
  resumed(): void {
    this.#workSoon()
  }

  close(): void {
    this.#cancelTimer()
    this.#rows.clear()
  }

  /** The boundary around work of its own: an error of ours ends this session alone. */
  #contained(work: () => Promise<void>): void {
    void work().catch(error => {
      this.#session.run(() => {
        throw error
      })
    })
  }

  #workSoon(): void {
    if (this.#isWorking) return
    this.#cancelTimer()
    this.#cancelTimer = this.#options.clock.after(0, () => this.#contained(() => this.#work()))
  }

  async #work(): Promise<void> {
    const session = this.#session
    if (this.#isWorking || !session.open) return
    this.#isWorking = true
    const { clock, names } = this.#options
    await this.#endReplaced(identityMs)
    if (!session.open) {
      this.#isWorking = false
      return
    }
    this.#endMissing()
    this.#place.raise()
    const areMore = this.#rows.sort(clock.now(), names.isPaused)
    const room = Math.min(releasedAtOnce, mostReleased - this.#rows.released)
    // only when all that is due is in the table's order, most of what is read is wanted
    const taken = room > 0 && !areMore ? this.#rows.takeDue(room, clock.now(), names.isPaused, mostReleased) : []
    const isDone = taken.length === 0 || (await this.#release(taken))
    this.#isWorking = false
    if (!session.alive) return
    this.#cancelTimer()
    if (!isDone) this.#workIn(retryMs)
    else if (areMore || this.copies.areMissing || this.#rows.mayTake(mostReleased)) this.#workIn(0)
    else if (this.#rows.size > 0) this.#workIn(Math.min(lookMs, Math.max(0, this.#rows.nextAt - clock.now())))
  }

  #workIn(ms: number): void {
    this.#cancelTimer = this.#options.clock.after(ms, () => this.#contained(() => this.#work()))
  }

  /**
   * Commits copies of commands that are due, with the marks that they are released.
   * @returns whether there was any progress
   */
  async #release(taken: readonly Row[]): Promise<boolean> {
    const { found, readable } = await this.#read(taken)
    const session = this.#session
    const entries = taken.map(row => this.#entryOf(row, found.get(this.#rows.offsetOf(row))))
    const isGone = taken.some((row, i) => entries[i] === null && this.#rows.offsetOf(row) < readable(row))
    if (entries.includes(null) && (await this.#endReplaced(isGone ? 0 : lookMs))) {
      for (const row of taken) this.#rows.putBack(row)
      return false
    }
    if (!session.alive) return false
    const counts = new ResultCounts()
    const records: OutgoingRecord[] = []
    let isDone = false
    for (const [i, row] of taken.entries()) {
      const at = this.#rows.offsetOf(row)
      if (session.open && this.#rows.isWaiting(row) && (found.has(at) || at < readable(row))) {
        records.push(...this.#ended(row, entries[i]!, counts))
        isDone = true
      }
      if (!this.#rows.isReleased(row)) this.#rows.putBack(row)
    }
    if (records.length === 0) return isDone
    session.add(records)
    await session.committed(true)
    if (session.alive) counts.announce(this.#options.telemetry)
    return isDone
  }

  /** What becomes of a command that is due. */
  #ended(row: Row, found: Found | null, counts: ResultCounts): OutgoingRecord[] {
    const key = this.#rows.keyOf(row)
    if (!found) {
      return [this.#lost.gone(key, true), this.#finish(row, key)]
    }
    const { entry, record } = found
    const facts = { ...entry.facts, copy: randomUUID() }
    const withdrawn = this.#withdrawal(key, facts)
    if (withdrawn) return this.#result(row, { key, facts, headers: record.headers }, withdrawn, counts)
    if (entry.state === 'omitted') {
      return this.#result(row, { key, facts, headers: record.headers }, invalid(omittedText), counts)
    }
    this.#rows.release(row, facts.copy)
    const mark = releasedRecord(this.#place.of(key), key, facts)
    return [whenWritten(mark, at => this.#rows.moved(key, at)), copyOf(key, facts, record)]
  }

  /** What the table says of a row that waits; null if the record at its offset is another one. */
  #entryOf(row: Row, record: BusRecord | undefined): Found | null {
    const entry = record && readLater(record)
    if (!entry || keyText(entry.key) !== keyText(this.#rows.keyOf(row))) return null
    return entry.state === 'waits' || entry.state === 'omitted' ? { entry, record } : null
  }

  #withdrawal({ id }: LaterKey, facts: LaterFacts): ResultDetails | null {
    const withdrawal = this.#options.controls.withdrawing({ ...facts, idText: String(id) }, facts.since)
    const error = withdrawal && withdrawalText(withdrawal)
    return error === null ? null : { outcome: 'EXPIRED', attempts: 0, errorCode: 'WITHDRAWN', error }
  }

  /** Settles a copy that lacks its command. */
  settleOmitted(at: number, { key, facts }: Copy, counts: ResultCounts): void {
    const details = invalid(omittedCopyText(key.topic))
    const own = { key, facts: { ...facts, copyAt: at }, headers: {} }
    this.#session.settle(at, [this.#resultOf(own, details, counts)])
  }

  /** The final result of a command without a copy. */
  #result(row: Row, own: Waited, details: ResultDetails, counts: ResultCounts): OutgoingRecord[] {
    return [this.#resultOf(own, details, counts), this.#finish(row, own.key)]
  }

  #resultOf({ key, facts, headers }: Waited, details: ResultDetails, counts: ResultCounts): OutgoingRecord {
    const { topic, partition, offset, id } = key
    const { account, type, correlationId, tenant, campaign, country, timestamp, copyAt } = facts
    const hooked = isSendType(type) ? hookedByType(type) : null
    const trace = traceOf(headers)
    const subject = { id, idText: String(id), type, account, hooked, correlationId, tenant, campaign, country, trace }
    const record = { offset, timestamp, key: null, value: null, headers: {} }
    const origin = { topic, partition, record, ...(copyAt !== null && { copyAt }) }
    counts.add(subject, details)
    this.onUnused(account, id, [offset, copyAt ?? offset])
    return this.#options.writeResult(subject, origin, details)
  }

  #finish(row: Row, key: LaterKey): OutgoingRecord {
    this.#rows.finish(row)
    this.#place.remember()
    return this.#tombstone(key)
  }

  /** Reads the records of rows. */
  async #read(rows: readonly Row[]) {
    const { table } = this.#options
    const found = new Map<number, BusRecord>()
    const ends = new Map<number, number>()
    for (const [partition, own] of Map.groupBy(rows, row => this.#place.of(this.#rows.keyOf(row)).partition)) {
      const offsets = own.map(row => this.#rows.offsetOf(row))
      const read = await table.recordsAt(partition, offsets).catch(() => ({ records: [], readable: 0 }))
      ends.set(partition, read.readable)
      for (const record of read.records) found.set(record.offset, record)
    }
    return { found, readable: (row: Row) => ends.get(this.#place.of(this.#rows.keyOf(row)).partition) ?? 0 }
  }

  /**
   * If the table was made anew, ends what does not wait on it any more.
   * @param maxAgeMs how old the look at the table may be
   * @returns whether it was, or nobody can tell now
   */
  async #endReplaced(maxAgeMs: number): Promise<boolean> {
    const { table } = this.#options
    const session = this.#session
    const identity = await table.identity(maxAgeMs).catch(() => null)
    if (identity === this.#place.identity) return false
    if (identity === null || !session.open) return true
    const here = new Set<Row>()
    this.#here = here
    const partition = table.partitionFor(session)
    const strays = new Map<string, number>()
    const take = (entry: LaterEntry | null, place: { partition: number }) => {
      const row = entry ? this.#rows.find(entry.key) : -1
      if (!entry || row < 0) return
      here.add(row)
      if (place.partition !== partition) strays.set(keyText(entry.key), place.partition)
    }
    const isRead = await table.read(session, null, 0, take).then(
      () => true,
      () => false,
    )
    if (isRead) {
      for (const rows of this.#rows.matching(row => !here.has(row))) {
        for (let from = 0; from < rows.length && session.open; from += endedAtOnce) {
          const gone = rows.slice(from, from + endedAtOnce).filter(row => this.#rows.isWaiting(row))
          session.add(gone.flatMap(row => this.#endGone(row)))
          await session.committed()
        }
        if (!session.alive) return true
      }
    }
    this.#here = null
    if (!isRead || !session.open) return true
    this.#place.move({ identity, partition, strays, low: 0 })
    return true
  }

  #endGone(row: Row): OutgoingRecord[] {
    const key = this.#rows.keyOf(row)
    const account = this.#rows.accountOf(row)
    if (account !== undefined) this.onUnused(account, key.id, [key.offset])
    return [this.#lost.replaced(key), this.#finish(row, key)]
  }

  /** Ends rows whose copy is not on the log. */
  #endMissing(): void {
    const missing = this.copies.takeMissing(endedAtOnce)
    if (missing.length === 0) return
    this.#session.add(
      missing.flatMap(({ row, isPast }) => {
        const key = this.#rows.keyOf(row)
        const letter = isPast ? [] : [this.#lost.gone(key, true)]
        return [...letter, this.#finish(row, key)]
      }),
    )
  }

  #endWithdrawnSoon(): void {
    if (this.#isEnding) this.#isEndingAgain = true
    else this.#contained(() => this.#endWithdrawn())
  }

  /** Ends what is withdrawn at once, since withdrawals are forgotten before it may be due. */
  async #endWithdrawn(): Promise<void> {
    this.#isEnding = true
    const { clock } = this.#options
    do {
      await sleep(clock, 0) // one look for all changes of a tick
      this.#isEndingAgain = false
      await this.#endMatching()
    } while (this.#isEndingAgain && this.#session.alive)
    this.#isEnding = false
  }

  async #endMatching(): Promise<void> {
    const { names, clock, table } = this.#options
    const session = this.#session
    const wanted = new Map<number, number[]>()
    for (const rows of this.#rows.matching(names.isWithdrawn)) {
      for (const row of rows) {
        const partition = this.#place.of(this.#rows.keyOf(row)).partition
        const offsets = wanted.get(partition) ?? []
        wanted.set(partition, offsets)
        offsets.push(this.#rows.offsetOf(row))
      }
      if (this.#rows.size > rowsAtOnce) await sleep(clock, 0)
      if (!session.alive) return
    }
    for (const [partition, offsets] of wanted) {
      const sorted = Float64Array.from(offsets).sort()
      for (let from = 0; from < sorted.length && session.alive; ) {
        const some = [...sorted.subarray(from, from + endedAtOnce)]
        const read = await table.recordsAt(partition, some).catch(() => ({ records: [], readable: 0 }))
        const counts = new ResultCounts()
        if (session.open) session.add(read.records.flatMap(record => this.#endIfWithdrawn(record, counts)))
        const isRead = session.open && read.readable > some[0]!
        if (isRead) from += some.filter(offset => offset < read.readable).length
        else await sleep(clock, retryMs)
        await session.committed()
        if (session.alive) counts.announce(this.#options.telemetry)
      }
    }
  }

  #endIfWithdrawn(record: BusRecord, counts: ResultCounts): OutgoingRecord[] {
    const entry = readLater(record)
    const row = entry ? this.#rows.find(entry.key) : -1
    if (!entry?.facts || row < 0 || !this.#rows.isWaiting(row) || this.#rows.offsetOf(row) !== record.offset) return []
    const withdrawn = this.#withdrawal(entry.key, entry.facts)
    if (!withdrawn) return []
    return this.#result(row, { key: entry.key, facts: entry.facts, headers: record.headers }, withdrawn, counts)
  }

  #tombstone(key: LaterKey): OutgoingRecord {
    return tombstone(this.#place.of(key), key)
  }
}
