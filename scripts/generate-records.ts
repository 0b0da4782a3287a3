/**
 * Writes docs/records.md from the published schemas and the list of error codes.
 */

import { type AvroEnum, type AvroField, type AvroRecord, type AvroType, schemas } from '../src/records/schemas.ts'
import { type ErrorCode, errorCodes, errorCodeTexts, outcomeCodes } from '../src/vocabulary/lists.ts'
import { writeGenerated } from './generated-file.ts'

const header = `# Records

<!-- Made by scripts/generate-records.ts from schemas/*.avsc and the list of error codes (src/vocabulary/lists.ts): change these and run npm run generate. -->

For upstream teams and analysts: the fields of commands, results and status events, and every error code. [schemas](../schemas) hold the nested records.

[producers.md](producers.md) says how to write and read them, [delivery.md](delivery.md#outcomes) what outcomes mean, [statuses.md](statuses.md) what states mean, [headers.md](headers.md) which headers they have. [operations.md](operations.md) lists the fields that each type of message requires.
`

const [command, result, status] = [schemas.command, schemas.result, schemas.status]

writeGenerated(
  'docs/records.md',
  [
    header,
    section(command, 'the command topics'),
    section(result, '`busgate.results`'),
    '\n### Error codes\n\n`errorCode` of a result. `error` holds the text of the gateway or of busgate. With `UNRESOLVED` it was perhaps sent: do what the [outcome](delivery.md#outcomes) says. Else repair the cause, and send under a new id.\n\n',
    '| errorCode | outcomes | meaning | what to do |\n|---|---|---|---|\n',
    ...errorCodes.map(codeRow),
    section(status, '`busgate.statuses`'),
  ].join(''),
)

function section({ name, doc, fields }: AvroRecord, topic: string): string {
  const table = '| field | type | default | meaning |\n|---|---|---|---|\n'
  return `\n## ${name}: ${topic}\n\n${doc}\n\n${table}${fields.map(fieldRow).join('')}`
}

function fieldRow({ name, type, default: value, doc }: AvroField): string {
  const shown = value === undefined ? 'required' : value === '' ? 'empty' : `\`${JSON.stringify(value)}\``
  const meaning = isEnum(type) ? type.doc : doc
  return `| \`${name}\` | ${typeText(type)} | ${shown} | ${meaning.replaceAll('|', '\\|')} |\n`
}

function isEnum(type: AvroType): type is AvroEnum {
  return typeof type === 'object' && 'symbols' in type
}

function typeText(type: AvroType): string {
  if (typeof type === 'string') return type
  if (Array.isArray(type)) return type.map(typeText).join(' or ')
  if (type.type === 'array') return `array of ${typeText(type.items)}`
  if (type.type === 'map') return `map of ${typeText(type.values)}`
  if (type.type === 'enum') return type.symbols.map(symbol => `\`${symbol}\``).join(', ')
  return type.type === 'record' ? type.name : 'timestamp'
}

function codeRow(code: ErrorCode): string {
  const outcomes = Object.entries(outcomeCodes).filter(([, codes]) => (codes as readonly ErrorCode[]).includes(code))
  const { meaning, remedy } = errorCodeTexts[code]
  const names = outcomes.map(([outcome]) => `\`${outcome}\``).join(', ')
  return `| \`${code}\` | ${names} | ${meaning} | ${remedy ?? ''} |\n`
}
