import type { Readable } from 'node:stream'

/** Makes V8 write a line to standard output for each garbage collection. */
export const traceFlag = '--trace-gc'

/** Sizes of the heap before and after a collection, in MiB: `Scavenge 12.3 (20.1) -> 8.9 (20.4) MB`. */
const sizes = /: (?:Scavenge|Mark-Compact)[^\d]* ([\d.]+) \([\d.]+\) -> ([\d.]+) \([\d.]+\) MB/g

/** Adds up what a Node process allocates on V8's heap, from the lines about its garbage collections. */
export class GarbageCount {
  /** MiB in use after the last garbage collection. */
  #left = 0
  #allocated = 0
  #rest = ''

  constructor(stdout: Readable) {
    stdout.setEncoding('utf8').on('data', (text: string) => this.#read(text))
  }

  /** Bytes allocated until the last garbage collection. */
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
