import { allPartitions, partitionsOf } from './partitions.ts'
import type { Bus, BusRecord, From, Needle, Query, RecordsHandler, Searched, TopicPartition } from './port.ts'

/** `ending` aborts the scan. */
type ScanOptions = Partial<Pick<Query, 'isolation' | 'ending'>>

/**
 * Delivers the records that a partition holds now, from the given position on.
 * @throws the error of `onRecords`, after which no more is delivered; the signal's reason
 */
export async function scanPartition(
  bus: Pick<Bus, 'search'>,
  tp: TopicPartition,
  from: From,
  onRecords: RecordsHandler,
  { isolation = 'committed', ending = new AbortController().signal }: ScanOptions = {},
): Promise<Searched> {
  const searched = await bus.search(tp, { from, isolation, ending, take: async records => onRecords(tp, records) })
  ending.throwIfAborted()
  return searched
}

/** Reads all partitions of a topic to their current ends. @throws Error when the topic does not exist */
export async function scanTopic(
  bus: Pick<Bus, 'search' | 'partitions'>,
  topic: string,
  onRecords: RecordsHandler,
  options?: ScanOptions,
): Promise<void> {
  const partitions = (await partitionsOf(bus, [topic])).get(topic)!
  await Promise.all(allPartitions(topic, partitions).map(tp => scanPartition(bus, tp, 'earliest', onRecords, options)))
}

/**
 * Tells whether a record matches one of the needles. However many keys are sought, a record takes the same time.
 * @param needles default: every record matches
 */
export function matcherOf(needles: readonly Needle[] | undefined): (record: BusRecord) => boolean {
  if (needles === undefined) return () => true
  const keys = new Set(needles.flatMap(needle => ('key' in needle ? needle.key.toString('latin1') : [])))
  const parts = needles.flatMap(needle => ('key' in needle ? [] : needle.bytes))
  return ({ key, value }) =>
    (keys.size > 0 && key !== null && keys.has(key.toString('latin1'))) ||
    parts.some(bytes => value?.includes(bytes) || key?.includes(bytes))
}
