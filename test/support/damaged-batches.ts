import { MemoryBroker } from '../../src/bus/memory/broker.ts'
import type { BusRecord, OutgoingRecord, TopicPartition } from '../../src/bus/port.ts'

const damagedHeader = 'damaged'

/** Builds a record that BrokerWithDamagedBatches returns as an unreadable batch. */
export function buildDamagedBatch(topic: string, overrides: Partial<OutgoingRecord> = {}): OutgoingRecord {
  return { topic, key: null, value: Buffer.from('damaged'), headers: { [damagedHeader]: '1' }, ...overrides }
}

/** An in-memory broker with some batches that cannot be read. */
export class BrokerWithDamagedBatches extends MemoryBroker {
  override read(tp: TopicPartition, from: number, most: number): { records: BusRecord[]; next: number } {
    const { records, next } = super.read(tp, from, most)
    return { records: records.map(record => (damagedHeader in record.headers ? damaged(record) : record)), next }
  }
}

const damaged = ({ offset, timestamp }: BusRecord): BusRecord => ({
  offset,
  timestamp,
  key: null,
  value: null,
  headers: {},
  unreadable: {
    code: 'BATCH_CORRUPT',
    message: `The batch at offset ${offset} cannot be read: its checksum is wrong. Have it produced again.`,
    lastOffset: offset,
  },
})
