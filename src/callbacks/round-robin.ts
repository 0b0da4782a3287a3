export interface ActsOfTurn {
  /** It is so great that callbacks which share a publish come to share the next one, too. */
  most: number
  /** Node accepts one connection a turn: when one was accepted, more may wait, and the next turn has to be short. */
  whileAccepting: number
}

/**
 * Lets so many acts happen in each turn of the event loop, of one sender after the other: however much one of them has
 * to do, the next act of another comes soon.
 */
export class RoundRobin {
  readonly #acts: ActsOfTurn
  #left: number
  #isAccepting = false
  #isCounting = false
  /** Acts that wait, each sender's in their order; the senders in the order in which they are served. */
  readonly #waiting = new Map<object, (() => void)[]>()

  constructor(acts: ActsOfTurn) {
    this.#acts = acts
    this.#left = acts.most
  }

  /** To be called with each connection that is accepted. */
  accepted(): void {
    this.#isAccepting = true
    this.#left = Math.min(this.#left, this.#acts.whileAccepting)
  }

  /** Resolves when one act of this sender may be done; null: now. */
  next(sender: object): Promise<void> | null {
    if (this.#left > 0 && this.#waiting.size === 0) {
      this.#count()
      return null
    }
    return new Promise(resolve => {
      const own = this.#waiting.get(sender)
      if (own) own.push(resolve)
      else this.#waiting.set(sender, [resolve])
    })
  }

  #count(): void {
    this.#left--
    if (this.#isCounting) return
    this.#isCounting = true
    setImmediate(() => this.#begin())
  }

  #begin(): void {
    this.#isCounting = false
    this.#left = this.#isAccepting ? this.#acts.whileAccepting : this.#acts.most
    this.#isAccepting = false
    for (const [sender, acts] of this.#waiting) {
      this.#count()
      acts.shift()!()
      this.#waiting.delete(sender)
      // The sender comes behind all others now, where this loop comes by again.
      if (acts.length > 0) this.#waiting.set(sender, acts)
      if (this.#left === 0) break
    }
  }
}
