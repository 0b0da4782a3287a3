import type { Session } from '../bus/port.ts'
import type { Envelope } from './delivery.ts'

/** So many partitions are named. */
const mostNamed = 5

/** What holds a slot, or is about to. */
export class InFlight {
  /** null: a request that is no envelope of commands. */
  readonly envelope: Envelope | null
  readonly isUrgent: boolean

  constructor(envelope: Envelope | null, isUrgent: boolean) {
    this.envelope = envelope
    this.isUrgent = isUrgent
  }

  get what(): string {
    if (!this.envelope) return 'a status poll'
    const names = this.#sessions.map(({ topic, partition }) => `${topic}/${partition}`)
    const others = names.length - mostNamed
    return `an envelope of ${names.slice(0, mostNamed).join(', ')}${others > 0 ? ` and ${others} more` : ''}`
  }

  /** Whether nothing known keeps it: a session that is held while the group re-joins would. */
  get couldEnd(): boolean {
    return this.#sessions.every(({ open, alive }) => open || !alive)
  }

  get #sessions(): Session[] {
    return [...(this.envelope?.parts.keys() ?? [])]
  }
}
