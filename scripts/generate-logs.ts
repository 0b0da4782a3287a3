/**
 * Writes docs/logs.md from the events (src/telemetry/events.ts) and their lines (src/telemetry/log-lines.ts).
 */
import { readFileSync } from 'node:fs'
import type { Events } from '../src/telemetry/events.ts'
import { logLines } from '../src/telemetry/log-lines.ts'
import { createLogger } from '../src/telemetry/logger.ts'
import { logEvent } from '../src/telemetry/logs.ts'
import { buildEvents } from '../test/support/events.ts'
import { writeGenerated } from './generated-file.ts'

const header = `# Logs

<!-- Made by scripts/generate-logs.ts from src/telemetry/events.ts and src/telemetry/log-lines.ts: change those and run npm run generate. -->

For operators: every log line, what it means, and what to do. \`busgate run\` writes one JSON object a line to standard output: \`level\`, \`time\` (ISO 8601), \`event\`, the event's fields, and \`msg\`, the sentence for people. \`telemetry.logLevel\` sets the lowest level (default: \`info\`). Wrong settings end it before there is a log: as plain text on standard error, with exit code 2. Programs may rely on the names of events and fields; the wording of \`msg\` may change. Fields that end in \`Ms\` are milliseconds; other times are seconds.

No line holds a message's text, a phone number, a key or a token. Foreign texts are cut to 500 characters, and runs of nine or more digits are masked. An error has \`name\`, \`code\` and \`message\`. A record's coordinates are written TOPIC/PARTITION@OFFSET.

The log is about processes, partitions and accounts. \`busgate message ID\` shows what became of one message. At debug there is a line for each batch or envelope.

## Lines

The examples of \`msg\` have made-up values. If the last column is empty, there is nothing to do.

| event | level | \`msg\`, for example | fields | meaning | what to do |
|---|---|---|---|---|---|
`

const notLogged = `
## Events without a line

The metrics count them, and a library's listener (\`worker.telemetry.on(…)\`) receives those that the type \`Events\` lists.

| event | fields | meaning |
|---|---|---|
`

type Name = keyof Events

const source = ['stable-events', 'events']
  .map(name => readFileSync(new URL(`../src/telemetry/${name}.ts`, import.meta.url), 'utf8'))
  .join('')
const docs = new Map(
  [...source.matchAll(/\/\*\*((?:(?!\*\/).)*)\*\/\s+'([\w.]+)':/gs)].map(([, doc = '', name = '']) => [
    name,
    doc.replaceAll(/\s+(\* )?/g, ' ').trim(),
  ]),
)
const examples = buildEvents(12)
const levels = {
  'deadLetter.published': 'warn, debug',
  'fault.contained': 'error; debug if one was logged within the last second',
  'bus.log': "the message's own",
  'callbacks.refused': 'warn, info',
  'withdrawal.begun': 'warn; debug for one message',
}

function docOf(name: Name): string {
  const doc = docs.get(name)
  if (!doc) throw new Error(`src/telemetry: ${name} has no docstring`)
  return doc
}

const code = (fields: string[]): string => fields.map(field => `\`${field}\``).join(', ') || 'none'

/** The line as it is logged. */
function lineOf<K extends Name>(name: K): { msg: string; fields: string[] } {
  if (!examples[name]) throw new Error(`build an event ${name} in test/support/events.ts`)
  let written = ''
  logEvent(createLogger('trace', { write: line => (written = line) }), name, examples[name])
  const { level: _level, time: _time, event: _event, msg, ...fields } = JSON.parse(written)
  return { msg, fields: Object.keys(fields) }
}

function levelOf(name: Name): string {
  const level = logLines[name]?.level
  if (typeof level === 'string') return level
  const known = levels[name as keyof typeof levels]
  if (!known) throw new Error(`${name} has several levels, which this script does not know`)
  return known
}

function row(name: Name): string {
  const { msg, fields } = lineOf(name)
  const cells = [`\`${name}\``, levelOf(name), msg, code(fields), docOf(name), logLines[name]?.action ?? '']
  return `| ${cells.join(' | ')} |\n`
}

const names = Object.keys(logLines) as Name[]
const logged = names.filter(name => logLines[name] !== null).map(row)
const others = names.filter(name => logLines[name] === null)
const rest = others.map(name => `| \`${name}\` | ${code(Object.keys(examples[name]))} | ${docOf(name)} |\n`)
writeGenerated('docs/logs.md', [header, ...logged, notLogged, ...rest].join(''))
