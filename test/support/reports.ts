import type { Report } from '../../src/fleet/report.ts'
import type { HeldAccount } from '../../src/vocabulary/holds.ts'

/** Builds the report of a worker that holds nothing back, and owns a partition. */
export function buildReport(overrides: Partial<Report> = {}): Report {
  return {
    ...{ group: 'busgate', version: '0.1.0', roles: ['worker'], startedAt: 0, reasons: [], accounts: 1 },
    ...{ held: [], polls: [], learnt: {}, stuck: [], owned: { 'busgate.commands': { 0: 1 } } },
    ...overrides,
  }
}

/** Builds an account whose key is refused. */
export function buildHeld(overrides: Partial<HeldAccount> = {}): HeldAccount {
  return { account: 'shop', reason: 'denied', since: 0, probeAt: null, waiting: 0, error: null, ...overrides }
}
