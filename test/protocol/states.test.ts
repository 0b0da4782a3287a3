import { describe, expect, test } from 'vitest'
import { pollStateOf } from '../../src/protocol/index.ts'
import type { State } from '../../src/vocabulary/lists.ts'

const statuses: Record<State, string[]> = {
  PENDING: ['ACCEPTED', 'QUEUED', 'ROUTING'],
  DELIVERED: ['DELIVERED', 'PARTIALLY DELIVERED', 'READ', 'REPLIED'],
  FAILED: [
    ...['DELETED', 'EXPIRED', 'FILTERED', 'INVALID DESTINATION ADDRESS', 'INVALID SOURCE ADDRESS', 'NO ROUTE'],
    ...['REJECTED', 'SIM FULL', 'UNDELIVERABLE'],
  ],
  UNKNOWN: ['UNKNOWN', 'DELIVERED TO HANDSET', 'UNDELIVERED', '', 'constructor'],
}

describe.each(Object.entries(statuses))('the state %s', (state, texts) => {
  test.each(texts)('belongs to the status "%s"', text => {
    expect(pollStateOf(text)).toEqual({ state, final: state === 'DELIVERED' || state === 'FAILED' })
  })
})

test.each(['partially delivered', 'PARTIALLY_DELIVERED', ' Partially  Delivered '])(
  'case, spaces and underscores make no difference: "%s"',
  text => {
    expect(pollStateOf(text)).toEqual({ state: 'DELIVERED', final: true })
  },
)

describe('success', () => {
  test.each(['', 'SEEN', 'NO ANSWER', 'constructor'])('decides the state if the status is "%s"', text => {
    expect(pollStateOf(text, true)).toEqual({ state: 'DELIVERED', final: true })
    expect(pollStateOf(text, false)).toEqual({ state: 'FAILED', final: true })
    expect(pollStateOf(text, null)).toEqual({ state: 'UNKNOWN', final: false })
  })

  test.each([
    ['EXPIRED', 'FAILED'],
    ['READ', 'DELIVERED'],
    ['QUEUED', 'PENDING'],
    ['UNKNOWN', 'UNKNOWN'],
  ])('does not change the state of the status %s', (text, state) => {
    for (const success of [true, false]) expect(pollStateOf(text, success).state).toBe(state)
  })
})
