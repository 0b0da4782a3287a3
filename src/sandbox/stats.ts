import type { SandboxAccount } from './accounts.ts'
import type { CallbackCounts } from './callbacks.ts'

interface Counts {
  /** Operations in parsed envelopes; not those that a fault kept from being parsed. */
  operations: number
  /** Executions of send operations, each billed. */
  executed: number
  /** Distinct identifiers executed. */
  ids: number
  /** Identifiers executed more than once. */
  billedTwice: number
  /** Most operations of one account within any second. */
  maxOperationsInAnySecond: number
}

/** Counts since the start, in total and per account. */
export interface SandboxStats extends Counts {
  /** POSTs to the gateway's endpoints, whatever their outcome. */
  requests: number
  /** Callbacks by their end. */
  callbacks: CallbackCounts
  /** The same counts by account. */
  accounts: Record<string, Counts>
}

export function statsOf(requests: number, callbacks: CallbackCounts, accounts: SandboxAccount[]): SandboxStats {
  const each = accounts.map(countsOf)
  const sum = (pick: (counts: Counts) => number) => each.reduce((total, counts) => total + pick(counts), 0)
  return {
    requests,
    operations: sum(counts => counts.operations),
    executed: sum(counts => counts.executed),
    ids: sum(counts => counts.ids),
    billedTwice: sum(counts => counts.billedTwice),
    maxOperationsInAnySecond: Math.max(0, ...each.map(counts => counts.maxOperationsInAnySecond)),
    callbacks: { ...callbacks },
    accounts: Object.fromEntries(accounts.map((account, i) => [account.name, each[i]!])),
  }
}

function countsOf(account: SandboxAccount): Counts {
  return {
    operations: account.operations,
    ...account.executions.counts(),
    maxOperationsInAnySecond: account.received.max,
  }
}

/** A logged request, without key, phone and text. */
export interface LogEntry {
  /** ISO 8601. */
  at: string
  /** null if the key was refused. */
  account: string | null
  /** Number of operations in the envelope. */
  operations: number
  /** Refused items; a refusal of the whole envelope is in `error`. */
  refused: number
  error: string | null
  /** The fault that was caused in it. */
  fault: string | null
}
