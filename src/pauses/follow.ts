import { type Bus, type BusRecord, BusUnavailable, type Reader, type TopicLook } from '../bus/port.ts'
import { type Clock, limited } from '../clock.ts'
import type { Telemetry } from '../telemetry/events.ts'
import { type Change, LastChanges, readChange, requireReadable } from './change.ts'
import { Pauses } from './pauses.ts'

export interface FollowPausesOptions {
  bus: Pick<Bus, 'lookAt' | 'read'>
  /** The control topic. */
  topic: string
  clock: Clock
  telemetry: Telemetry
}

/** This often it is looked whether the topic is still the one that is read, and has no more partitions. */
const lookMs = 5_000
/** What cannot be read is tried again after this long. */
const retryMs = 30_000
/** The records of the topic are waited for this long. */
const readMs = 10_000

/**
 * Follows what is paused, as the control topic tells. Resolves when all that stands there is known, so that nothing is sent before;
 * where the topic does not exist or may not be read, nothing is paused until it can be. When it is made anew, or gets more
 * partitions, what stands there then takes the place of all that was told before.
 * @throws BusUnavailable that says what is waited for
 */
export async function followPauses(options: FollowPausesOptions): Promise<FollowedPauses> {
  const followed = new FollowedPauses(options)
  await followed.begin()
  return followed
}

/** FollowedPauses keeps `pauses` as the control topic tells, and looks again and again whether it still hears that topic. */
export class FollowedPauses {
  readonly pauses: Pauses
  readonly #options: FollowPausesOptions
  #reader: Reader | null = null
  /** The topic as the reader knows it. */
  #known: TopicLook | null = null
  #trouble: string | null = null
  #isClosed = false
  #cancelLook = () => {}

  constructor(options: FollowPausesOptions) {
    this.#options = options
    this.pauses = new Pauses(options.clock)
    this.pauses.onChange(change => emitChange(options.telemetry, change))
  }

  /** Why pauses are not heard of now; null: they are. */
  get trouble(): string | null {
    return this.#trouble
  }

  /** @throws BusUnavailable that says what is waited for; then it is closed */
  async begin(): Promise<void> {
    try {
      await this.#look()
    } catch (error) {
      if (error instanceof BusUnavailable) {
        this.pauses.close()
        throw error
      }
      this.#readFailed(error as Error)
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true
    this.#cancelLook()
    this.pauses.close()
    await this.#reader?.close()
  }

  #lookLater(ms: number): void {
    if (this.#isClosed) return
    this.#cancelLook = this.#options.clock.after(ms, () => void this.#look().catch(error => this.#readFailed(error)))
  }

  /** @throws Error that says why pauses cannot be heard of */
  async #look(): Promise<void> {
    const { bus, topic } = this.#options
    const look = await bus.lookAt(topic)
    requireReadable(topic, look)
    if (!this.#isRead(look)) await this.#read(look)
    this.#trouble = null
    this.#lookLater(lookMs)
  }

  #readFailed(error: Error): void {
    if (this.#isClosed) return
    const { telemetry, topic } = this.#options
    if (error.message !== this.#trouble) telemetry.emit('pauses.unavailable', { topic, error })
    this.#trouble = error.message
    this.#lookLater(this.#reader === null ? retryMs : lookMs)
  }

  #isRead({ id, partitions }: TopicLook): boolean {
    return this.#reader !== null && this.#known?.id === id && this.#known.partitions === partitions
  }

  /** Reads the topic from its beginning, and takes what stands there for all that holds. */
  async #read(look: TopicLook): Promise<void> {
    await this.#reader?.close()
    this.#reader = null
    const last = new LastChanges()
    let isCaughtUp = false
    const begun = await this.#caughtUp((change, partition) => {
      if (isCaughtUp) this.pauses.apply(change)
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
    const { bus, topic, clock } = this.#options
    const opening = bus.read([topic], 'earliest', ({ partition }, records) => {
      for (const change of this.#changesOf(records, partition)) take(change, partition)
    })
    const unread = `the pauses on ${topic} could not be read within ${readMs / 1000} s`
    const reading = opening.then(async begun => {
      await begun.caughtUp()
      return { begun }
    })
    const outcome = await limited(
      clock,
      readMs,
      reading.catch((error: Error) => ({ error })),
      unread,
    ).catch(() => ({ error: new BusUnavailable(unread) }))
    if ('begun' in outcome) return outcome.begun
    opening.then(
      begun => begun.close(),
      () => {},
    )
    throw outcome.error
  }

  *#changesOf(records: readonly BusRecord[], partition: number): Generator<Change> {
    const { telemetry, topic } = this.#options
    for (const record of records) {
      try {
        if (record.unreadable) throw new Error(record.unreadable.message)
        yield readChange(record)
      } catch (error) {
        telemetry.emit('pause.unreadable', { topic, partition, offset: record.offset, error: error as Error })
      }
    }
  }

  #replaceWith(last: LastChanges): void {
    const { topic, clock } = this.#options
    const by = `${topic}, which tells of it no more`
    for (const change of [...this.pauses.inForce]) {
      if (!last.has(change)) this.pauses.apply({ ...change, paused: false, by, at: clock.now() })
    }
    for (const change of last) this.pauses.apply(change)
  }
}

function emitChange(telemetry: Telemetry, { kind, name, paused, by, at, until, reason }: Change): void {
  if (paused) telemetry.emit('pause.begun', { kind, name, by, at, until, reason })
  else telemetry.emit('pause.ended', { kind, name, by, at })
}
