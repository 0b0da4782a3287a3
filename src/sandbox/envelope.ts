import { isOperationType, isSendType, operations, parseJson, stringifyJson } from '../protocol/index.ts'
import type { Accounts, SandboxAccount } from './accounts.ts'
import { type Processed, refusedItem, texts } from './answers.ts'
import { endingOf } from './endings.ts'
import type { Exchange, GivenOperation } from './gateway.ts'
import { handlerOf } from './operations/handlers.ts'
import type { SandboxSettings } from './settings.ts'

export interface AdmittedEnvelope {
  account: SandboxAccount
  data: unknown[]
}

/** Parses a request's envelope, or returns why it is refused as a whole. */
export function readEnvelope(
  contentType: string | undefined,
  text: string,
  accounts: Accounts,
  settings: SandboxSettings,
): AdmittedEnvelope | { error: string } {
  if (!/^application\/json\s*(;|$)/i.test(contentType ?? '')) return { error: texts.contentType }
  let body: { auth?: unknown; data?: unknown } | null
  try {
    body = parseJson(text) as typeof body
  } catch {
    return { error: texts.json }
  }
  const { auth, data } = body ?? {}
  if (typeof auth !== 'string' || !Array.isArray(data) || data.length === 0) return { error: texts.envelope }
  const account = accounts.byKey(auth)
  if (!account) return { error: texts.accessDenied }
  if (data.length > settings.maxOperations) return { error: texts.tooManyOperations }
  return { account, data }
}

/** Executes the operations of an envelope in order; with `refusal`, refuses each with this text. */
export function executeEnvelope(data: unknown[], exchange: Exchange, refusal?: string): Processed {
  const { account, gateway, now } = exchange
  account.operations += data.length
  account.received.add(data.length, now)
  if (refusal !== undefined) return { items: data.map(operation => refusedItem(refusal, rawId(operation))) }
  if (gateway.settings.otpRefusal === 'envelope' && data.some(isOtpRefused)) return { error: texts.operator }
  return { items: data.map(operation => executeOne(operation, exchange)) }
}

function executeOne(raw: unknown, exchange: Exchange): string {
  const { account, gateway, now } = exchange
  const { settings } = gateway
  if (settings.rate !== Number.POSITIVE_INFINITY) {
    if (account.admitted.count(now) >= settings.rate) return refusedItem(texts.throttle, rawId(raw))
    account.admitted.add(1, now)
  }
  const type = (raw as { type?: unknown } | null)?.type
  if (!isOperationType(type)) return refusedItem(texts.type, rawId(raw))
  const problem = problemOf(type, raw)
  if (problem !== undefined) return refusedItem(problem, rawId(raw))
  return handlerOf(type)(raw as GivenOperation, exchange)
}

const fieldTexts: Readonly<Record<string, string>> = { phone: texts.phone, sms_message: texts.smsText }

/** A short text that names the first invalid field, never its value. */
function problemOf(type: GivenOperation['type'], raw: unknown): string | undefined {
  const parsed = operations[type].schema.safeParse(raw)
  if (parsed.success) return undefined
  const path = parsed.error.issues[0]?.path.join('.') ?? ''
  return fieldTexts[path] ?? `Error in ${path || type}`
}

function isOtpRefused(raw: unknown): boolean {
  const { type, phone } = (raw ?? {}) as Partial<GivenOperation>
  return isSendType(type) && operations[type].alone && endingOf(type, phone ?? 0).refused === texts.operator
}

/** The identifier of an unvalidated operation, as JSON text. */
function rawId(raw: unknown): string | undefined {
  const id = (raw as { id?: unknown } | null)?.id
  return typeof id === 'number' || typeof id === 'bigint' || typeof id === 'string' ? stringifyJson(id) : undefined
}
