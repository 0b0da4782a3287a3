import type { BusRecord, ReadPartition } from '../port.ts'

/** A record that a reader has in hand: it is worked on until the next one is asked for. */
export interface Taken {
  from: ReadPartition
  record: BusRecord
}

interface Waiting {
  from: ReadPartition
  records: readonly BusRecord[]
  taken: () => void
}

/**
 * Between those who hand records over and one reader that takes them one after the other. What waits here is bounded by
 * those who hand over: each has one batch here at a time, and goes on when all of it was worked on.
 */
export class RecordQueue {
  readonly #ending: AbortSignal
  #waiting: Waiting[] = []
  #isWorking = false
  #paused = false
  #finished = false
  #failure: Error | null = null
  #change = Promise.withResolvers<void>()

  constructor(ending: AbortSignal) {
    this.#ending = ending
    ending.addEventListener('abort', () => this.#changed(), { once: true })
  }

  /** Resolves when all of them were worked on; never if they are dropped, as when their partition was taken away. */
  put(from: ReadPartition, records: readonly BusRecord[]): Promise<void> {
    const { promise, resolve: taken } = Promise.withResolvers<void>()
    this.#waiting.push({ from, records, taken })
    this.#changed()
    return promise
  }

  /** Nothing comes any more. */
  finish(): void {
    this.#finished = true
    this.#changed()
  }

  /** The reader is to end with this error. */
  fail(error: Error): void {
    this.#failure ??= error
    this.#changed()
  }

  /** No further record is taken. Resolves when none is worked on. */
  async pause(): Promise<void> {
    this.#paused = true
    while (this.#isWorking && this.#paused && !this.#ending.aborted) await this.#change.promise
  }

  resume(): void {
    this.#paused = false
    this.#changed()
  }

  /** Hands records out until `finish`, or the signal. @throws the error of `fail` */
  async *records(): AsyncGenerator<Taken, void> {
    for (;;) {
      const next = await this.#next()
      if (!next) return
      const { from, records, taken } = next
      for (const record of records) {
        if (this.#paused) await this.#unpaused()
        if (!this.#goesOn(from)) break
        this.#isWorking = true
        yield { from, record }
        this.#isWorking = false
        from.done(record.offset + 1)
        if (this.#paused) this.#changed()
      }
      if (this.#goesOn(from)) taken()
    }
  }

  #goesOn(from: ReadPartition): boolean {
    return from.owned && !this.#ending.aborted && this.#failure === null
  }

  async #next(): Promise<Waiting | null> {
    while (!this.#ending.aborted) {
      if (this.#failure) throw this.#failure
      const next = this.#paused ? undefined : this.#waiting.shift()
      if (next) return next
      if (this.#finished) return null
      await this.#change.promise
    }
    return null
  }

  async #unpaused(): Promise<void> {
    while (this.#paused && !this.#ending.aborted && this.#failure === null) await this.#change.promise
  }

  #changed(): void {
    this.#change.resolve()
    this.#change = Promise.withResolvers()
  }
}
