import fc from 'fast-check'
import { expect, test } from 'vitest'
import { RowHeap } from '../../../src/worker/later/row-heap.ts'
import type { Row } from '../../../src/worker/later/rows.ts'

const step = fc.oneof(
  { weight: 4, arbitrary: fc.record({ push: fc.array(fc.nat(100), { minLength: 1, maxLength: 20 }) }) },
  { weight: 3, arbitrary: fc.record({ pop: fc.integer({ min: 1, max: 30 }) }) },
  { weight: 1, arbitrary: fc.record({ divisor: fc.integer({ min: 1, max: 7 }) }) },
)

test('the first of what waits is the one with the least time, however much comes, goes, or ends in between', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 20 }), steps => {
      const times: number[] = []
      const timeOf = (row: Row | undefined) => (row === undefined ? undefined : times[row])
      let waiting: Row[] = []
      const knownTimeOf = (row: Row) => {
        if (!waiting.includes(row)) throw new Error(`${row} does not wait`)
        return times[row]!
      }
      const heap = new RowHeap((one, other) => knownTimeOf(one) < knownTimeOf(other))
      const least = () => (waiting.length > 0 ? Math.min(...waiting.map(row => times[row]!)) : undefined)
      for (const step of steps) {
        if ('push' in step)
          for (const time of step.push) {
            const row = times.push(time) - 1
            waiting.push(row)
            heap.push(row)
          }
        else if ('pop' in step)
          for (let i = 0; i < step.pop; i++) {
            const row = heap.pop()
            expect(timeOf(row)).toBe(least())
            waiting = waiting.filter(other => other !== row)
          }
        else {
          const isKept = (row: Row) => row % step.divisor !== 1
          waiting = waiting.filter(isKept)
          heap.keep(isKept)
        }
        expect([heap.size, timeOf(heap.first)]).toEqual([waiting.length, least()])
        expect([...heap].sort((a, b) => a - b)).toEqual(waiting)
      }
      const left = waiting.map(row => times[row]!).sort((a, b) => a - b)
      const rest = Array.from({ length: waiting.length }, () => timeOf(heap.pop()))
      expect(rest).toEqual(left)
      expect([heap.pop(), heap.first, heap.size]).toEqual([undefined, undefined, 0])
    }),
  )
})
