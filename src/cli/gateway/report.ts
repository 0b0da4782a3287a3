import { variableOf } from '../../config/index.ts'
import { type GatewayError, UnreadablePayloadError } from '../../gateway/errors.ts'
import { isOperationType, isSendType, operations } from '../../protocol/index.ts'
import { isObject, stringifyJson } from '../../protocol/json.ts'
import { printable } from '../framework/terminal.ts'
import { apiKeyPath } from '../settings.ts'

type Row = string[]

/** A payload in lines: a list as a table, an object as a line a field. */
function linesOf(payload: unknown): string[] {
  const list = listOf(payload)
  if (!list && !isObject(payload)) return [cell(payload)]
  const rows = list ? tableOf(list) : fieldsOf(payload as Record<string, unknown>)
  return rows.length > 0 ? aligned(rows) : ['(none)']
}

/** A payload in one line. */
export function lineOf(payload: unknown): string {
  if (!isObject(payload)) return cell(payload)
  return fieldsOf(payload)
    .map(([name, value]) => `${name}=${value}`)
    .join(' ')
}

/** Pads cells so that columns line up. */
export function aligned(rows: readonly Row[]): string[] {
  const widths = rows[0]!.map((_, i) => Math.max(...rows.map(row => row[i]!.length)))
  return rows.map(row =>
    row
      .map((value, i) => value.padEnd(widths[i]!))
      .join('  ')
      .trimEnd(),
  )
}

/** The list in a payload that is one, or that holds nothing else. */
function listOf(payload: unknown): unknown[] | undefined {
  if (Array.isArray(payload)) return payload
  const values = isObject(payload) ? Object.values(payload) : []
  return values.length === 1 && Array.isArray(values[0]) ? values[0] : undefined
}

function tableOf(list: unknown[]): Row[] {
  if (list.length === 0 || !list.every(isObject)) return list.map(item => [cell(item)])
  const columns = [...new Set(list.flatMap(Object.keys))]
  return [columns, ...list.map(item => columns.map(column => cell(item[column])))]
}

/** Nested fields with dotted names. */
function fieldsOf(object: Record<string, unknown>, prefix = ''): Row[] {
  return Object.entries(object).flatMap(([name, value]) =>
    isObject(value) ? fieldsOf(value, `${prefix}${name}.`) : [[printable(prefix + name), cell(value)]],
  )
}

function cell(value: unknown): string {
  if (value === undefined || value === null) return ''
  return printable(typeof value === 'string' ? value : stringifyJson(value))
}

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
