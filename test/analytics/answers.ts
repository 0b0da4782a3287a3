import { readFileSync } from 'node:fs'
import { join } from 'node:path'

export type Row = Record<string, string>

/** What an engine computes from the dataset. All values are texts, in one notation for all engines. */
export interface Answers {
  /** The table with one row for each message. */
  messages: Row[]
  /** The rows of all queries in report.sql. */
  report: Row[]
}

/** The expected table and report. */
export const expected: Answers = {
  messages: tableOf(read('expected.csv')).map(({ why: _, ...row }) => row),
  report: blocksOf(read('expected-report.csv')),
}

/** Lists the differences from the expected answers: missing rows and unexpected ones. */
export function differences(answers: Answers): string[] {
  const columns = Object.keys(expected.messages[0]!)
  const messages = answers.messages.map(row =>
    Object.fromEntries(columns.map(name => [name, row[name] ?? 'no column'])),
  )
  return [
    ...differencesOf('messages', messages, expected.messages),
    ...differencesOf('report', answers.report, expected.report),
  ]
}

function differencesOf(name: string, rows: Row[], wanted: Row[]): string[] {
  const [got, want] = [rows, wanted].map(all => all.map(row => JSON.stringify(row)).toSorted()) as [string[], string[]]
  return [
    ...without(want, got).map(row => `${name}: missing ${row}`),
    ...without(got, want).map(row => `${name}: instead  ${row}`),
  ]
}

/** The texts of one list without those of another; repeated texts count separately. */
function without(texts: string[], others: string[]): string[] {
  const left = [...others]
  return texts.filter(text => {
    const at = left.indexOf(text)
    if (at >= 0) left.splice(at, 1)
    return at < 0
  })
}

/** Parses CSV with one header. */
export function tableOf(csv: string): Row[] {
  const [header = [], ...lines] = csv.trim().split('\n').map(cellsOf)
  return rowsOf(header, lines)
}

/** Parses several CSV tables, each with its header. A known header begins the next table. */
export function blocksOf(csv: string): Row[] {
  const headers = new Set(['campaign', 'callbacks', 'parts_failed', 'no_verdict', 'arrived_at', 'error_code', 'why'])
  let header: string[] = []
  return csv
    .split('\n')
    .filter(line => line.trim() !== '')
    .map(cellsOf)
    .flatMap(cells => {
      if (!cells.some(cell => headers.has(cell))) return rowsOf(header, [cells])
      header = cells
      return []
    })
}

function rowsOf(header: string[], lines: string[][]): Row[] {
  return lines.map(cells => Object.fromEntries(header.map((name, i) => [name, textOf(cells[i] ?? '')])))
}

function cellsOf(line: string): string[] {
  return [...`,${line}`.matchAll(/,(?:"([^"]*)"|([^,]*))/g)].map(([, quoted, plain]) => quoted ?? plain ?? '')
}

/** Normalises a cell: NULL is empty, a time has no date, and a number has at most six decimals. */
function textOf(cell: string): string {
  if (cell === '\\N' || cell === 'NULL') return ''
  if (cell === 't' || cell === 'f') return cell === 't' ? 'true' : 'false'
  const [, time, fraction = ''] =
    /^(?:\d{4}-\d\d-\d\d[ T])?(\d\d:\d\d:\d\d)(?:\.(\d{1,6}))?(?:Z|[+-]\d\d(?::?\d\d)?)?$/.exec(cell) ?? []
  if (time) return `${time}.${fraction.padEnd(3, '0').slice(0, 3)}`
  return /^-?\d+\.\d+$/.test(cell) ? String(Number(Number(cell).toFixed(6))) : cell
}

function read(file: string): string {
  return readFileSync(join(import.meta.dirname, file), 'utf8')
}
