import type { Session } from '../../bus/port.ts'
import type { Envelope } from './delivery.ts'

/** At most this many partitions are named. */
const mostNamed = 5

/** An envelope on its way, from the time it was formed to its committed results. */
export class InFlight {
  readonly envelope: Envelope
  /** 0: of the most urgent topic. */
  readonly urgency: number
  /** Commands, those included that have expired since. */
  readonly size: number

  constructor(envelope: Envelope, urgency: number) {
    this.envelope = envelope
    this.urgency = urgency
    this.size = envelope.pendings.length
  }

  get what(): string {
    const names = this.#sessions.map(({ topic, partition }) => `${topic}/${partition}`)
    const others = names.length - mostNamed
    return `an envelope of ${names.slice(0, mostNamed).join(', ')}${others > 0 ? ` and ${others} more` : ''}`
  }

  /** False while the group re-joins: a session that is held keeps its envelopes. */
  get couldEnd(): boolean {
    return this.#sessions.every(({ open, alive }) => open || !alive)
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
