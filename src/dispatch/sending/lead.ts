/** One observation goes this part of the way towards a longer time of preparing, and this part towards a shorter one. */
const rise = 1 / 4
const fall = 1 / 64
/** One observation goes this part of the way towards another usual time of a request. */
const drift = 1 / 16

/**
 * Lead says how many envelopes are to be prepared ahead, so that no slot waits for a commit: as many as the slots send
 * while one is prepared. So none waits for its slot longer than another one takes to be prepared, and nothing that
 * comes meanwhile waits longer for those that are prepared than for its own commit.
 */
export class Lead {
  readonly #slots: number
  /** Milliseconds that it takes to prepare an envelope, when it takes long. */
  #preparing = 0
  /** Milliseconds for which a request holds its slot; 0: unknown. */
  #sending = 0

  /** @param slots requests in flight at most */
  constructor(slots: number) {
    this.#slots = slots
  }

  get envelopes(): number {
    if (this.#sending === 0) return this.#slots
    return Math.max(1, Math.ceil((this.#slots * this.#preparing) / this.#sending))
  }

  /** Milliseconds that a slot may wait for an envelope from its forming on: no commit that takes longer keeps it idle. */
  get patienceMs(): number {
    return this.#preparing * 4 < this.#sending ? Math.max(1, 2 * this.#preparing) : 0
  }

  /** The intents of an envelope are committed, so long after it was formed. */
  prepared(ms: number): void {
    this.#preparing += (ms - this.#preparing) * (ms > this.#preparing ? rise : fall)
  }

  /** A request has held its slot for so long. */
  sent(ms: number): void {
    const took = Math.max(1, ms)
    this.#sending = this.#sending === 0 ? took : this.#sending + (took - this.#sending) * drift
  }
}
