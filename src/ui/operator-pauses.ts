import type { Bus } from '../bus/port.ts'
import { systemClock } from '../clock.ts'
import { pausedBy } from '../pauses/change.ts'
import { type FollowedPauses, followPauses } from '../pauses/follow.ts'
import { Telemetry } from '../telemetry/events.ts'
import type { Pause } from './now.ts'

const retryMs = 5000

/** Follows the control topic for what operators have paused, as the workers do. */
export class OperatorPauses {
  readonly #bus: Bus
  readonly #name: string
  #followed: FollowedPauses | null = null
  /** Why it cannot be followed yet. */
  #waitsFor: string | null = null
  #timer: NodeJS.Timeout | undefined
  #isClosed = false

  constructor(bus: Bus, topic: string) {
    this.#bus = bus
    this.#name = topic
    void this.#begin()
  }

  get trouble(): string | null {
    return this.#followed ? this.#followed.trouble : this.#waitsFor
  }

  now(): Pause[] {
    const inForce = this.#followed?.pauses.inForce ?? []
    return [...inForce].map(pause => ({ what: `${pause.kind} ${pause.name}`, why: pausedBy(pause) }))
  }

  async close(): Promise<void> {
    this.#isClosed = true
    clearTimeout(this.#timer)
    await this.#followed?.close()
  }

  async #begin(): Promise<void> {
    const options = { bus: this.#bus, topic: this.#name, clock: systemClock, telemetry: new Telemetry() }
    try {
      const followed = await followPauses(options)
      if (this.#isClosed) await followed.close()
      this.#followed = followed
    } catch (error) {
      this.#waitsFor = (error as Error).message
      if (!this.#isClosed) this.#timer = setTimeout(() => void this.#begin(), retryMs).unref()
    }
  }
}
