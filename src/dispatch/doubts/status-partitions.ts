import { partitionOf } from '../../bus/murmur2.ts'
import { type Bus, BusUnavailable } from '../../bus/port.ts'
import type { Clock } from '../../clock.ts'
import type { Telemetry } from '../../telemetry/events.ts'

export interface StatusPartitionsOptions {
  bus: Pick<Bus, 'partitions'>
  topic: string
  clock: Clock
  telemetry: Telemetry
  /** Whether anything is looked for on them. */
  wanted: () => boolean
  /** There are others than before. */
  changed: () => void
}

/** What was found is believed for so long. */
const freshMs = 1000
/** The topic is looked for again after this long, while it cannot be seen. */
const retryMs = 30_000
/** What cannot be seen for so long is taken for lasting: then the gateway's answer decides. */
const refusalMs = 10_000

/**
 * The partitions of the statuses. Their number is looked at again, because it can grow while events are looked for: those
 * of one message then stand on a partition for each number that there was.
 */
export class StatusPartitions {
  readonly #options: StatusPartitionsOptions
  readonly #counts = new Set<number>()
  #looking: Promise<boolean> | null = null
  /** Monotonic milliseconds. */
  #lookedAt = Number.NEGATIVE_INFINITY
  /** Monotonic milliseconds since when something is wanted, and the topic cannot be seen. */
  #refusedAt: number | null = null
  #cancelRetry = () => {}
  /** Whether the topic cannot be seen, for long. */
  isRefused = false

  constructor(options: StatusPartitionsOptions) {
    this.#options = options
  }

  /** Tells where events of this key may stand. */
  of(key: string): Set<number> {
    return new Set([...this.#counts].map(count => partitionOf(key, count)))
  }

  /** @returns whether they are known as of now, or the topic may not be seen; false while that is unsure */
  look(): Promise<boolean> {
    const age = this.#options.clock.monotonic() - this.#lookedAt
    if (age < (this.isRefused ? retryMs : freshMs)) return Promise.resolve(this.#isKnown)
    this.#looking ??= this.#ask().finally(() => {
      this.#looking = null
    })
    return this.#looking
  }

  /** Nothing is looked for any more, or yet: what was found is not believed any more when something is. */
  rest(): void {
    this.#lookedAt = Number.NEGATIVE_INFINITY
    this.#forgetRefusal()
  }

  #forgetRefusal(): void {
    this.#cancelRetry()
    this.#refusedAt = null
    this.isRefused = false
  }

  get #isKnown(): boolean {
    return this.#counts.size > 0 || this.isRefused
  }

  async #ask(): Promise<boolean> {
    const { bus, topic, clock } = this.#options
    try {
      const count = (await bus.partitions([topic])).get(topic)
      this.#lookedAt = clock.monotonic()
      if (count !== undefined) this.#found(count)
      else
        this.#refuse(
          'no partition can be seen: create the topic, or grant this client the rights Describe and Read on it',
        )
    } catch (error) {
      if (error instanceof BusUnavailable) return false
      this.#refuse((error as Error).message)
    }
    return this.#isKnown
  }

  #found(count: number): void {
    this.#forgetRefusal()
    if (this.#counts.has(count)) return
    this.#counts.add(count)
    this.#options.changed()
  }

  /** A refusal is told where no partition is known; where some are, whoever reads them finds out. */
  #refuse(why: string): void {
    const { topic, clock, telemetry, wanted } = this.#options
    if (this.#counts.size > 0) return
    telemetry.emit('evidence.unavailable', { topic, partition: null, error: new Error(why) })
    if (!wanted()) return
    this.#refusedAt ??= clock.monotonic()
    this.isRefused = clock.monotonic() - this.#refusedAt >= refusalMs
    this.#cancelRetry()
    this.#cancelRetry = clock.after(retryMs, () => void this.look())
  }
}
