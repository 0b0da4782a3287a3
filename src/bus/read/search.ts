import type { Query, Searched, TopicPartition } from '../port.ts'
import { noTime } from '../record-time.ts'
import { matcherOf } from '../scan.ts'
import { type Fetch, type FetchedRecords, fetchAnswer, type PartitionAnswer } from './fetch.ts'
import type { PartitionOffsets } from './partition-offsets.ts'
import { errorTypeOf } from './read-back-off.ts'
import { TickBudget } from './tick-budget.ts'

/** Bytes of memory for the unpacked records of all searches, and for their answers together. */
const roomInAll = 16 * 1024 * 1024
/** Answers may be compressed: this part of the room for records is requested. */
const compressed = 4

export interface PartitionSearchOptions {
  /** Fetches from the partition's leader. */
  fetch: Fetch
  logs: Pick<PartitionOffsets, 'locate' | 'end' | 'untilAnswered'>
  /** Number of searches that run now and share the memory. */
  running: () => number
}

/** Reads all records of a partition and hands over those that match. */
export async function searchLog(
  { fetch, logs, running }: PartitionSearchOptions,
  tp: TopicPartition,
  { from, until = Number.POSITIVE_INFINITY, needles, isolation, ending, pieceBytes = roomInAll, take }: Query,
): Promise<Searched> {
  const begin = await logs.locate(tp, from, isolation)
  const start = await logs.locate(tp, 'earliest')
  const logEnd = await logs.end(tp, isolation)
  const end = Number.isFinite(until) ? Math.min(logEnd, await logs.locate(tp, until, isolation)) : logEnd
  let unreadable = 0
  let since: number | null = null
  const position = { tp, offset: begin }
  let answer: PartitionAnswer | null = null
  const readOn = async (): Promise<FetchedRecords> => {
    const share = Math.min(pieceBytes, Math.ceil(roomInAll / running()))
    if (!answer?.hasMore)
      answer = await fetchAnswer(fetch, position, { waitMs: 0, partitionBytes: Math.ceil(share / compressed) })
    const fetched = await answer.read({ from: position.offset, room: share })
    if (fetched.ok) return fetched
    answer = null
    // retention deleted the offset meanwhile
    if (errorTypeOf(fetched.error) === 'OFFSET_OUT_OF_RANGE') position.offset = await logs.locate(tp, 'earliest')
    throw fetched.error
  }
  const isWanted = matcherOf(needles)
  const ticks = new TickBudget()
  while (position.offset < end && !ending.aborted) {
    const fetched = await logs.untilAnswered(tp, readOn)
    const looked = fetched.records.filter(({ offset }) => offset < end)
    if (looked[0] && since === null) since = looked[0].timestamp === noTime ? null : looked[0].timestamp
    unreadable += looked.filter(record => record.unreadable).length
    const found = looked.filter(isWanted)
    await ticks.give({ records: found, next: fetched.next }, position.offset, ({ records }) =>
      records.length > 0 ? take(records).then(() => true) : true,
    )
    if (fetched.next <= position.offset) break
    position.offset = fetched.next
  }
  return { ...tp, from: begin, until: Math.max(begin, Math.min(position.offset, end)), start, since, unreadable }
}
