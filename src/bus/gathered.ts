/**
 * Asks for many at once what is wanted one by one. What is wanted while an ask is under way waits for the next one, and
 * shares that with all others that do.
 */
export class Gathered<Q, A> {
  readonly #ask: (wanted: readonly Q[]) => Promise<readonly A[]>
  #waiting: { wanted: Q; resolve: (answer: A) => void; reject: (error: unknown) => void }[] = []
  #asking = false

  /** @param ask answers in the order of what is wanted */
  constructor(ask: (wanted: readonly Q[]) => Promise<readonly A[]>) {
    this.#ask = ask
  }

  get(wanted: Q): Promise<A> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ wanted, resolve, reject })
      if (!this.#asking) void this.#askAll()
    })
  }

  async #askAll(): Promise<void> {
    this.#asking = true
    while (this.#waiting.length > 0) {
      await new Promise(resolve => setImmediate(resolve)) // those that want something in the same breath are in
      const together = this.#waiting.splice(0)
      try {
        const answers = await this.#ask(together.map(({ wanted }) => wanted))
        for (const [i, { resolve }] of together.entries()) resolve(answers[i]!)
      } catch (error) {
        for (const { reject } of together) reject(error)
      }
    }
    this.#asking = false
  }
}
