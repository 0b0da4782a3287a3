import type { SandboxAccount } from './accounts.ts'
import type { CallbackCounts } from './callbacks.ts'

interface Counts {
  /** Operations in envelopes that were read; those that a fault kept from being read are not counted. */
  operations: number
  /** Executions of send operations, each billed. */
  executed: number
  /** Different identifiers executed. */
  ids: number
  /** Identifiers executed more than once. */
  billedTwice: number
  /** The most operations that one account sent within any second. */
  maxOperationsInAnySecond: number
}

/** Counts since the start, in all and by account. */
export interface SandboxStats extends Counts {
  /** POSTs to the gateway's endpoint, whatever became of them. */
  requests: number
  callbacks: CallbackCounts
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
    maxOperationsInAnySecond: account.received.max(),
  }
}

/** One request as the log remembers it: no key, no phone, no text. */
export interface LogEntry {
  /** ISO 8601. */
  at: string
  account: string | null
  operations: number
  /** Items refused; the whole envelope's refusal is in `error`. */
  refused: number
  error: string | null
  fault: string | null
}

export interface RequestLog {
  add(entry: LogEntry): void
  /** Oldest first. */
  list(): LogEntry[]
}

/** Keeps the last `size` entries. */
export function createLog(size: number): RequestLog {
  const entries: LogEntry[] = []
  let next = 0
  return {
    add(entry) {
      entries[next] = entry
      next = (next + 1) % size
    },
    list: () => [...entries.slice(next), ...entries.slice(0, next)],
  }
}
