import { isOperationType, isSendType, operations, parseJson, stringifyJson } from '../protocol/index.ts'
import { isObject } from '../protocol/json.ts'
import type { Accounts, SandboxAccount } from './accounts.ts'
import { type Processed, refusedItem, texts } from './answers.ts'
import { endingOf } from './endings.ts'
import { type Exchange, echoOf, type Gateway, type GivenOperation } from './gateway.ts'
import { handlerOf } from './operations/handlers.ts'
import type { SandboxSettings } from './settings.ts'
import { strictProblemOf } from './strict.ts'

export interface AdmittedEnvelope {
  account: SandboxAccount
  data: unknown[]
}

/** Parses a request's envelope, or returns why it is refused as a whole. */
export function readEnvelope(
  contentType: string | undefined,
  text: string,
  accounts: Accounts,
  { settings }: Gateway,
): AdmittedEnvelope | Processed {
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
  if (!account) {
    if (settings.open.denied === 'envelope') return { error: texts.accessDenied }
    return { items: data.map(() => refusedItem(texts.accessDenied, '')) }
  }
  if (data.length > mostOperations(settings)) return { error: texts.tooManyOperations }
  return { account, data }
}

const mostOperations = ({ maxOperations, open }: SandboxSettings) =>
  open.operations === 'ten' ? Math.min(10, maxOperations) : maxOperations

/** Executes the operations of an envelope in order; with `refusal`, refuses each with this text. */
export function executeEnvelope(data: unknown[], exchange: Exchange, refusal?: string): Processed {
  const { account, gateway, now } = exchange
  account.operations += data.length
  account.received.add(data.length, now)
  if (refusal !== undefined) return { items: data.map(operation => refusedItem(refusal, rawEcho(operation, gateway))) }
  const error = wholeRefusalOf(data, exchange)
  if (error !== null) return { error }
  return { items: data.map(operation => executeOne(operation, exchange)) }
}

/** Why the whole envelope is refused because of one of its operations; null if it is not. */
function wholeRefusalOf(data: unknown[], { account, gateway }: Exchange): string | null {
  const { otpRefusal, statusRight, unknownId } = gateway.settings.open
  if (otpRefusal === 'envelope' && data.some(isOtpRefused)) return texts.operator
  const statuses = data.filter(raw => isObject(raw) && raw.type === 'status') as unknown as GivenOperation[]
  if (statusRight === 'denied' && statuses.length > 0) return texts.accessDenied
  const isUnknown = ({ id }: GivenOperation) => !account.executions.messageOf(id!)?.hasStatus
  return unknownId === 'envelope' && statuses.some(isUnknown) ? texts.notFound : null
}

function executeOne(raw: unknown, exchange: Exchange): string {
  const { account, gateway, now } = exchange
  const { settings } = gateway
  if (settings.rate !== Number.POSITIVE_INFINITY) {
    if (account.admitted.count(now) >= settings.rate) return refusedItem(texts.throttle, rawEcho(raw, gateway))
    account.admitted.add(1, now)
  }
  const type = (raw as { type?: unknown } | null)?.type
  if (!isOperationType(type)) return refusedItem(texts.type, rawEcho(raw, gateway))
  const problem = problemOf(type, raw) ?? strictProblemOf(raw as GivenOperation, settings.open)
  if (problem !== undefined) return refusedItem(problem, rawEcho(raw, gateway))
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

/** The identifier of an unvalidated operation, as a field. */
function rawEcho(raw: unknown, gateway: Gateway): string {
  const id = (raw as { id?: unknown } | null)?.id
  if (Number.isSafeInteger(id) || typeof id === 'bigint') return echoOf(id as number | bigint, gateway)
  return typeof id === 'number' || typeof id === 'string' ? `"id":${stringifyJson(id)},` : ''
}
