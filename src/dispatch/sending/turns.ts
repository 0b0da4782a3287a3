/** An envelope lets at most so many more urgent ones leave before it. */
export const mostPassedOver = 7

/**
 * Turns knows whose turn it is among topics of different urgency. The most urgent one goes first; one that has been passed over
 * seven times goes before it once. So each keeps a share of the envelopes, however much the more urgent ones have to send.
 */
export class Turns {
  /** It counts, for each topic, the envelopes of more urgent ones since its own last one. */
  readonly #passedOver: number[]

  /** @param count topics, 0 being the most urgent one */
  constructor(count: number) {
    this.#passedOver = Array.from({ length: count }, () => 0)
  }

  /** Who may send the next envelope, if the ones before have none. */
  order(): number[] {
    const all = [...this.#passedOver.keys()]
    return [...all.filter(urgency => this.isDue(urgency)), ...all.filter(urgency => !this.isDue(urgency))]
  }

  /** Tells whether one envelope of the topic goes before more urgent ones. */
  isDue(urgency: number): boolean {
    return this.#passedOver[urgency]! >= mostPassedOver
  }

  /** A topic's envelope left. */
  left(urgency: number): void {
    this.#passedOver[urgency] = 0
    for (let other = urgency + 1; other < this.#passedOver.length; other++) this.#passedOver[other]!++
  }
}
