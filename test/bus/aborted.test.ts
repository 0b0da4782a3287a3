import { expect, test } from 'vitest'
import type { BatchRecords } from '../../src/bus/batches/record-batch.ts'
import { committedBatches } from '../../src/bus/read/fetch.ts'
import type { AbortedTransaction } from '../../src/bus/read/fetch-api.ts'

/**
 * Builds a log from a line with one entry for each offset, each in its own batch: `a1` is a record of producer 1 in an
 * aborted transaction, `c1` in a committed one, `-1` and `+1` are abort and commit markers, `n1` is a record outside
 * any transaction.
 */
function logOf(line: string, from = 0): BatchRecords[] {
  return line.split(' ').map((entry, i) => {
    const [kind, producerId] = [entry[0]!, BigInt(entry.slice(1))]
    const isControl = '+-'.includes(kind)
    const key = isControl ? Buffer.from([0, 0, 0, kind === '+' ? 1 : 0]) : Buffer.from(entry)
    const record = { offset: from + i, timestamp: 0, key, value: null, headers: {} }
    return { isControl, producerId, inTransaction: kind !== 'n', records: [record] }
  })
}

const transaction = (producerId: string, firstOffset: number): AbortedTransaction => ({
  producerId: BigInt(producerId),
  firstOffset,
})

/** The entries that a reader of committed records gets, from all batches of an answer at once, and from one after the other. */
function readable(line: string, aborted: AbortedTransaction[], from = 0): string[] {
  const batches = logOf(line, from)
  const textOf = (left: BatchRecords[]) =>
    left.flatMap(({ records }) => records.map(({ key }) => String(key))).join(' ')
  const next = committedBatches(aborted)
  return [textOf(committedBatches(aborted)(batches)), textOf(batches.flatMap(batch => next([batch])))]
}

test.each<[string, string, AbortedTransaction[], string, from?: number]>([
  ['nothing was aborted', 'c1 n2 c1 +1', [], 'c1 n2 c1'],
  ['one transaction was aborted', 'n2 a1 n2 a1 -1 n2', [transaction('1', 1)], 'n2 n2 n2'],
  ['two aborted ones are interleaved', 'a1 a2 a1 -1 a2 c3 -2 +3', [transaction('1', 0), transaction('2', 1)], 'c3'],
  [
    'one aborted transaction lies within another',
    'a1 a2 -2 c2 a1 +2 -1',
    [transaction('1', 0), transaction('2', 1)],
    'c2',
  ],
  [
    'the list of aborted ones is not sorted',
    'a1 a2 a1 -1 c1 +1 a2 -2',
    [transaction('2', 1), transaction('1', 0)],
    'c1',
  ],
  [
    'a producer aborts, commits, and aborts again',
    'a1 -1 c1 c1 +1 a1 a1 -1 c1 +1',
    [transaction('1', 0), transaction('1', 5)],
    'c1 c1 c1',
  ],
  ['a producer aborts twice in a row', 'a1 -1 a1 -1 c1 +1', [transaction('1', 2), transaction('1', 0)], 'c1'],
  [
    'another producer commits in between',
    'c2 a1 c2 -1 c2 +2 a1 -1',
    [transaction('1', 1), transaction('1', 6)],
    'c2 c2 c2',
  ],
  ['the abort marker is not in the fetch', 'c2 a1 +2 a1', [transaction('1', 1)], 'c2'],
  [
    'the fetch starts within two open transactions',
    'a1 a2 c3 a2 -2 c2 a1 +2 -1 c1 +1 +3',
    [transaction('2', 80), transaction('1', 50)],
    'c3 c2 c1',
    100,
  ],
  ['offsets differ in their number of digits', 'c1 +1 a1 -1', [transaction('1', 10)], 'c1', 8],
  ["another producer's abort marker lies between", 'a1 a2 -2 a1 -1', [transaction('1', 0), transaction('2', 1)], ''],
])('a fetch returns only committed records if %s', (_, line, aborted, expected, from) => {
  expect(readable(line, aborted, from)).toEqual([expected, expected])
})
