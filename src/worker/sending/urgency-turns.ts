/** Most envelopes that may pass a less urgent one. */
export const mostPassedOver = 7

/**
 * Turns among topics of different urgency. The most urgent topic goes first; one that has been passed over seven times goes
 * before it once. Each topic thus keeps a share of the envelopes, however long the more urgent queues are.
 */
export class UrgencyTurns {
  /** For each topic, the number of more urgent envelopes since its own last one. */
  readonly #passedOver: number[]

  /** @param count number of topics; 0 is the most urgent one */
  constructor(count: number) {
    this.#passedOver = Array.from({ length: count }, () => 0)
  }

  /** Topics in the order in which they may send the next envelope. */
  order(): readonly number[] {
    const all = [...this.#passedOver.keys()]
    return [...all.filter(urgency => this.isDue(urgency)), ...all.filter(urgency => !this.isDue(urgency))]
  }

  /** Whether the topic goes before more urgent ones. */
  isDue(urgency: number): boolean {
    return this.#passedOver[urgency]! >= mostPassedOver
  }

  /** Records that the topic sent an envelope. */
  left(urgency: number): void {
    this.#passedOver[urgency] = 0
    for (let other = urgency + 1; other < this.#passedOver.length; other++) this.#passedOver[other]!++
  }
}
