/**
 * Runs the transactions of a process's producer one at a time. After a failed transaction the producer is initialised again
 * at once, because the open transaction blocks readers.
 */
export class ProducerTurns<P> {
  readonly #initialise: () => Promise<P>
  #ready: Promise<P> | null = null
  #last: Promise<unknown> = Promise.resolve()

  constructor(initialise: () => Promise<P>) {
    this.#initialise = initialise
  }

  take<T>(work: (producer: P) => Promise<T>): Promise<T> {
    const done = this.#last.then(async () => {
      this.#ready ??= this.#initialise()
      return work(await this.#ready)
    })
    this.#last = done.catch(() => {
      this.#ready = this.#initialise()
      this.#ready.catch(() => {
        this.#ready = null
      })
    })
    return done
  }
}
