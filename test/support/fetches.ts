import type { BusRecord } from '../../src/bus/port.ts'
import { type Fetch, fetchCommitted } from '../../src/bus/read/fetch.ts'
import type { FetchedPartition } from '../../src/bus/read/fetch-api.ts'
import { type FakeLog, fetched } from './fake-cluster.ts'

export const MiB = 1024 * 1024
export const ample = { waitMs: 0, partitionBytes: 4096, roomPerPartition: 16 * MiB }

/** A broker that answers every fetch with these partitions, by default partition 0. */
export const answering =
  (...partitions: Partial<FetchedPartition>[]): Fetch =>
  async () => ({ partitions: partitions.map(one => fetched({ topic: 'topic', partition: 0 }, one)) })

/** Reads the records of one fetched partition, from an offset on. */
export const read = (answered: Partial<FetchedPartition>, offset = 0) => readFrom(answering(answered), offset)

export const readBytes = (bytes: Buffer, offset?: number) => read({ bytes }, offset)

export async function readFrom(broker: Fetch, offset = 0, limits = ample) {
  const [found] = await readPartitions(broker, [0], offset, limits)
  if (!found?.ok) throw new Error('nothing was read', { cause: found?.error })
  return found
}

/** The result for each partition; undefined: nothing was fetched. */
export async function readPartitions(broker: Fetch, partitions: number[], offset = 0, limits = ample) {
  const positions = partitions.map(partition => ({ tp: { topic: 'topic', partition }, offset }))
  const found = await fetchCommitted(broker, positions, limits)
  return positions.map(position => found.get(position))
}

/** Reads a log to its end, in as many fetches as it takes. */
export async function readAll(log: FakeLog, offset: number, end: number, limits = ample, onFetch = () => {}) {
  const records: BusRecord[] = []
  const broker: Fetch = async ({ partitions: [first], partitionBytes }) => {
    onFetch()
    const bytes = log.bytes(first!.offset, partitionBytes)
    return { partitions: [fetched(first!.tp, { highWatermark: log.high, bytes })] }
  }
  for (let next = offset; next < end; ) {
    const found = await readFrom(broker, next, limits)
    if (found.next <= next) throw new Error(`no way past offset ${next}`)
    records.push(...found.records)
    next = found.next
  }
  return records
}

/** The offsets of records, with ranges of unreadable ones such as "3-5 lost". */
export const shape = (records: readonly BusRecord[]) =>
  records.map(({ offset, unreadable }) => (unreadable ? `${offset}-${unreadable.lastOffset} lost` : offset))

export const offsetsOf = (records: readonly BusRecord[]) => records.map(({ offset }) => offset)
export const range = (from: number, count: number) => Array.from({ length: count }, (_, i) => from + i)
