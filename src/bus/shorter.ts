import type { OutgoingRecord } from './port.ts'
import { sizeInBatch } from './record-size.ts'

/** Records of so many bytes have no shorter version: every topic that busgate can work with takes them. */
const surelyFits = 1024

/**
 * A record with the shorter versions of it, each behind the one before.
 * @param write makes one of them: 0 is the whole record, `last` the shortest
 */
export function inVersions(last: number, write: (version: number) => OutgoingRecord, version = 0): OutgoingRecord {
  const record = write(version)
  if (version < last && sizeInBatch(record) > surelyFits) record.shorter = () => inVersions(last, write, version + 1)
  return record
}
