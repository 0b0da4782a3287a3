import type { Change, Withdrawal } from '../../src/control/change.ts'

type Pause = Extract<Change, { effect: 'paused' }>

/** Builds what somebody writes who pauses something: the topic `bulk` unless told otherwise. */
export function buildPause(overrides: Partial<Pause> = {}): Pause {
  const scope = { effect: 'paused', kind: 'topic', name: 'bulk' } as const
  return { ...scope, begins: true, by: 'olena', at: 0, until: null, reason: null, ...overrides }
}

export const buildResume = (overrides: Partial<Pause> = {}) => buildPause({ ...overrides, begins: false })

/** Builds what somebody writes who withdraws something: the campaign `spring` unless told otherwise. */
export function buildWithdrawal(overrides: Partial<Withdrawal> = {}): Withdrawal {
  const scope = { effect: 'withdrawn', kind: 'campaign', name: 'spring' } as const
  const until = Date.UTC(2100, 0)
  return { ...scope, begins: true, by: 'olena', at: 0, until, reason: 'wrong price', ...overrides }
}
