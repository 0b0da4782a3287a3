import { isObject, stringifyJson } from '../../protocol/json.ts'
import { printable } from '../framework/printable.ts'

type Row = string[]

/** A payload in lines: a list as a table, an object as a line a field. */
export function linesOf(payload: unknown): string[] {
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
