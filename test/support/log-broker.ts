import type { Fetch } from '../../src/bus/read/fetch.ts'
import { readFetch } from '../../src/bus/read/fetch-api.ts'
import { buildFetchAnswer } from './batches.ts'

/**
 * One partition of a broker, as Kafka reads it from its files: it finds an offset by what each batch states of itself, as
 * it stands there now; an answer ends with a file; and the first batch is answered whole, whatever the limit.
 */
export class LogBroker {
  /** Offsets that were asked for. */
  readonly asked: number[] = []
  readonly #files: { base: number; bytes: Buffer }[]
  readonly #end: number

  constructor(files: readonly { base: number; batches: readonly Buffer[] }[], end: number) {
    this.#files = files.map(({ base, batches }) => ({ base, bytes: Buffer.concat(batches) }))
    this.#end = end
  }

  readonly fetch: Fetch = async ({ partitions, partitionBytes }) => {
    const { offset } = partitions[0]!
    this.asked.push(offset)
    const bytes = this.#find(offset, partitionBytes)
    return readFetch(buildFetchAnswer([{ partition: 0, highWatermark: this.#end, bytes }]))
  }

  #find(offset: number, maxBytes: number): Buffer {
    const holding = this.#files.findLastIndex(({ base }) => base <= offset)
    for (const { bytes } of this.#files.slice(holding)) {
      for (let at = 0; at < bytes.length; ) {
        const size = 12 + bytes.readInt32BE(at + 8)
        const last = Number(bytes.readBigInt64BE(at)) + bytes.readInt32BE(at + 23)
        if (at + size > bytes.length) break
        if (last >= offset) return bytes.subarray(at, at + Math.max(size, maxBytes))
        at += size
      }
    }
    return Buffer.alloc(0)
  }
}
