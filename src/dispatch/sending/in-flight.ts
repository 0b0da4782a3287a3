import type { Session } from '../../bus/port.ts'
import type { Envelope } from './delivery.ts'

/** At most this many partitions are named. */
const mostNamed = 5

/**
 * Stage says where an envelope is: its intents are being committed; it waits for a slot; it holds one; its results are
 * being committed, or that it is taken back.
 */
export type Stage = 'preparing' | 'prepared' | 'sending' | 'finishing'

/** An envelope on its way, from the time it was formed to its committed results. */
export class InFlight {
  readonly envelope: Envelope
  /** 0: of the most urgent topic. */
  readonly urgency: number
  /** Commands, those included that have expired since. */
  readonly size: number
  /** Monotonic milliseconds. */
  readonly formedAt: number
  stage: Stage = 'preparing'

  constructor(envelope: Envelope, urgency: number, formedAt: number) {
    this.envelope = envelope
    this.urgency = urgency
    this.size = envelope.pendings.length
    this.formedAt = formedAt
  }

  get what(): string {
    const names = this.#sessions.map(({ topic, partition }) => `${topic}/${partition}`)
    const others = names.length - mostNamed
    return `an envelope of ${names.slice(0, mostNamed).join(', ')}${others > 0 ? ` and ${others} more` : ''}`
  }

  /**
   * Tells whether nothing known keeps it: those that hold the slots would, or a session that is held while the group
   * re-joins.
   */
  get couldEnd(): boolean {
    return this.stage !== 'prepared' && this.#sessions.every(({ open, alive }) => open || !alive)
  }

  /** Tells whether all of its partitions may be sent from. */
  get isOpen(): boolean {
    for (const { open } of this.envelope.parts.keys()) if (!open) return false
    return true
  }

  get #sessions(): Session[] {
    return [...this.envelope.parts.keys()]
  }
}
