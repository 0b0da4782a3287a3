import { byTopic, consumerId, isolationLevels, listOffsets, noEpoch, partitionsIn } from '../cluster/apis.ts'
import type { Brokers, Target } from '../cluster/brokers.ts'
import { protocolError } from '../cluster/errors.ts'
import type { LogEnds } from '../driver.ts'
import { PartitionMap } from '../partitions.ts'
import type { From, Isolation, TopicPartition } from '../port.ts'

/** Special timestamps of ListOffsets. */
const latest = -1
const earliest = -2

/** The end of the committed records, which is the last stable offset; or of those of open transactions too. */
export function endOf(brokers: Brokers, tp: TopicPartition, isolation: Isolation): Promise<number> {
  return offsetOf(brokers, tp, latest, isolation)
}

/**
 * The offset of a position; for `latest`, the end. For a timestamp, that of the first record that is not older, or the end.
 */
export async function offsetAt(
  brokers: Brokers,
  tp: TopicPartition,
  from: From,
  isolation: Isolation = 'committed',
): Promise<number> {
  if (typeof from === 'object') {
    const { low, high } = await logEnds(brokers, tp)
    return from.offset >= low && from.offset <= high ? from.offset : low
  }
  if (from === 'earliest') return offsetOf(brokers, tp, earliest)
  const end = await endOf(brokers, tp, isolation)
  if (from === 'latest') return end
  const offset = await offsetOf(brokers, tp, Math.max(0, Math.ceil(from)))
  return offset >= 0 ? offset : end // the end was read first, so that it precedes any newer record
}

/** The log's first offset and the one after its last, records of open transactions included. */
export async function logEnds(brokers: Brokers, tp: TopicPartition): Promise<LogEnds> {
  const [ends] = await logEndsAt(brokers, await brokers.leader(tp), [tp])
  if (ends instanceof Error) throw ends
  return ends!
}

/**
 * Ends of the logs that one broker leads, in order; an Error for a partition that it refuses.
 * @throws Error when it does not answer
 */
export async function logEndsAt(
  brokers: Brokers,
  node: number,
  tps: readonly TopicPartition[],
): Promise<(LogEnds | Error)[]> {
  const lows = await listedOffsets(brokers, { node }, tps, earliest, 'uncommitted')
  const highs = await listedOffsets(brokers, { node }, tps, latest, 'uncommitted')
  return tps.map((tp, i) => {
    const [low, high] = [lows[i]!, highs[i]!]
    if (low instanceof Error) return low
    return high instanceof Error ? high : { ...tp, low, high }
  })
}

/** The timestamp of each partition's first committed record; null where there is none, or where no leader tells it. */
export async function firstTimes(brokers: Brokers, tps: readonly TopicPartition[]): Promise<(number | null)[]> {
  const times = new PartitionMap<number>()
  const led = await Promise.all(tps.map(async tp => ({ tp, leader: await brokers.leader(tp).catch(() => null) })))
  const ofNode = async ([node, of]: [number | null, typeof led]) => {
    if (node === null) return
    const wanted = of.map(({ tp }) => tp)
    const found = await listed(brokers, { node }, wanted, 0, 'committed').catch(() => new PartitionMap<Listed>())
    for (const tp of wanted) {
      const one = found.get(tp)
      if (one && !one.errorCode && one.timestamp >= 0n) times.set(tp, Number(one.timestamp))
    }
  }
  await Promise.all([...Map.groupBy(led, ({ leader }) => leader)].map(ofNode))
  return tps.map(tp => times.get(tp) ?? null)
}

/** @throws ProtocolError as the leader answers */
async function offsetOf(
  brokers: Brokers,
  tp: TopicPartition,
  timestamp: number,
  isolation: Isolation = 'committed',
): Promise<number> {
  const [offset] = await listedOffsets(brokers, { leader: tp }, [tp], timestamp, isolation)
  if (offset instanceof Error) throw offset
  return offset!
}

/** The offset of each partition, in order; an Error for a partition that the broker refuses. */
async function listedOffsets(
  brokers: Brokers,
  target: Target,
  tps: readonly TopicPartition[],
  timestamp: number,
  isolation: Isolation,
): Promise<(number | Error)[]> {
  const found = await listed(brokers, target, tps, timestamp, isolation)
  return tps.map(tp => {
    const one = found.get(tp)
    if (!one) return new Error(`the broker's answer left out ${tp.topic}/${tp.partition}`)
    return one.errorCode ? protocolError(one.errorCode) : Number(one.offset)
  })
}

/** A partition in an answer to ListOffsets. */
interface Listed {
  errorCode: number
  timestamp: bigint
  offset: bigint
}

async function listed(
  brokers: Brokers,
  target: Target,
  tps: readonly TopicPartition[],
  timestamp: number,
  isolation: Isolation,
): Promise<PartitionMap<Listed>> {
  const different = new PartitionMap<TopicPartition>() // brokers refuse a partition that is named twice
  for (const tp of tps) different.set(tp, tp)
  const topics = byTopic([...different], ({ partition }) => ({
    partitionIndex: partition,
    currentLeaderEpoch: noEpoch,
    timestamp: BigInt(timestamp),
  }))
  const request: [number, number, typeof topics] = [consumerId, isolationLevels[isolation], topics]
  const answer = await brokers.ask(target, listOffsets, request)
  const found = new PartitionMap<Listed>()
  for (const one of partitionsIn(answer.topics)) found.set(one, one)
  return found
}
