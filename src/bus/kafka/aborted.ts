import type { FetchedMessage } from '../batches/messages.ts'
import type { AbortedTransaction } from '../wire/fetch-api.ts'

/** Version 0, type 0: the key of the control record that ends an aborted transaction. */
const abortMarker = Buffer.from([0, 0, 0, 0])

/**
 * Marks the messages of aborted transactions as control records, which are passed over. This is the algorithm of the Java
 * client (CompletedFetch): whoever has an aborted transaction begun at or before an offset, and not yet ended by its marker,
 * is not to be read. The list may hold several of one producer, and transactions interleave.
 */
export function markAborted(messages: readonly FetchedMessage[], aborted: readonly AbortedTransaction[]): void {
  const upcoming = aborted.toSorted((a, b) => a.firstOffset - b.firstOffset)
  const open = new Set<bigint>()
  let next = 0
  for (const message of messages) {
    const { offset } = message
    while (next < upcoming.length && upcoming[next]!.firstOffset <= offset) open.add(upcoming[next++]!.producerId)
    const { producerId, inTransaction } = message.batchContext
    if (message.isControlRecord) {
      if (message.key?.equals(abortMarker)) open.delete(producerId)
    } else if (inTransaction && open.has(producerId)) {
      message.isControlRecord = true
    }
  }
}
