import { type Bus, type BusRecord, BusUnavailable, type Reader, type TopicLook } from '../bus/port.ts'
import { type Clock, limited, sleep } from '../clock.ts'
import type { Settings } from '../config/index.ts'
import type { Telemetry } from '../telemetry/events.ts'
import { Told } from '../told.ts'
import { type Change, changesIn, isOver, requireReadable } from './change.ts'
import { Controls } from './controls.ts'
import { LastChanges, type TakeChange } from './last-changes.ts'

export interface FollowControlsOptions {
  bus: Pick<Bus, 'lookAt' | 'read'>
  settings: Settings
  clock: Clock
  telemetry: Telemetry
}

/** How often the topic is checked for recreation or added partitions, and the reading for its progress. */
const lookMs = 4_000
/** Time-out of each of these checks. */
const checkMs = 4_000
/** Interval of reading anew what did not fit. */
const rereadMs = 30_000
/** Time-out for reading the topic to its end, from the last progress on. */
const stallMs = 10_000
/** Most changes that are logged one by one between two looks. */
const mostTold = 1_000

/**
 * Follows pauses and withdrawals on the control topic. Resolves when the whole topic is read; nothing may be sent before.
 * While the topic does not exist or may not be read, nothing is paused or withdrawn by operators. If the topic is recreated
 * or gets more partitions, its content replaces everything known.
 * @throws BusUnavailable that says what is missing
 */
export async function followControls(options: FollowControlsOptions): Promise<FollowedControls> {
  const followed = new FollowedControls(options)
  await followed.begin()
  return followed
}

/**
 * Keeps `controls` up to date with the control topic, and checks every few seconds that it reads the current topic, and to
 * its end. Reads uncommitted records: each change stands alone, and nobody's open transaction may hide one (decision 015).
 */
export class FollowedControls {
  readonly controls: Controls
  readonly #options: FollowControlsOptions
  readonly #topic: string
  /** The reader, and the state of the topic when it began. */
  #current: { reader: Reader; look: TopicLook } | null = null
  /** When the topic was last read to its end, and when it was last read from its beginning; monotonic milliseconds. */
  #seenAt: number
  #readAt!: number
  #catchingUp: Promise<void> | null = null
  /** Why the topic cannot be read now. */
  readonly #trouble = new Told()
  /** Number of changes since the last look. */
  #changes = 0
  #isClosed = false
  #cancelLook = () => {}

  constructor(options: FollowControlsOptions) {
    const { settings, clock } = options
    this.#options = options
    this.#topic = settings.topics.control
    this.#seenAt = clock.monotonic()
    this.controls = new Controls(settings, clock)
    this.controls.onChange(change => this.#tell(change))
  }

  /** Why changes of the control topic are not seen now; null if they are. */
  get trouble(): string | null {
    const isLate = this.#options.clock.monotonic() - this.#seenAt > lookMs + checkMs + 1_000
    const reason = this.#trouble.latest ?? (isLate ? 'it is read from its beginning' : null)
    return reason === null ? null : `new pauses and withdrawals on ${this.#topic} are not seen: ${reason}`
  }

  /** How long changes have not been seen, in milliseconds; 0 while they are. */
  get behindMs(): number {
    return this.trouble === null ? 0 : this.#options.clock.monotonic() - this.#seenAt
  }

  /** @throws BusUnavailable that says what is missing; then it is closed */
  async begin(): Promise<void> {
    this.controls.update()
    try {
      await this.#look()
    } catch (error) {
      if (error instanceof BusUnavailable) {
        await this.close()
        throw error
      }
      this.#readFailed(error as Error)
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true
    this.#cancelLook()
    this.controls.close()
    await this.#current?.reader.close()
  }

  #lookLater(ms: number): void {
    if (this.#isClosed) return
    this.#cancelLook = this.#options.clock.after(ms, () => void this.#look().catch(error => this.#readFailed(error)))
  }

  /** @throws Error that says why the control topic cannot be read */
  async #look(): Promise<void> {
    const topic = this.#topic
    const { bus, clock } = this.#options
    this.#tellUntold()
    const silent = () => new BusUnavailable(`no broker described ${topic} within ${checkMs / 1000} s`)
    const look = await limited(clock, checkMs, bus.lookAt(topic), silent)
    requireReadable(topic, look)
    if (this.#isRead(look)) await this.#requireEnd()
    else await this.#read(look)
    this.#seenAt = clock.monotonic()
    if (this.#trouble.clear()) this.#options.telemetry.emit('control.available', { topic })
    this.#lookLater(lookMs)
  }

  #readFailed(error: Error): void {
    if (this.#isClosed) return
    if (this.#trouble.isNew(error.message))
      this.#options.telemetry.emit('control.unavailable', { topic: this.#topic, error })
    this.#lookLater(lookMs)
  }

  /** What did not fit is read anew, since some of the rest may have ended. */
  #isRead({ id, partitions }: TopicLook): boolean {
    const { clock } = this.#options
    if (this.controls.overfull !== null && clock.monotonic() - this.#readAt > rereadMs) return false
    const known = this.#current?.look
    return known?.id === id && known.partitions === partitions
  }

  /** Reads the topic from its beginning; its content replaces everything known. */
  async #read(look: TopicLook): Promise<void> {
    const { clock, settings } = this.#options
    await this.#current?.reader.close()
    this.#current = null
    const last = new LastChanges(look.partitions, change => isOver(change, settings.commands, clock.now()))
    let take: TakeChange = (change, partition) => void last.add(change, partition)
    const begun = await this.#caughtUp((...args) => take(...args))
    try {
      await last.complete(async add => (await this.#caughtUp(add)).close())
    } catch (error) {
      await begun.close()
      throw error
    }
    if (this.#isClosed) return begun.close()
    take = change => this.controls.apply(change)
    this.#current = { reader: begun, look }
    this.#readAt = clock.monotonic()
    this.controls.replaceWith(last, `${this.#topic}, which no longer contains it`)
  }

  /** @throws BusUnavailable when the reading stands still before the end of the topic */
  async #caughtUp(take: TakeChange): Promise<Reader> {
    const { bus } = this.#options
    const topic = this.#topic
    const handle = ({ partition }: { partition: number }, records: readonly BusRecord[]) => {
      for (const change of this.#changesOf(records, partition)) take(change, partition)
    }
    const opening = bus.read([topic], 'earliest', handle, 'uncommitted')
    let opened: Reader | null = null
    const reading = opening.then(begun => {
      opened = begun
      return begun.caughtUp()
    })
    try {
      await this.#whileAdvancing(reading, () => opened?.position ?? 0)
      return await opening
    } catch (error) {
      opening.then(
        begun => begun.close(),
        () => {},
      )
      throw error
    }
  }

  /** @throws BusUnavailable when the position stays the same for long */
  async #whileAdvancing(work: Promise<void>, position: () => number): Promise<void> {
    const { clock } = this.#options
    const ended = new AbortController()
    const done = work.finally(() => ended.abort())
    done.catch(() => {}) // nobody waits for it after a stall
    for (let before: number | null = null; !ended.signal.aborted; ) {
      const now = position()
      if (now === before)
        throw new BusUnavailable(
          `pauses and withdrawals on ${this.#topic}: nothing could be read for ${stallMs / 1000} s`,
        )
      before = now
      await sleep(clock, stallMs, ended.signal)
    }
    await done
  }

  /** @throws BusUnavailable when the reading does not reach the present end of the topic in time */
  async #requireEnd(): Promise<void> {
    const { clock } = this.#options
    this.#catchingUp ??= this.#current!.reader.caughtUp().finally(() => {
      this.#catchingUp = null
    })
    const late = () => new BusUnavailable(`reading ${this.#topic} is behind its end for ${checkMs / 1000} s`)
    await limited(clock, checkMs, this.#catchingUp, late)
  }

  #changesOf(records: readonly BusRecord[], partition: number): Change[] {
    const { changes, invalid } = changesIn(records)
    if (invalid) this.#options.telemetry.emit('control.unreadable', { topic: this.#topic, partition, ...invalid })
    return changes
  }

  #tell(change: Change | null): void {
    const { telemetry } = this.#options
    const { overfull } = this.controls
    const topic = this.#topic
    if (change === null && overfull !== null) telemetry.emit('control.overfull', { topic, reason: overfull })
    else if (change === null) telemetry.emit('control.available', { topic })
    else if (++this.#changes <= mostTold) emitChange(telemetry, change)
  }

  #tellUntold(): void {
    const count = this.#changes - mostTold
    this.#changes = 0
    if (count > 0) this.#options.telemetry.emit('control.crowded', { topic: this.#topic, count })
  }
}

function emitChange(telemetry: Telemetry, change: Change): void {
  const { effect, begins, name, by, at, until, reason } = change
  const began = { name, by, at, until, reason }
  const ended = { name, by, at }
  if (effect === 'paused') {
    if (begins) telemetry.emit('pause.begun', { kind: change.kind, ...began })
    else telemetry.emit('pause.ended', { kind: change.kind, ...ended })
  } else if (begins) telemetry.emit('withdrawal.begun', { kind: change.kind, ...began })
  else telemetry.emit('withdrawal.ended', { kind: change.kind, ...ended })
}
