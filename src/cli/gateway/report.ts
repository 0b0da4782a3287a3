import { variableOf } from '../../config/index.ts'
import { type GatewayError, UnreadablePayloadError } from '../../gateway/errors.ts'
import { isOperationType, isSendType, operations, stringifyJson } from '../../protocol/index.ts'
import { printable } from '../framework/printable.ts'
import { apiKeyPath } from '../settings.ts'
import { aligned, lineOf, linesOf } from './output.ts'

/** OperationResult is what became of one operation. */
export type OperationResult = { ok: true; data: unknown } | { ok: false; error: GatewayError }

/** An operation as it was given. */
export interface AskedOperation {
  type?: unknown
  id?: unknown
}

/** One JSON object an operation. */
export function jsonLines(asked: readonly AskedOperation[], results: readonly OperationResult[]): string[] {
  return results.map((result, i) => {
    const { type, id } = asked[i]!
    if (result.ok) return printable(stringifyJson({ type, id, ok: true, data: result.data }))
    const { code, message, definite, retryable } = result.error
    const data = result.error instanceof UnreadablePayloadError ? { data: result.error.payload() } : {}
    return printable(stringifyJson({ type, id, ok: false, error: { code, message, definite, retryable }, ...data }))
  })
}

/** The payload of one operation, or a row for each of several. */
export function textLines(asked: readonly AskedOperation[], results: readonly OperationResult[]): string[] {
  const [first] = results
  if (results.length === 1 && first) return first.ok ? linesOf(first.data) : payloadOf(first.error).flatMap(linesOf)
  const rows = results.map((result, i) => [
    String(i + 1),
    printable(String(asked[i]!.type)),
    idText(asked[i]!),
    result.ok ? 'ok' : result.error.code,
    result.ok
      ? lineOf(result.data)
      : [printable(result.error.message), ...payloadOf(result.error).map(lineOf)].join(': '),
  ])
  return aligned([['#', 'type', 'id', 'result', 'answer'], ...rows])
}

/**
 * Says what went wrong, with what is known of it and what to change: one line, or one for each operation that has an error
 * of its own.
 */
export function complaints(
  asked: readonly AskedOperation[],
  results: readonly OperationResult[],
  account: string,
): string[] {
  const errors = results.map(result => (result.ok ? null : result.error))
  const [shared] = errors
  if (shared && errors.every(error => error === shared)) return [complaint(shared, asked, account)]
  return errors.flatMap((error, i) => {
    if (!error) return []
    const { type } = asked[i]!
    const name = [String(type), idText(asked[i]!)].join(' ').trim()
    return `operation ${i + 1} (${printable(name)}): ${complaint(error, [asked[i]!], account)}`
  })
}

function complaint(error: GatewayError, asked: readonly AskedOperation[], account: string): string {
  return [`${printable(error.message)} (${error.code})${certainty(error, asked)}`, ...mendOf(error, account)].join('; ')
}

function mendOf({ code }: GatewayError, account: string): string[] {
  if (code === 'ACCESS_DENIED') return [`put the account's key into ${variableOf(apiKeyPath(account))}`]
  return code === 'UNREACHABLE' ? [`check ${variableOf('gateway.url')}`] : []
}

/** Tells whether it may have been executed, where that makes a difference. */
function certainty(error: GatewayError, asked: readonly AskedOperation[]): string {
  if (error instanceof UnreadablePayloadError) return ''
  const types = asked.map(({ type }) => type).filter(isOperationType)
  if (types.every(type => operations[type].readOnly)) return ''
  const done = types.some(isSendType) ? 'sent' : 'executed'
  return error.definite ? `; known not to have been ${done}` : `; perhaps ${done}: find out before you try again`
}

/** The answer of the gateway that could not be read: it may have been paid for. */
function payloadOf(error: GatewayError): unknown[] {
  return error instanceof UnreadablePayloadError ? [error.payload()] : []
}

function idText({ id }: AskedOperation): string {
  return id === undefined ? '' : printable(String(id))
}
