import type { AbortedTransaction, FetchedMessage } from './internals.ts'

/** Version 0, type 0: the key of the control record that ends an aborted transaction. */
const abortMarker = Buffer.from([0, 0, 0, 0])

/**
 * Marks the messages of aborted transactions as control records, which kafkajs never delivers but counts for its position.
 * kafkajs's own filter takes the list as sorted and one at a time, so interleaved aborted transactions leak through it;
 * this is the algorithm of the Java client (CompletedFetch): whoever has an aborted transaction begun at or before an
 * offset, and not yet ended by its marker, is not to be read.
 */
export function markAborted(messages: readonly FetchedMessage[], aborted: readonly AbortedTransaction[]): void {
  const upcoming = aborted
    .map(({ producerId, firstOffset }) => ({ producerId, firstOffset: Number(firstOffset) }))
    .sort((a, b) => a.firstOffset - b.firstOffset)
  const open = new Set<string>()
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
