import { indexOf } from './ids.ts'

/** What passed between the gateway and busgate about each message. */
export class Traffic {
  /** Callbacks that were answered 200. */
  readonly accepted: Uint8Array
  /** When the first of them was answered, milliseconds since 1970. */
  readonly acceptedAt: Float64Array
  readonly polls: Uint8Array
  /** When the last poll was answered, milliseconds since 1970. */
  readonly polledAt: Float64Array

  constructor(commands: number) {
    this.accepted = new Uint8Array(commands)
    this.acceptedAt = new Float64Array(commands)
    this.polls = new Uint8Array(commands)
    this.polledAt = new Float64Array(commands)
  }

  calledBack(body: string, status: number): void {
    if (status !== 200) return
    const index = indexOf(BigInt((JSON.parse(body) as { id: string }).id))
    if (this.accepted[index]!++ === 0) this.acceptedAt[index] = Date.now()
  }

  asked(body: string): void {
    for (const { id } of (JSON.parse(body) as { data: { id: number }[] }).data) {
      const index = indexOf(BigInt(id))
      this.polls[index]!++
      this.polledAt[index] = Date.now()
    }
  }
}
