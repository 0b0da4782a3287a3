import { setImmediate } from 'node:timers/promises'
import type { BusRecord, ReadPartition } from '../port.ts'

/** Longest time in which a reader without asynchronous work keeps the event loop from turning. */
const turnMs = 20

/** A record that the reader is handling, until it requests the next one. */
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
 * A queue between several partitions and one reader that takes record after record. It is bounded: each partition has one
 * batch here and continues after the batch was handled.
 */
export class RecordQueue {
  readonly #ending: AbortSignal
  #waiting: Waiting[] = []
  #isWorking = false
  #paused = false
  #finished = false
  #failure: Error | null = null
  #change = Promise.withResolvers<void>()
  #turnedAt = performance.now()

  constructor(ending: AbortSignal) {
    this.#ending = ending
    ending.addEventListener('abort', () => this.#changed(), { once: true })
  }

  /** Resolves when all of the records were handled; never if they are dropped because their partition was revoked. */
  put(from: ReadPartition, records: readonly BusRecord[]): Promise<void> {
    const { promise, resolve: taken } = Promise.withResolvers<void>()
    this.#waiting.push({ from, records, taken })
    this.#changed()
    return promise
  }

  /** Ends the queue once it is empty. */
  finish(): void {
    this.#finished = true
    this.#changed()
  }

  /** Makes the reader fail with this error. */
  fail(error: Error): void {
    this.#failure ??= error
    this.#changed()
  }

  /** Stops delivery. Resolves when no record is being handled. */
  async pause(): Promise<void> {
    this.#paused = true
    await this.#until(() => !this.#isWorking || !this.#paused)
  }

  resume(): void {
    this.#paused = false
    this.#changed()
  }

  /** Yields records until `finish`, or until aborted. @throws the error of `fail` */
  async *records(): AsyncGenerator<Taken, void> {
    for (;;) {
      await this.#until(() => !this.#paused && (this.#waiting.length > 0 || this.#finished))
      if (this.#ending.aborted) return
      if (this.#failure) throw this.#failure
      const next = this.#waiting.shift()
      if (!next) return
      const { from, records, taken } = next
      for (const record of records) {
        if (performance.now() - this.#turnedAt > turnMs) await this.#turn()
        if (this.#paused) await this.#until(() => !this.#paused)
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

  /** Lets timers, signals and heartbeats run: with a backlog, all else here is microtasks. */
  async #turn(): Promise<void> {
    await setImmediate()
    this.#turnedAt = performance.now()
  }

  #goesOn(from: ReadPartition): boolean {
    return from.owned && !this.#ending.aborted && this.#failure === null
  }

  /** Resolves early when the queue is aborted or has failed. */
  async #until(condition: () => boolean): Promise<void> {
    while (!condition() && !this.#ending.aborted && this.#failure === null) await this.#change.promise
  }

  #changed(): void {
    this.#change.resolve()
    this.#change = Promise.withResolvers()
  }
}
