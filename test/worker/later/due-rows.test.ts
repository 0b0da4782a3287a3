import fc from 'fast-check'
import { expect, test } from 'vitest'
import { DueRows } from '../../../src/worker/later/due-rows.ts'
import { type Row, Rows } from '../../../src/worker/later/rows.ts'

const facts = {
  ...{ account: 'default', type: 'sms', correlationId: null, tenant: null, campaign: null, country: null },
  ...{ notBefore: null, since: 0, timestamp: 0, expiresAt: 0, copyAt: null },
}
const step = fc.oneof(
  fc.record({ put: fc.array(fc.oneof(fc.nat(8), fc.nat(1_000)), { minLength: 1, maxLength: 10 }) }),
  fc.record({ pop: fc.integer({ min: 1, max: 8 }), returns: fc.boolean() }),
)

test('what is due is read in passes over the table: always the next one behind the last, then from its beginning', () => {
  const all = new Rows()
  fc.assert(
    fc.property(fc.array(step, { maxLength: 30 }), steps => {
      const due = new DueRows(all)
      let waiting: Row[] = []
      let last = -1
      const next = () => {
        const offsets = waiting.map(row => all.offset(row))
        const ahead = offsets.filter(offset => offset > last)
        return Math.min(...(ahead.length > 0 ? ahead : offsets))
      }
      const rowAt = (offset: number) => all.take({ topic: 'bulk', partition: 0, offset: 0, id: 1n }, facts, offset)
      const ever: number[] = []
      for (const step of steps) {
        if ('put' in step)
          for (const drawn of step.put) {
            if (ever.includes(drawn)) continue // each offset is that of one record
            ever.push(drawn)
            const row = rowAt(drawn)
            due.put(row)
            waiting.push(row)
          }
        else
          for (let i = 0; i < step.pop && waiting.length > 0; i++) {
            const expected = next()
            const row = due.pop()!
            expect(all.offset(row)).toBe(expected)
            waiting = waiting.filter(other => other !== row)
            last = expected
            if (!step.returns) continue
            due.put(row) // it was not released, so it is read again when all others were
            waiting.push(row)
          }
        expect(due.size).toBe(waiting.length)
        expect(due.queues.flatMap(queue => [...queue]).sort()).toEqual([...waiting].sort())
      }
    }),
  )
})
