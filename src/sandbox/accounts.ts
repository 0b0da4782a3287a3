import { createExecutions, type Executions, type Id } from './executions.ts'
import { createMeter, type Meter } from './meter.ts'
import type { SandboxKeys } from './settings.ts'
import { createTemplates, type Templates } from './templates.ts'

/** SandboxAccount is what the gateway keeps for one account, whichever of its keys is used. */
export interface SandboxAccount {
  name: string
  /** Operations received in envelopes that were read. */
  operations: number
  received: Meter
  /** Operations that the rate let through. */
  admitted: Meter
  balance: number
  executions: Executions
  /** Identifiers that were refused once on purpose. */
  refusedOnce: Set<Id>
  smsTemplates: Templates
  viberTemplates: Templates
}

export interface Accounts {
  byKey(key: string): SandboxAccount | undefined
  byName(name: string): SandboxAccount | undefined
  list(): SandboxAccount[]
  setKeys(keys: SandboxKeys): void
}

export function createAccounts(keys: SandboxKeys, balance: number): Accounts {
  const accounts = new Map<string, SandboxAccount>()
  let byKey = new Map<string, SandboxAccount>()

  function open(name: string): SandboxAccount {
    const account = accounts.get(name) ?? createAccount(name, balance)
    accounts.set(name, account)
    return account
  }

  function setKeys(next: SandboxKeys): void {
    byKey = new Map()
    for (const [name, value] of Object.entries(named(next))) {
      const account = open(name)
      for (const key of typeof value === 'string' ? [value] : value) byKey.set(key, account)
    }
  }

  setKeys(keys)
  return {
    byKey: key => byKey.get(key),
    byName: name => accounts.get(name),
    list: () => [...accounts.values()],
    setKeys,
  }
}

function named(keys: SandboxKeys): Readonly<Record<string, string | readonly string[]>> {
  return Array.isArray(keys)
    ? { default: keys as readonly string[] }
    : (keys as Record<string, string | readonly string[]>)
}

function createAccount(name: string, balance: number): SandboxAccount {
  return {
    name,
    operations: 0,
    received: createMeter(),
    admitted: createMeter(),
    balance,
    executions: createExecutions(),
    refusedOnce: new Set(),
    smsTemplates: createTemplates(),
    viberTemplates: createTemplates(),
  }
}
