import type { BusRecord, TopicPartition } from '../../bus/port.ts'
import type { Settings } from '../../config/index.ts'
import { letterOf, placeText } from '../../inspect/dead-letters/letter.ts'
import { type LetterFilters, matchesLetter } from '../../inspect/dead-letters/select.ts'
import { decodeAll } from '../../inspect/decode-all.ts'
import { stringifyJson } from '../../protocol/index.ts'
import { createDecoder } from '../../records/decoder.ts'
import type { SendResult, StatusEvent } from '../../records/generated.ts'
import { registryOf } from '../../records/open.ts'
import { schemas } from '../../records/schemas.ts'
import { printable } from '../framework/printable.ts'
import { matchesRecord, mayMatch, type RecordFilters } from './select.ts'

/** Makes records of one topic readable: what is printed of each, as an object and as a line. */
export type Show = (records: readonly BusRecord[], from: TopicPartition) => Promise<Shown[]>

interface Shown {
  json: object
  line: string
}

/** One record as it goes to a terminal, with nothing in it that a terminal would obey. */
export const printed = ({ json, line }: Shown, asJson = false): string => printable(asJson ? stringifyJson(json) : line)

export function showResults(settings: Settings, filters: RecordFilters = {}): Show {
  return showDecoded<SendResult>(settings, schemas.result, filters, result => {
    const { completedAt, id, type, outcome, errorCode, error, msgId } = result
    return [instant(completedAt), id, type, outcome, msgId, errorCode, error]
  })
}

export function showStatuses(settings: Settings, filters: RecordFilters = {}): Show {
  return showDecoded<StatusEvent>(settings, schemas.status, filters, event => {
    const { receivedAt, id, type, state, status, source, error } = event
    return [instant(receivedAt), id, type, state, status, source, error]
  })
}

function showDecoded<T extends SendResult | StatusEvent>(
  settings: Settings,
  schema: object,
  filters: RecordFilters,
  cellsOf: (value: T) => unknown[],
): Show {
  const decoder = createDecoder<T>(schema, registryOf(settings))
  return async all => {
    const records = all.filter(record => mayMatch(record, filters))
    const decoded = await decodeAll(decoder, records)
    return decoded.flatMap((one, i) => {
      if (one.ok)
        return matchesRecord(one.value, filters) ? [{ json: one.value, line: lineOf(cellsOf(one.value)) }] : []
      const why = 'error' in one ? one.error.message : 'Its schema is not known.'
      process.stderr.write(`The record at offset ${records[i]!.offset} cannot be read. ${printable(why)}\n`)
      return []
    })
  }
}

/** Dead letters hold what could not be decoded: its bytes are shown in base64. */
export async function showDeadLetters(
  records: readonly BusRecord[],
  from: TopicPartition,
  filters: LetterFilters = {},
): Promise<Shown[]> {
  return records.flatMap(record => {
    const { timestamp, key, value } = record
    const letter = letterOf(from, record)
    if (!matchesLetter(letter, filters)) return []
    const { stage, code, origin, message } = letter
    const headers = Object.fromEntries(Object.entries(record.headers).map(([name, header]) => [name, String(header)]))
    return [
      {
        json: { timestamp, key: key?.toString() ?? null, headers, value: value?.toString('base64') ?? null },
        line: lineOf([instant(timestamp), stage, code, origin && placeText(origin), message]),
      },
    ]
  })
}

const instant = (ms: number) => new Date(ms).toISOString()

function lineOf(cells: unknown[]): string {
  return cells.filter(cell => cell !== null && cell !== undefined).join('  ')
}
