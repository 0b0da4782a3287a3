import { allPartitions, partitionsOf } from './partitions.ts'
import type { Bus, BusRecord, From, Needle, RecordsHandler, Searched, TopicPartition } from './port.ts'

/**
 * Delivers the records that a partition holds now, from the given position on.
 * @param ending aborts
 * @throws the error of `onRecords`, after which no more is delivered; the signal's reason
 */
export async function scanPartition(
  bus: Pick<Bus, 'search'>,
  tp: TopicPartition,
  from: From,
  onRecords: RecordsHandler,
  ending: AbortSignal = new AbortController().signal,
): Promise<Searched> {
  const searched = await bus.search(tp, { from, ending, take: async records => onRecords(tp, records) })
  ending.throwIfAborted()
  return searched
}

/** Reads all partitions of a topic to their current ends. @throws Error when the topic does not exist */
export async function scanTopic(
  bus: Pick<Bus, 'search' | 'partitions'>,
  topic: string,
  onRecords: RecordsHandler,
  ending?: AbortSignal,
): Promise<void> {
  const partitions = (await partitionsOf(bus, [topic])).get(topic)!
  await Promise.all(allPartitions(topic, partitions).map(tp => scanPartition(bus, tp, 'earliest', onRecords, ending)))
}

/** Whether the record matches one of the needles. */
export function holds({ key, value }: BusRecord, needles: readonly Needle[]): boolean {
  return needles.some(needle => {
    if ('key' in needle) return key?.equals(needle.key) ?? false
    return (value?.includes(needle.bytes) ?? false) || (key?.includes(needle.bytes) ?? false)
  })
}
