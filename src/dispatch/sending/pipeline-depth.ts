/** One observation goes this part of the way towards a longer time of preparing, and this part towards a shorter one. */
const rise = 1 / 4
const fall = 1 / 64
/** One observation goes this part of the way towards another usual time of a request. */
const drift = 1 / 16

/** With one, bulk would get a slot out of its turn whenever two requests end together. */
const least = 2

/**
 * Tells how many envelopes are to be prepared ahead, so that no slot waits for a commit: as many as the slots send while
 * one is prepared. With more, commands that come later would only wait longer.
 */
export class PipelineDepth {
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
    return Math.max(least, Math.ceil((this.#slots * this.#preparing) / this.#sending))
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
