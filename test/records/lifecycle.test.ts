import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { StatusEvent } from '../../src/records/generated.ts'
import { lifecycleAfter, newLifecycle, stateOf, verdictOf } from '../../src/records/lifecycle.ts'
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
  'a future status',
]

/** Any status event of one message: a callback or poll, with any status and time. */
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
  it('does not depend on the order or repetition of its events', () => {
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

  it("ignores events at the account's address if the message has its own hook", () => {
    fc.assert(
      fc.property(fc.array(anyStatusEvent, { maxLength: 7 }), events => {
        expect(stateThrough(events)).toEqual(stateThrough(events.filter(({ verified }) => verified)))
      }),
    )
    expect(verdictOf(lifeOf([buildStatusEvent({ verified: false })]))).toBeNull()
  })

  it("takes the verdict from the account's address if the message has no hook, until a verified one arrives", () => {
    const unverified = buildStatusEvent({ status: 'DELIVERED', verified: false })
    const polled = buildStatusEvent({ status: 'UNDELIVERABLE', source: 'POLL' })
    expect(verdictOf(lifeOf([unverified]), { hooked: false })).toBe('DELIVERED')
    expect(verdictOf(lifeOf([polled, unverified]), { hooked: false })).toBe('FAILED')
    expect(verdictOf(lifeOf([unverified]), { hooked: null })).toBeNull()
  })

  it('accepts a late verdict after the message was given up', () => {
    const givenUp = buildStatusEvent({ status: 'UNKNOWN', final: true, source: 'POLL' })
    expect(verdictOf(lifeOf([givenUp]))).toBe('UNKNOWN')
    expect(verdictOf(lifeOf([givenUp, buildStatusEvent()]))).toBe('DELIVERED')
    expect(verdictOf(lifeOf([buildStatusEvent({ status: 'EXPIRED' }), givenUp]))).toBe('FAILED')
  })

  it('has the earliest reported time of each stage', () => {
    const late = buildStatusEvent({ updatedAt: 900 })
    const early = buildStatusEvent({ updatedAt: 700, status: 'READ' })
    expect(stateThrough([late, early])).toMatchObject({ since: 700, status: 'READ' })
  })
})
