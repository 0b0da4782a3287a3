import type { Change, Withdrawal } from '../../src/control/change.ts'

type Pause = Extract<Change, { effect: 'paused' }>

/** Builds the change that pauses something, by default the topic `bulk`. */
export function buildPause(overrides: Partial<Pause> = {}): Pause {
  const scope = { effect: 'paused', kind: 'topic', name: 'bulk' } as const
  return { ...scope, begins: true, by: 'olena', at: 0, until: null, reason: null, ...overrides }
}

export const buildResume = (overrides: Partial<Pause> = {}) => buildPause({ ...overrides, begins: false })

/** Builds the change that withdraws something, by default the campaign `spring`. */
export function buildWithdrawal(overrides: Partial<Withdrawal> = {}): Withdrawal {
  const scope = { effect: 'withdrawn', kind: 'campaign', name: 'spring' } as const
  const until = Date.UTC(2100, 0)
  return { ...scope, begins: true, by: 'olena', at: 0, until, reason: 'wrong price', ...overrides }
}
