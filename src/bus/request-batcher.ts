/** Batches requests: all that arrive in one tick, or while a batch is in flight, go out together in the next batch. */
export class RequestBatcher<Q, A> {
  readonly #ask: (wanted: readonly Q[]) => Promise<readonly A[]>
  #waiting: { wanted: Q; resolve: (answer: A) => void; reject: (error: unknown) => void }[] = []
  #asking = false

  /** @param ask sends a batch; its answers stand in the order of the requests */
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
      await new Promise(resolve => setImmediate(resolve)) // lets every request of this tick join the batch
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
