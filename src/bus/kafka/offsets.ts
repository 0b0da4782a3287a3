import { PartitionMap } from '../partition-map.ts'
import type { From, TopicPartition } from '../port.ts'
import type { LogEnds } from '../session/driver.ts'
import type { Brokers } from '../wire/brokers.ts'
import { protocolError } from '../wire/errors.ts'
import { earliest, type ListedOffset, latest, listOffsets } from '../wire/offset-apis.ts'

const limitMs = 10_000

/** The last stable offset: the end of what readers of committed records may read. */
export function stableEndOf(brokers: Brokers, tp: TopicPartition): Promise<number> {
  return offsetOf(brokers, tp, latest, true)
}

/** The end of the partition, open transactions included. */
export function endOf(brokers: Brokers, tp: TopicPartition): Promise<number> {
  return offsetOf(brokers, tp, latest, false)
}

/** `latest` is the last stable offset. */
export async function offsetAt(brokers: Brokers, tp: TopicPartition, from: From): Promise<number> {
  if (typeof from === 'object') return withinLog(await logEnds(brokers, tp), from.offset)
  if (from === 'earliest') return offsetOf(brokers, tp, earliest, true)
  return from === 'latest' ? stableEndOf(brokers, tp) : firstOffset(brokers, tp, from)
}

function withinLog({ low, high }: LogEnds, offset: number): number {
  return offset >= low && offset <= high ? offset : low
}

/** The first offset of a record of at least this time (milliseconds since 1970), or the end of what may be read. */
export async function firstOffset(brokers: Brokers, tp: TopicPartition, timestamp: number): Promise<number> {
  const end = await stableEndOf(brokers, tp)
  const offset = await offsetOf(brokers, tp, Math.max(0, Math.ceil(timestamp)), true)
  return offset >= 0 ? offset : end // no record was that young; what has come since is
}

/** The log's first offset and the one after its last, records of open transactions included. */
export async function logEnds(brokers: Brokers, tp: TopicPartition): Promise<LogEnds> {
  const [ends] = await logEndsAt(brokers, await brokers.leader(tp), [tp])
  if (ends instanceof Error) throw ends
  return ends!
}

/**
 * The ends of logs that one broker leads, in their order; an Error where it refuses a partition.
 * @throws Error when it does not answer
 */
export async function logEndsAt(
  brokers: Brokers,
  node: number,
  tps: readonly TopicPartition[],
): Promise<(LogEnds | Error)[]> {
  const different = new PartitionMap<TopicPartition>() // brokers refuse a partition that is named twice
  for (const tp of tps) different.set(tp, tp)
  const listed = async (timestamp: number) => {
    const request = { tps: [...different], timestamp, committed: false }
    const { offsets } = await brokers.ask({ node }, listOffsets, request, { limitMs })
    const found = new PartitionMap<ListedOffset>()
    for (const one of offsets) found.set(one, one)
    return found
  }
  const lows = await listed(earliest)
  const highs = await listed(latest)
  return tps.map(tp => {
    const low = lows.get(tp)
    const high = highs.get(tp)
    if (!low || !high) return new Error(`the broker's answer left out ${tp.topic}/${tp.partition}`)
    const errorCode = low.errorCode || high.errorCode
    return errorCode ? protocolError(errorCode) : { ...tp, low: low.offset, high: high.offset }
  })
}

/** @throws ProtocolError as the leader answers */
async function offsetOf(brokers: Brokers, tp: TopicPartition, timestamp: number, committed: boolean): Promise<number> {
  const { offsets } = await brokers.ask({ leader: tp }, listOffsets, { tps: [tp], timestamp, committed }, { limitMs })
  return offsets[0]!.offset
}
