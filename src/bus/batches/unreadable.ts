import type { BusRecord, Unreadable } from '../port.ts'
import { noHeaders } from '../record-headers.ts'
import { noTime, timestampOf } from '../record-time.ts'

/**
 * UnreadableBatch says why a batch cannot be read, now or ever. The message is a clause about the batch and holds
 * nothing of its content.
 */
export class UnreadableBatch extends Error {
  readonly code: Unreadable['code']

  constructor(code: Unreadable['code'], message: string) {
    super(message)
    this.code = code
  }
}

export function unknownCodec(codec: number): UnreadableBatch {
  return new UnreadableBatch('CODEC_UNKNOWN', `it is compressed with a codec of the number ${codec}`)
}

export function tooLarge(most: number): UnreadableBatch {
  return new UnreadableBatch('BATCH_TOO_LARGE', `it unpacks to more than ${most} bytes`)
}

/**
 * The most headers that one record may have: in memory each takes hundreds of bytes, and packed by a hostile hand next
 * to none.
 */
export const mostHeaders = 10_000

export function tooManyHeaders(): UnreadableBatch {
  return new UnreadableBatch('BATCH_TOO_LARGE', `a record of it has more than ${mostHeaders} headers`)
}

const advice: Record<Unreadable['code'], string> = {
  CODEC_UNKNOWN:
    'Upgrade busgate, or let the producer compress with gzip, snappy, lz4 or zstd, and have these records produced again.',
  BATCH_CORRUPT:
    "Look at it with kafka-dump-log on the partition's leader, check that broker's disks and the producer's client library, " +
    'and have these records produced again.',
  BATCH_TOO_LARGE: 'Lower batch.size of the producer, and have these records produced again in smaller batches.',
}

/** Makes the record that stands for offsets which cannot be read, the last one included. */
export function unreadableRecord(offset: number, error: unknown, lastOffset: number, timestamp = noTime): BusRecord {
  const unreadable = unreadableOf(error, offset, Math.max(lastOffset, offset))
  return { offset, timestamp: timestampOf(timestamp), key: null, value: null, headers: noHeaders, unreadable }
}

/** Says why the batch with these offsets, the last one included, cannot be read. */
function unreadableOf(error: unknown, first: number, last: number): Unreadable {
  const { code, message } =
    error instanceof UnreadableBatch ? error : new UnreadableBatch('BATCH_CORRUPT', (error as Error).message)
  const which = first === last ? `The batch at offset ${first}` : `The batch at offsets ${first} to ${last}`
  return { code, message: `${which} cannot be read: ${message}. ${advice[code]}`, lastOffset: last }
}
