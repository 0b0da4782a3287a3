import { largestBatch } from './codecs.ts'

/** Decompressed records, and the one from which on they are to be read. */
export interface RecordsLeft {
  unpacked: Buffer
  /** Where the record begins, its offset, and how many records there are from it on. */
  at: number
  offset: number
  count: number
}

interface Kept extends RecordsLeft {
  /** The batch as it is in the log. */
  packed: Buffer
  forget: NodeJS.Timeout
}

/** How long a batch is kept that nobody reads on. */
const idleMs = 5_000

/**
 * The rest of compressed batches that memory had no room for at once. Without it, each fetch would decompress and check all of
 * the batch for the few records that fit: for 64 MiB of records of 1 MB, 60 times.
 */
export class UnfinishedBatches {
  readonly #kept = new Set<Kept>()
  #bytes = 0

  /** Removes and returns the rest of a batch; null if what is kept begins behind the offset. */
  take(packed: Buffer, from: number): RecordsLeft | null {
    for (const kept of this.#kept) {
      if (kept.offset > from || !kept.packed.equals(packed)) continue
      this.#forget(kept)
      return kept
    }
    return null
  }

  /** Keeps the rest of a batch, if all together are no larger than one may be. */
  keep(packed: Buffer, left: RecordsLeft): void {
    if (this.#bytes + left.unpacked.length > largestBatch) return
    const forget = setTimeout(() => this.#forget(kept), idleMs).unref()
    const kept: Kept = { ...left, packed: Buffer.from(packed), forget } // the copy does not hold the broker's answer
    this.#kept.add(kept)
    this.#bytes += left.unpacked.length
  }

  #forget(kept: Kept): void {
    clearTimeout(kept.forget)
    this.#kept.delete(kept)
    this.#bytes -= kept.unpacked.length
  }
}
