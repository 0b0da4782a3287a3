import { createMeter, type Meter } from './meter.ts'
import type { SandboxKeys } from './settings.ts'

/** The gateway's state of one account, shared by all its keys. */
export interface SandboxAccount {
  name: string
  /** Operations in envelopes that were parsed. */
  operations: number
  received: Meter
  /** Operations within the rate. */
  admitted: Meter
  balance: number
  executions: Executions
  /** Identifiers that `refusedOnce` has refused already. */
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

/** A caller's identifier: a number up to 2^53, a bigint above. */
export type Id = number | bigint

/** The observable state of an executed message. */
export interface ExecutedMessage {
  msgId: number
  channel: string
  status: string
  finalAt: number
}

/** Number of executions (billed) and latest message per identifier. */
export interface Executions {
  add(id: Id | undefined, message: ExecutedMessage): void
  executionsOf(id: Id): number
  messageOf(id: Id): ExecutedMessage | undefined
  counts(): { executed: number; ids: number; billedTwice: number }
}

export function createExecutions(): Executions {
  const byId = new Map<Id, { times: number; message: ExecutedMessage }>()
  let executed = 0
  let billedTwice = 0
  return {
    add(id, message) {
      executed++
      if (id === undefined) return
      const times = (byId.get(id)?.times ?? 0) + 1
      if (times === 2) billedTwice++
      byId.set(id, { times, message })
    },
    executionsOf: id => byId.get(id)?.times ?? 0,
    messageOf: id => byId.get(id)?.message,
    counts: () => ({ executed, ids: byId.size, billedTwice }),
  }
}

export interface Template {
  id: number
  text: string
  /** Name (SMS) or signature (Viber). */
  label: string
  /** ISO 8601 with offset. */
  created: string
}

/** One account's templates of one kind, in memory. */
export interface Templates {
  add(text: string, label: string, now: number): Template
  /** Deletes templates that match all given criteria; none without criteria. @returns the number deleted */
  remove(criteria: { id?: number; text?: string }): number
  list(): Template[]
}

export function createTemplates(): Templates {
  const templates = new Map<number, Template>()
  let nextId = 1
  return {
    add(text, label, now) {
      const template = { id: nextId++, text, label, created: new Date(now).toISOString().replace('Z', '+00:00') }
      templates.set(template.id, template)
      return template
    },
    remove({ id, text }) {
      if (id === undefined && text === undefined) return 0
      const doomed = [...templates.values()].filter(t => (id ?? t.id) === t.id && (text ?? t.text) === t.text)
      for (const template of doomed) templates.delete(template.id)
      return doomed.length
    },
    list: () => [...templates.values()],
  }
}
