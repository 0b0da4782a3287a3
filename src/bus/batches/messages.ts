import type { RecordHeaders } from '../port.ts'

/** A record of a batch, with what its batch says of who wrote it. */
export interface FetchedMessage {
  offset: number
  key: Buffer | null
  isControlRecord: boolean
  batchContext: { producerId: bigint; inTransaction: boolean }
}

export interface DecodedMessage extends FetchedMessage {
  timestamp: number
  value: Buffer | null
  headers: RecordHeaders
  /** Stands for a whole batch, and why that cannot be read. */
  unreadable?: { error: unknown; lastOffset: number }
}
