import type { BusRecord, Unreadable } from '../port.ts'
import { noHeaders } from '../record-headers.ts'
import { noTime, timestampOf } from '../record-time.ts'

/** Why a batch can never be read. The message is a clause about the batch and contains nothing of its content. */
export class UnreadableBatch extends Error {
  readonly code: Unreadable['code']

  constructor(code: Unreadable['code'], message: string) {
    super(message)
    this.code = code
  }
}

export function tooLarge(most: number): UnreadableBatch {
  return new UnreadableBatch('BATCH_TOO_LARGE', `it decompresses to more than ${most} bytes`)
}

const advice: Record<Unreadable['code'], string> = {
  CODEC_UNKNOWN: 'Upgrade busgate, or compress with gzip, snappy, lz4 or zstd and produce these records again.',
  BATCH_CORRUPT:
    "Inspect it with kafka-dump-log on the partition's leader, check that broker's disks and the producer's client library, " +
    'and produce these records again.',
  BATCH_TOO_LARGE: 'Lower batch.size of the producer and produce these records again in smaller batches.',
}

/** Makes the record that represents unreadable offsets up to and including `lastOffset`. */
export function unreadableRecord(offset: number, error: unknown, lastOffset: number, timestamp = noTime): BusRecord {
  const { code, message } =
    error instanceof UnreadableBatch ? error : new UnreadableBatch('BATCH_CORRUPT', (error as Error).message)
  const which = offset === lastOffset ? `offset ${offset}` : `offsets ${offset} to ${lastOffset}`
  const text = `The batch at ${which} cannot be read: ${message}. ${advice[code]}`
  const unreadable = { code, message: text, lastOffset }
  return { offset, timestamp: timestampOf(timestamp), key: null, value: null, headers: noHeaders, unreadable }
}
