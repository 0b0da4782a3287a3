import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { Session } from '../../../src/bus/port.ts'
import type { LaterFacts } from '../../../src/records/later.ts'
import { Rows } from '../../../src/worker/later/rows.ts'
import { memoOf, type Placement, TablePlace } from '../../../src/worker/later/table-place.ts'
import { WaitingRows } from '../../../src/worker/later/waiting-rows.ts'
import { ManualClock } from '../../support/clock.ts'

const facts: LaterFacts = {
  ...{ account: 'default', type: 'sms', correlationId: null, tenant: null, campaign: null, country: null },
  ...{ notBefore: null, since: 0, timestamp: 0, expiresAt: 0, copyAt: null },
}
const keyOf = (offset: number) => ({ topic: 'bulk', partition: 9, offset, id: 1n })
const minute = 60_000

/** The place of partition 9 of the commands, on partition 4 of the table. */
function startPlace(placement: Partial<Placement> = {}) {
  const clock = new ManualClock()
  let memo: string | null = null
  const remember = (text: string) => {
    memo = text
  }
  const session = { topic: 'bulk', partition: 9, uncheckedUntil: 0, remember } as unknown as Session
  const rows = new WaitingRows(session, new Rows())
  const place = new TablePlace(session, rows, clock, 'later', {
    ...{ identity: 'this', partition: 4, strays: new Map(), low: 0 },
    ...placement,
  })
  return {
    ...{ clock, rows, place },
    memo: () => memo,
    /** Lets a computation of the lowest offset end that is under way, and another begin and end. */
    async raise() {
      for (let i = 0; i < 2_000; i++) {
        if (i % 1_000 === 0) await clock.pass(minute)
        place.raise()
      }
    },
  }
}

test('the next owner is told to begin at the first command that waits, whatever begins and ends to wait', async () => {
  const step = fc.oneof(
    fc.record({ kind: fc.constant('begins' as const), skip: fc.nat(5) }),
    fc.record({ kind: fc.constant('ends' as const), which: fc.nat() }),
    fc.record({ kind: fc.constant('looks' as const), times: fc.nat(20) }),
    fc.record({ kind: fc.constant('anew' as const) }),
  )
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 40 }), async steps => {
      const { clock, rows, place, raise, memo } = startPlace()
      const waiting = new Map<number, number>()
      let [next, command] = [0, 0]
      for (const one of steps) {
        await clock.pass(5_000)
        if (one.kind === 'begins') {
          next += one.skip
          waiting.set(rows.add(keyOf(command++), facts, next), next)
          place.written(next++)
        } else if (one.kind === 'ends') {
          const row = [...waiting.keys()][one.which % waiting.size]
          if (row === undefined) continue
          rows.finish(row)
          waiting.delete(row)
        } else if (one.kind === 'looks') for (let i = 0; i < one.times; i++) place.raise()
        else if (waiting.size === 0) next = 0
        place.remember()
        const from = memo()!.split(':')[2]
        if (waiting.size === 0) expect(memo()).toBe(memoOf('this', null))
        else expect(Number(from)).toBeLessThanOrEqual(Math.min(...waiting.values()))
      }
      await raise()
      place.remember()
      const low = Math.min(...waiting.values())
      expect(memo()).toBe(memoOf('this', waiting.size === 0 ? null : { partition: 4, low }))
    }),
  )
})

test('the next owner reads the table while it is not known where a command waits', () => {
  const { place, memo } = startPlace({ low: 7 })
  place.unwritten++
  place.remember()
  expect(memo()).toBe(memoOf('this', { partition: 4, low: 7 }))
})

test('nothing is remembered while commands wait on other partitions of the table, where they are looked for', () => {
  const { place, memo } = startPlace({ strays: new Map([['bulk/9@3#1', 7]]) })
  place.remember()
  expect(memo()).toBe(null)
  expect([place.of(keyOf(3)), place.of(keyOf(4))]).toEqual([
    { topic: 'later', partition: 7 },
    { topic: 'later', partition: 4 },
  ])
  place.move({ identity: 'other', partition: 4, strays: new Map(), low: 0 })
  expect([place.identity, memo()]).toEqual(['other', memoOf('other', null)])
})
