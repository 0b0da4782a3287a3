import type { BusRecord, TopicPartition } from '../bus/port.ts'

/** A record and where it came from: the one of a command, or one that cannot be read. */
export interface Origin extends TopicPartition {
  record: BusRecord
}
