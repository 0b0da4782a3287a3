import type { Readable } from 'node:stream'

/** With it V8 writes a line to stdout for each of its collections. */
export const traceFlag = '--trace-gc'

/** Sizes of the heap before and after a collection, in MiB: `Scavenge 12.3 (20.1) -> 8.9 (20.4) MB`. */
const sizes = /: (?:Scavenge|Mark-Compact)[^\d]* ([\d.]+) \([\d.]+\) -> ([\d.]+) \([\d.]+\) MB/g

/** Adds up what a process of Node allocates on V8's heap, by what its collections say. */
export class GarbageCount {
  /** MiB in use after the last collection. */
  #left = 0
  #allocated = 0
  #rest = ''

  constructor(stdout: Readable) {
    stdout.setEncoding('utf8').on('data', (text: string) => this.#read(text))
  }

  /** Bytes that were allocated until the last collection. */
  get bytes(): number {
    return this.#allocated * 2 ** 20
  }

  #read(text: string): void {
    const lines = (this.#rest + text).split('\n')
    this.#rest = lines.pop()!
    for (const [, before, after] of lines.join('\n').matchAll(sizes)) {
      this.#allocated += Math.max(0, Number(before) - this.#left)
      this.#left = Number(after)
    }
  }
}
