import { unlessAborted } from '../abort.ts'

/** The error for an aborted signal: after a time-out one that says what was found, else the signal's reason. */
export function afterTimeout(complaint: (afterSeconds: string) => string): (signal: AbortSignal) => unknown {
  const began = performance.now()
  return ({ reason }) => {
    if (reason?.name !== 'TimeoutError') return reason
    const seconds = Math.round((performance.now() - began) / 100) / 10
    return new DOMException(complaint(`after ${seconds} s`), 'TimeoutError')
  }
}

/** A value that several wait for, each as long as its signal allows. Somebody looks for it while anybody waits. */
export class Awaited<T> {
  readonly #search: { begin(): void; end(): void }
  readonly #waiting = new Set<PromiseWithResolvers<T>>()
  #ended: Promise<T> | null = null

  constructor(search: { begin(): void; end(): void }) {
    this.#search = search
  }

  get hasEnded(): boolean {
    return this.#ended !== null
  }

  get isWaitedFor(): boolean {
    return this.#waiting.size > 0
  }

  /** @param reasonOf the error for an aborted signal; default: its reason */
  async wait(signal: AbortSignal, reasonOf?: (signal: AbortSignal) => unknown): Promise<T> {
    if (this.#ended !== null) return await this.#ended
    const waiting = Promise.withResolvers<T>()
    try {
      return await unlessAborted(signal, () => this.#join(waiting), reasonOf)
    } finally {
      this.#leave(waiting)
    }
  }

  /** Gives the value to all who wait, now or later. */
  settle(value: T): void {
    this.#ended ??= Promise.resolve(value)
    for (const { resolve } of this.#waiting) resolve(value)
  }

  /** Fails for all who wait, now or later. */
  reject(error: Error): void {
    this.#ended ??= Promise.reject(error)
    this.#ended.catch(() => {})
    this.fail(error)
  }

  /** Fails for all who wait now. */
  fail(error: Error): void {
    for (const { reject } of this.#waiting) reject(error)
  }

  #join(waiting: PromiseWithResolvers<T>): Promise<T> {
    this.#waiting.add(waiting)
    if (this.#waiting.size === 1) this.#search.begin()
    return waiting.promise
  }

  #leave(waiting: PromiseWithResolvers<T>): void {
    if (this.#waiting.delete(waiting) && this.#waiting.size === 0) this.#search.end()
  }
}
