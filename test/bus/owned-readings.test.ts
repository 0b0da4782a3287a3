import { expect, test } from 'vitest'
import { BusUnavailable } from '../../src/bus/port.ts'
import type { Reading } from '../../src/bus/read/reading.ts'
import { OwnedReadings } from '../../src/bus/session/owned-readings.ts'
import type { Ownership } from '../../src/bus/session/ownership.ts'

const tp = { topic: 'commands', partition: 3 }

/** Readings of a process, with the calls that they make. */
function setUp() {
  const calls: unknown[] = []
  const read: Reading[] = []
  const forgotten: Reading[] = []
  const note = (name: string) => (told: object, error?: Error) => calls.push([name, told, ...(error ? [error] : [])])
  const ownership = { batch: note('batch'), cut: note('cut'), gone: note('gone') } as unknown as Ownership
  const fetcher = { read: (one: Reading) => void read.push(one), forget: (one: Reading) => void forgotten.push(one) }
  return { readings: new OwnedReadings(fetcher, ownership), read, forgotten, calls }
}

test('a partition is read from where its session seeks, while it is not paused, by later sessions too', () => {
  const { readings, read } = setUp()
  const states: unknown[] = []
  const state = () => states.push([read.at(-1)!.tp, read.at(-1)!.offset, read.at(-1)!.paused])
  const cursor = readings.cursor(tp)
  for (const change of [cursor.pause, () => cursor.seek(7), cursor.resume, () => readings.cursor(tp).seek(9)]) {
    change()
    state()
  }
  expect(states).toEqual([
    [tp, 0, true],
    [tp, 7, true],
    [tp, 7, false],
    [tp, 9, false],
  ])
  expect(new Set(read).size).toBe(1)
})

test('what is read is given to the owner of the partition', () => {
  const { readings, read, calls } = setUp()
  readings.cursor(tp).resume()
  const ends = { ...tp, low: 2, high: 9 }
  const error = new BusUnavailable('there is no such partition')
  read[0]!.take({ records: [], next: 8, highWatermark: 9 }, 5)
  read[0]!.cut!(ends)
  read[0]!.gone!(error)
  expect(calls).toEqual([
    ['batch', { ...tp, fetchedOffset: 5, records: [], nextOffset: 8, highWatermark: 9 }],
    ['cut', ends],
    ['gone', tp, error],
  ])
})

test('partitions that cannot be read are told with the reason, and none is read once the process has left', () => {
  const { readings, read, forgotten } = setUp()
  for (const partition of [0, 1]) readings.cursor({ topic: 'commands', partition }).resume()
  expect(readings.unread(reading => (reading.tp.partition === 1 ? 'no broker answers' : null))).toEqual([
    'commands/1 cannot be read now: no broker answers',
  ])
  readings.close()
  expect(forgotten).toEqual(read)
})
