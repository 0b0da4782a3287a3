import { Meter } from './meter.ts'
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

/** All accounts of the gateway. */
export class Accounts {
  readonly #balance: number
  readonly #accounts = new Map<string, SandboxAccount>()
  #byKey = new Map<string, SandboxAccount>()

  constructor(keys: SandboxKeys, balance: number) {
    this.#balance = balance
    this.setKeys(keys)
  }

  byKey(key: string): SandboxAccount | undefined {
    return this.#byKey.get(key)
  }

  byName(name: string): SandboxAccount | undefined {
    return this.#accounts.get(name)
  }

  list(): SandboxAccount[] {
    return [...this.#accounts.values()]
  }

  setKeys(keys: SandboxKeys): void {
    this.#byKey = new Map()
    for (const [name, value] of Object.entries(Array.isArray(keys) ? { default: keys } : keys)) {
      const account = this.#accounts.get(name) ?? createAccount(name, this.#balance)
      this.#accounts.set(name, account)
      for (const key of [value].flat()) this.#byKey.set(key, account)
    }
  }
}

function createAccount(name: string, balance: number): SandboxAccount {
  return {
    name,
    operations: 0,
    received: new Meter(),
    admitted: new Meter(),
    balance,
    executions: new Executions(),
    refusedOnce: new Set(),
    smsTemplates: new Templates(),
    viberTemplates: new Templates(),
  }
}

/** A caller's identifier: a number up to 2^53, a bigint above. */
export type Id = number | bigint

/** The observable state of an executed message. */
export interface ExecutedMessage {
  msgId: number
  channel: string
  status: string
  /** Whether the operation `status` finds it: not call/otp and hlr. */
  hasStatus: boolean
  finalAt: number
}

/** Number of executions (billed) and latest message per identifier. */
class Executions {
  readonly #byId = new Map<Id, { times: number; message: ExecutedMessage }>()
  #executed = 0
  #billedTwice = 0

  add(id: Id | undefined, message: ExecutedMessage): void {
    this.#executed++
    if (id === undefined) return
    const times = this.executionsOf(id) + 1
    if (times === 2) this.#billedTwice++
    this.#byId.set(id, { times, message })
  }

  executionsOf(id: Id): number {
    return this.#byId.get(id)?.times ?? 0
  }

  messageOf(id: Id): ExecutedMessage | undefined {
    return this.#byId.get(id)?.message
  }

  counts() {
    return { executed: this.#executed, ids: this.#byId.size, billedTwice: this.#billedTwice }
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
class Templates {
  #all: Template[] = []
  #lastId = 0

  add(text: string, label: string, now: number): Template {
    const created = new Date(now).toISOString().replace('Z', '+00:00')
    const template = { id: ++this.#lastId, text, label, created }
    this.#all.push(template)
    return template
  }

  /** Deletes templates that match all given criteria; none without criteria. @returns the number deleted */
  remove({ id, text }: { id?: number; text?: string }): number {
    if (id === undefined && text === undefined) return 0
    const before = this.#all.length
    this.#all = this.#all.filter(one => (id ?? one.id) !== one.id || (text ?? one.text) !== one.text)
    return before - this.#all.length
  }

  list(): readonly Template[] {
    return this.#all
  }
}
