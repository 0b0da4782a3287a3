import type { BatchRecords } from '../batches/record-batch.ts'
import type { AbortedTransaction } from './fetch-api.ts'

/** Version 0, type 0: the key of the control record that ends an aborted transaction. */
const abortMarker = Buffer.from([0, 0, 0, 0])

/**
 * Leaves out markers and the batches of aborted transactions. This is the algorithm of the Java client (CompletedFetch):
 * whoever has an aborted transaction begun at or before a batch, and not yet ended by its marker, is not to be read. The list
 * may hold several of one producer, and transactions interleave. A transaction begins with a batch, so the first record of
 * one that is wanted tells as much as the last that Java asks for; no batch is here without a record.
 */
export function committedBatches(
  batches: readonly BatchRecords[],
  aborted: readonly AbortedTransaction[],
): BatchRecords[] {
  const upcoming = aborted.toSorted((a, b) => a.firstOffset - b.firstOffset)
  const open = new Set<bigint>()
  let next = 0
  return batches.filter(({ records, isControl, producerId, inTransaction }) => {
    const first = records[0]!
    while (next < upcoming.length && upcoming[next]!.firstOffset <= first.offset) open.add(upcoming[next++]!.producerId)
    if (isControl && first.key?.equals(abortMarker)) open.delete(producerId)
    return !isControl && !(inTransaction && open.has(producerId))
  })
}
