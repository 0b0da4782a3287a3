import { MemoryBroker } from '../../src/bus/memory/broker.ts'
import type { BusRecord, OutgoingRecord, TopicPartition } from '../../src/bus/port.ts'

const rottenHeader = 'rotten'

/** A record that, read from a RottenBroker, stands for a batch that cannot be read. */
export function buildRotten(topic: string, overrides: Partial<OutgoingRecord> = {}): OutgoingRecord {
  return { topic, key: null, value: Buffer.from('rotten'), headers: { [rottenHeader]: '1' }, ...overrides }
}

/** A broker in memory, some of whose batches cannot be read. */
export class RottenBroker extends MemoryBroker {
  override read(tp: TopicPartition, from: number, most: number): { records: BusRecord[]; next: number } {
    const { records, next } = super.read(tp, from, most)
    return { records: records.map(record => (rottenHeader in record.headers ? rotten(record) : record)), next }
  }
}

const rotten = ({ offset, timestamp }: BusRecord): BusRecord => ({
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
