import type { Batch, LogEnds, PartitionDriver } from '../driver.ts'
import type { BusRecord, Session, SessionListener } from '../port.ts'
import { contentBytesOf } from '../record-size.ts'
import type { BacklogShare } from './backlog.ts'
import type { Gone } from './lost-offsets.ts'
import { Refetch } from './refetch.ts'
import { DONE, IN_DOUBT, NEW, type Window } from './window.ts'

export interface WindowIntakeOptions {
  session: Session
  /** Calls the listener; an error of the listener ends the session. */
  deliver: (call: (listener: SessionListener) => void) => void
  driver: PartitionDriver
  window: Window
  /** The session's share of memory for unfinished records. */
  backlog: BacklogShare
  position: number
  highWatermark: number
  /** Earliest time at which a POST of the records in doubt can have begun, ms since 1970; 0 if unknown. */
  doubtsSince: number
  /** Reports offsets that the log lost. @returns whether the session continues */
  lose: (gone: Gone) => boolean
  takenIn: () => void
}

type Arrived = Partial<Record<'history' | 'inFlight' | 'fresh' | 'doubts', BusRecord[]>>

/** Most bytes handed to the listener before memory is checked again, since only then the decoded size is known. */
const bytesAtOnce = 32 * 1024

/**
 * Takes a partition's records from the adapter and hands them to the listener, as far as window and memory have room. Shelved
 * records are read again when the listener recalls them.
 */
export class WindowIntake {
  /** Offset of the next record to take from the adapter. */
  position: number
  highWatermark: number
  readonly #options: WindowIntakeOptions
  readonly #refetch = new Refetch()
  #paused = true
  #isTakingIn = false
  /** Fetched records for which window or memory has no room yet. */
  #waiting: BusRecord[] = []
  /** Records that an earlier session of this process POSTed; kept in case the POST turns out not to have been sent. */
  readonly #carried = new Map<number, BusRecord>()

  constructor(options: WindowIntakeOptions) {
    this.#options = options
    this.position = options.position
    this.highWatermark = options.highWatermark
  }

  get full(): boolean {
    return this.#options.backlog.isOver || (this.#paused && this.#waiting.length === 0)
  }

  get recalling(): boolean {
    return this.#refetch.active
  }

  begin(): void {
    const { driver } = this.#options
    driver.seek(this.position)
    this.#paused = false
    driver.resume()
  }

  /** Takes a batch; if the batch does not begin at the position, seeks there instead. */
  accept(batch: Batch): void {
    const { driver, session, deliver, backlog, lose } = this.#options
    if (batch.fetchedOffset !== this.position) {
      driver.seek(this.position)
      return
    }
    const to = batch.nextOffset
    const { recalled, onward } = this.#refetch.sort(batch)
    const gone = this.#refetch.passed(to)
    this.highWatermark = batch.highWatermark
    this.#continueAt(this.#refetch.next(to), to)
    for (const record of onward) this.#waiting.push(record)
    for (const record of recalled) backlog.hold(record)
    if (gone.size > 0 && !lose({ to, isKept: offset => !gone.has(offset), readTo: to })) return
    if (recalled.length > 0 || gone.size > 0) deliver(listener => listener.recalled?.(session, recalled))
    this.takeIn()
  }

  /** The log's new ends after a truncation: lost offsets are done at once, whether shelved or never read. */
  logEnds({ low, high }: LogEnds): void {
    const { window, session, deliver, lose } = this.#options
    this.highWatermark = Math.max(this.highWatermark, high)
    if (low <= Math.min(window.base, this.position)) return
    const readTo = this.#refetch.reached(this.position)
    const { horizon } = window
    this.#refetch.passed(low)
    this.#continueAt(this.#refetch.next(Math.max(this.position, low)), this.position)
    const isKept = (offset: number) => (offset < horizon ? this.#options.backlog.has(offset) : offset < readTo)
    if (!lose({ to: low, isKept, readTo })) return
    deliver(listener => listener.cut?.(session, low))
  }

  /** Takes in as many waiting records as there is room for. */
  takeIn(): void {
    if (this.#isTakingIn) return // the listener shelves records inside of its handler
    const { session, backlog, window, takenIn } = this.#options
    this.#isTakingIn = true
    while (session.alive && !backlog.isOver && this.#takeSome()) {}
    this.#isTakingIn = false
    if (!session.alive) return
    if (this.#waiting.length === 0) window.skipTo(this.position)
    takenIn()
    this.#balance()
  }

  /** @returns whether any record was taken */
  #takeSome(): boolean {
    const { window, session, deliver, doubtsSince } = this.#options
    const arrived: Arrived = {}
    let taken = 0
    let bytes = 0
    for (const record of this.#waiting) {
      window.skipTo(record.offset)
      if (!window.fits(record.offset) || bytes > bytesAtOnce) break
      taken++
      bytes += contentBytesOf(record)
      const kind = this.#admit(record)
      arrived[kind] ??= []
      arrived[kind].push(record)
    }
    if (taken === 0) return false
    this.#waiting = this.#waiting.slice(taken)
    deliver(listener => {
      const { history, inFlight, doubts, fresh } = arrived
      if (history) listener.history?.(session, history)
      if (inFlight) listener.inFlight?.(session, inFlight)
      if (doubts) listener.inDoubt(session, doubts, doubtsSince)
      if (fresh) listener.records(session, fresh)
    })
    return true
  }

  #admit(record: BusRecord): keyof Arrived {
    const { window, backlog } = this.#options
    const state = window.get(record.offset)
    if (record.offset === window.horizon) window.horizon++
    if (state === DONE) return 'history'
    backlog.hold(record)
    if (state === NEW) return 'fresh'
    if (state === IN_DOUBT) return 'doubts'
    this.#carried.set(record.offset, record)
    return 'inFlight'
  }

  /** Back-pressure: pauses fetching while memory or window is full. */
  #balance(): void {
    const { driver, backlog } = this.#options
    const { recalling } = this
    const stops = backlog.isOver || (this.#waiting.length > 0 && !recalling)
    const isPaused = stops || (this.#paused && !recalling && !backlog.isHalfEmpty)
    if (isPaused === this.#paused) return
    this.#paused = isPaused
    if (isPaused) driver.pause()
    else driver.resume()
  }

  /** @param adapterAt offset at which the adapter would continue by itself */
  #continueAt(offset: number, adapterAt: number): void {
    this.position = offset
    if (offset !== adapterAt) this.#options.driver.seek(offset)
  }

  letGo(offset: number): void {
    this.#carried.delete(offset)
    this.#options.backlog.letGo(offset)
  }

  /** The POST by an earlier session was not sent: the record is new again. */
  giveBack(offset: number): void {
    const { session, deliver } = this.#options
    const record = this.#carried.get(offset)
    this.#carried.delete(offset)
    if (record) deliver(listener => listener.records(session, [record]))
  }

  shelve(offsets: readonly number[]): void {
    for (const offset of offsets) this.#options.backlog.letGo(offset)
    this.takeIn()
  }

  recall(offsets: readonly number[]): void {
    const shelved = offsets.filter(offset => this.#isShelved(offset))
    this.#continueAt(this.#refetch.want(shelved, this.position), this.position)
    this.#balance()
  }

  #isShelved(offset: number): boolean {
    const { window } = this.#options
    const isTakenIn = offset >= window.base && offset < window.horizon
    return isTakenIn && window.get(offset) === NEW && !this.#options.backlog.has(offset)
  }
}
