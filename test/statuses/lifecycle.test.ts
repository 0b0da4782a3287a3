import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { StatusEvent } from '../../src/records/generated.ts'
import { lifecycleAfter, newLifecycle, stateOf, verdictOf } from '../../src/statuses/lifecycle.ts'
import { buildStatusEvent } from '../support/status-events.ts'

const statuses = [
  'ACCEPTED',
  'QUEUED',
  'ROUTING',
  'DELIVERED',
  'PARTIALLY DELIVERED',
  'READ',
  'replied',
  'EXPIRED',
  'UNDELIVERABLE',
  'SIM_FULL',
  'REJECTED',
  'UNKNOWN',
  'a word of next year',
]

/** Any status event of one message: callbacks and polls, of any status, told at any time. */
const anyStatusEvent: fc.Arbitrary<StatusEvent> = fc
  .record({
    status: fc.constantFrom(...statuses),
    verified: fc.boolean(),
    receivedAt: fc.integer({ min: 1, max: 20 }),
    updatedAt: fc.option(fc.integer({ min: 1, max: 20 })),
    replies: fc.constantFrom<StatusEvent['replies'][]>([], [{ datetime: null, message: 'yes', media: null }]),
    givenUp: fc.boolean(),
  })
  .map(({ givenUp, ...event }) =>
    buildStatusEvent(
      givenUp && event.status === 'UNKNOWN' ? { ...event, final: true, source: 'POLL', verified: true } : event,
    ),
  )

const lifeOf = (events: readonly StatusEvent[]) => events.reduce(lifecycleAfter, newLifecycle)
const stateThrough = (events: readonly StatusEvent[]) => stateOf(lifeOf(events))
const stateThroughTexts = (...statuses: string[]) => stateThrough(statuses.map(status => buildStatusEvent({ status })))

describe('the life cycle of a message', () => {
  it('does not depend on the order and repetition of its events', () => {
    const shuffled = fc
      .array(anyStatusEvent, { maxLength: 7 })
      .chain(events =>
        fc.tuple(
          fc.constant(events),
          fc.shuffledSubarray(events, { minLength: events.length }),
          fc.array(fc.nat(Math.max(0, events.length - 1)), { maxLength: events.length && 5 }),
        ),
      )
    fc.assert(
      fc.property(shuffled, ([events, otherOrder, repeats]) => {
        const again = [...otherOrder, ...repeats.map(i => events[i]!)]
        expect(lifeOf(again)).toEqual(lifeOf(events))
      }),
      { numRuns: 2000 },
    )
  })

  it('keeps its verdict, except for a more conclusive one', () => {
    const rank = [null, 'UNKNOWN', 'FAILED', 'DELIVERED']
    fc.assert(
      fc.property(fc.array(anyStatusEvent, { maxLength: 6 }), anyStatusEvent, (events, late) => {
        const verified = { ...late, verified: true }
        const before = verdictOf(lifeOf(events.map(event => ({ ...event, verified: true }))))
        const afterwards = verdictOf(
          [...events.map(event => ({ ...event, verified: true })), verified].reduce(lifecycleAfter, newLifecycle),
        )
        expect(rank.indexOf(afterwards)).toBeGreaterThanOrEqual(rank.indexOf(before))
      }),
      { numRuns: 1000 },
    )
  })

  it('records that a delivered message was read and answered, before or after', () => {
    expect(stateThroughTexts('DELIVERED', 'READ', 'REPLIED')).toMatchObject({
      stage: 'delivered',
      read: true,
      replied: true,
    })
    expect(stateThroughTexts('READ', 'DELIVERED')).toMatchObject({ stage: 'delivered', read: true, replied: false })
    const refuted = buildStatusEvent({ status: 'READ', success: false, state: 'FAILED' })
    expect(stateThrough([refuted])).toMatchObject({ stage: 'failed', read: false })
    const reply = buildStatusEvent({ replies: [{ datetime: null, message: 'yes', media: null }] })
    expect(stateThrough([reply])).toMatchObject({ read: true, replied: true })
  })

  it("with its own hook ignores events at the account's address", () => {
    fc.assert(
      fc.property(fc.array(anyStatusEvent, { maxLength: 7 }), events => {
        expect(stateThrough(events)).toEqual(stateThrough(events.filter(({ verified }) => verified)))
      }),
    )
    expect(verdictOf(lifeOf([buildStatusEvent({ verified: false })]))).toBeNull()
  })

  it("without its own hook takes its verdict from the account's address, until a verified one comes", () => {
    const rumour = buildStatusEvent({ status: 'DELIVERED', verified: false })
    const told = buildStatusEvent({ status: 'UNDELIVERABLE', source: 'POLL' })
    expect(verdictOf(lifeOf([rumour]), { hooked: false })).toBe('DELIVERED')
    expect(verdictOf(lifeOf([told, rumour]), { hooked: false })).toBe('FAILED')
    expect(verdictOf(lifeOf([rumour]), { hooked: null })).toBeNull()
  })

  it('that was given up accepts a late verdict', () => {
    const givenUp = buildStatusEvent({ status: 'UNKNOWN', final: true, source: 'POLL' })
    expect(verdictOf(lifeOf([givenUp]))).toBe('UNKNOWN')
    expect(verdictOf(lifeOf([givenUp, buildStatusEvent()]))).toBe('DELIVERED')
    expect(verdictOf(lifeOf([buildStatusEvent({ status: 'EXPIRED' }), givenUp]))).toBe('FAILED')
  })

  it('has the earliest reported time of its stage', () => {
    const late = buildStatusEvent({ updatedAt: 900 })
    const early = buildStatusEvent({ updatedAt: 700, status: 'READ' })
    expect(stateThrough([late, early])).toMatchObject({ since: 700, status: 'READ' })
  })
})
