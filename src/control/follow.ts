import { type Bus, type BusRecord, BusUnavailable, type Reader, type TopicLook } from '../bus/port.ts'
import { type Clock, limited } from '../clock.ts'
import type { Settings } from '../config/index.ts'
import type { Telemetry } from '../telemetry/events.ts'
import { type Change, LastChanges, readChange, requireReadable } from './change.ts'
import { Controls } from './controls.ts'

export interface FollowControlsOptions {
  bus: Pick<Bus, 'lookAt' | 'read'>
  settings: Settings
  clock: Clock
  telemetry: Telemetry
}

/** How often the topic is checked for recreation or added partitions. */
const lookMs = 5_000
/** Retry interval while the topic cannot be read. */
const retryMs = 30_000
/** Time-out for reading the topic to its end. */
const readMs = 10_000

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

/** Keeps `controls` up to date with the control topic, and checks every few seconds that it still reads the current topic. */
export class FollowedControls {
  readonly controls: Controls
  readonly #options: FollowControlsOptions
  readonly #topic: string
  #reader: Reader | null = null
  /** State of the topic when the reader began. */
  #known: TopicLook | null = null
  /** Why changes of the control topic are not seen now; null if they are. */
  trouble: string | null = null
  #isClosed = false
  #cancelLook = () => {}

  constructor(options: FollowControlsOptions) {
    this.#options = options
    this.#topic = options.settings.topics.control
    this.controls = new Controls(options.settings, options.clock)
    this.controls.onChange(change => emitChange(options.telemetry, change))
  }

  /** @throws BusUnavailable that says what is missing; then it is closed */
  async begin(): Promise<void> {
    this.controls.update()
    try {
      await this.#look()
    } catch (error) {
      if (error instanceof BusUnavailable) {
        this.controls.close()
        throw error
      }
      this.#readFailed(error as Error)
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true
    this.#cancelLook()
    this.controls.close()
    await this.#reader?.close()
  }

  #lookLater(ms: number): void {
    if (this.#isClosed) return
    this.#cancelLook = this.#options.clock.after(ms, () => void this.#look().catch(error => this.#readFailed(error)))
  }

  /** @throws Error that says why the control topic cannot be read */
  async #look(): Promise<void> {
    const topic = this.#topic
    const look = await this.#options.bus.lookAt(topic)
    requireReadable(topic, look)
    if (!this.#isRead(look)) await this.#read(look)
    this.trouble = null
    this.#lookLater(lookMs)
  }

  #readFailed(error: Error): void {
    if (this.#isClosed) return
    if (error.message !== this.trouble)
      this.#options.telemetry.emit('control.unavailable', { topic: this.#topic, error })
    this.trouble = error.message
    this.#lookLater(this.#reader === null ? retryMs : lookMs)
  }

  #isRead({ id, partitions }: TopicLook): boolean {
    return this.#reader !== null && this.#known?.id === id && this.#known.partitions === partitions
  }

  /** Reads the topic from its beginning; its content replaces everything known. */
  async #read(look: TopicLook): Promise<void> {
    await this.#reader?.close()
    this.#reader = null
    const last = new LastChanges()
    let isCaughtUp = false
    const begun = await this.#caughtUp((change, partition) => {
      if (isCaughtUp) this.controls.apply(change)
      else last.add(change, partition)
    })
    isCaughtUp = true
    if (this.#isClosed) return begun.close()
    this.#reader = begun
    this.#known = look
    this.#replaceWith(last)
  }

  /** @throws BusUnavailable when the topic is not read to its end in time */
  async #caughtUp(take: (change: Change, partition: number) => void): Promise<Reader> {
    const { bus, clock } = this.#options
    const topic = this.#topic
    const opening = bus.read([topic], 'earliest', ({ partition }, records) => {
      for (const change of this.#changesOf(records, partition)) take(change, partition)
    })
    const unread = `pauses and withdrawals on ${topic} could not be read within ${readMs / 1000} s`
    const reading = opening.then(begun => begun.caughtUp())
    try {
      await limited(clock, readMs, reading, () => new BusUnavailable(unread))
      return await opening
    } catch (error) {
      opening.then(
        begun => begun.close(),
        () => {},
      )
      throw error
    }
  }

  *#changesOf(records: readonly BusRecord[], partition: number): Generator<Change> {
    const { telemetry } = this.#options
    const topic = this.#topic
    for (const record of records) {
      try {
        if (record.unreadable) throw new Error(record.unreadable.message)
        yield readChange(record)
      } catch (error) {
        telemetry.emit('control.unreadable', { topic, partition, offset: record.offset, error: error as Error })
      }
    }
  }

  #replaceWith(last: LastChanges): void {
    const by = `${this.#topic}, which no longer contains it`
    const at = this.#options.clock.now()
    for (const change of this.controls.inForce) {
      if (change.kind !== 'quiet_hours' && !last.has(change)) this.controls.apply({ ...change, begins: false, by, at })
    }
    for (const change of last) this.controls.apply(change)
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
