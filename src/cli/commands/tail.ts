import { openBus } from '../../bus/open.ts'
import type { BusRecord, TopicPartition } from '../../bus/port.ts'
import type { Taken } from '../../bus/streams/record-queue.ts'
import { topicRecords } from '../../bus/streams/topic-stream.ts'
import { systemClock } from '../../clock.ts'
import type { Settings } from '../../config/index.ts'
import { type LetterFilters, lettersOf, matchesLetter, placeText } from '../../inspect/dead-letters/letter.ts'
import { RecordReader } from '../../inspect/decoding.ts'
import { sendTypes } from '../../protocol/index.ts'
import type { SendResult, StatusEvent } from '../../records/generated.ts'
import { registryOf } from '../../records/registry.ts'
import { schemas } from '../../records/schemas.ts'
import { Telemetry } from '../../telemetry/events.ts'
import { outcomes, states } from '../../vocabulary/lists.ts'
import { count, cut, timeText } from '../../words.ts'
import {
  choiceFlag,
  command,
  type Flags,
  type FlagValues,
  given,
  idFlag,
  textFlag,
  toggle,
  UsageError,
  whole,
} from '../framework/command.ts'
import { jsonText, printable, printLine, say, untilSignal } from '../framework/terminal.ts'
import { sinceFlag } from '../framework/times.ts'
import { configFlag, settingsWithBrokers } from '../settings.ts'
import { filterFlags as letterFilters } from './dlq.ts'

const common = {
  id: idFlag('Only records with this id.'),
  account: textFlag('NAME', 'Only records of this account.'),
  tenant: textFlag('NAME', 'Only records of this tenant.'),
  campaign: textFlag('NAME', 'Only records of this campaign.'),
}

const resultFilters = {
  outcome: choiceFlag('OUTCOME', [...outcomes, 'UNKNOWN'], 'Only records with this outcome.'),
  'error-code': textFlag('CODE', 'Only records with this errorCode, such as INSUFFICIENT_FUNDS.'),
  type: choiceFlag('TYPE', sendTypes, 'Only records of this type of message.'),
  ...common,
}

const statusFilters = {
  state: choiceFlag('STATE', states, 'Only records with this state.'),
  type: textFlag('TYPE', 'Only records of this channel or type, as the gateway names it.'),
  ...common,
}

type RecordFilters = FlagValues<typeof statusFilters & Omit<typeof resultFilters, 'type'>>

/** The key of results and status events is their id: records of other ids need not be decoded. */
function mayMatch({ key }: BusRecord, { id }: RecordFilters): boolean {
  return id === undefined || key?.toString() === String(id)
}

function matchesRecord(value: SendResult | StatusEvent, filters: RecordFilters): boolean {
  const { outcome, errorCode, state } = value as Partial<SendResult & StatusEvent>
  const own: Record<keyof RecordFilters, unknown> = { ...value, outcome, 'error-code': errorCode, state }
  return Object.entries(filters).every(
    ([name, wanted]) => wanted === undefined || own[name as keyof RecordFilters] === wanted,
  )
}

/** Formats a record as an object and as a line; null if a filter leaves it out. `unread` says why it cannot be decoded. */
type Show = (record: BusRecord, from: TopicPartition) => Promise<Shown | { unread: string } | null>

interface Shown {
  json: object
  line: string
}

/** One record for a terminal, its control characters escaped. */
export const printed = ({ json, line }: Shown, asJson = false): string => (asJson ? jsonText(json) : printable(line))

export function showResults(settings: Settings, filters: RecordFilters = {}): Show {
  return showDecoded<SendResult>(settings, schemas.result, filters, resultCells)
}

function resultCells({ completedAt, id, type, outcome, errorCode, error, msgId }: SendResult): unknown[] {
  return [timeText(completedAt), id, type, outcome, msgId, errorCode, error]
}

/** One result for a terminal, as `tail results` prints it. */
export const printedResult = (result: SendResult, asJson = false): string =>
  printed({ json: result, line: lineOf(resultCells(result)) }, asJson)

export function showStatuses(settings: Settings, filters: RecordFilters = {}): Show {
  return showDecoded<StatusEvent>(settings, schemas.status, filters, event => {
    const { receivedAt, id, type, state, status, source, error } = event
    return [timeText(receivedAt), id, type, state, status, source, error]
  })
}

function showDecoded<T extends SendResult | StatusEvent>(
  settings: Settings,
  schema: object,
  filters: RecordFilters,
  cellsOf: (value: T) => unknown[],
): Show {
  const reader = new RecordReader<T>(schema, registryOf(settings))
  return async (record, from) => {
    if (!mayMatch(record, filters)) return null
    const one = await reader.decode(record)
    if (!one.ok) return { unread: `it cannot be decoded: ${one.why}` }
    if (!matchesRecord(one.value, filters)) return null
    return { json: { place: placeOf(record, from), ...one.value }, line: lineOf(cellsOf(one.value)) }
  }
}

/** Shows dead letters, their undecodable bytes in base64. */
export function showDeadLetters(_settings: Settings, filters: LetterFilters = {}): Show {
  return async (record, from) => {
    const { timestamp, key, value } = record
    const [letter] = lettersOf(from, [record])
    if (!letter || !matchesLetter(letter, filters)) return null
    const { stage, code, origin, message } = letter
    const headers = Object.fromEntries(Object.entries(record.headers).map(([name, header]) => [name, String(header)]))
    return {
      json: {
        place: placeOf(record, from),
        timestamp,
        key: key?.toString() ?? null,
        headers,
        value: value?.toString('base64') ?? null,
      },
      line: lineOf([timeText(timestamp), stage, code, origin && placeText(origin), message]),
    }
  }
}

const placeOf = ({ offset }: BusRecord, from: TopicPartition) => placeText({ ...from, offset })

/** Longest cell of a line; `--json` prints all of a record. */
const longestCell = 1000

function lineOf(cells: unknown[]): string {
  const given = cells.filter(cell => cell !== null && cell !== undefined)
  return given.map(cell => cut(String(cell), longestCell)).join('  ')
}

const flags = {
  since: sinceFlag('Where to begin. Default: now.'),
  'from-beginning': toggle('Begins with the oldest record.'),
  'until-end': toggle('Ends at the current end of the topic.'),
  limit: whole('N', 'Ends after N records.', 1, Number.MAX_SAFE_INTEGER),
  json: toggle(
    'Prints one JSON object per line, with every field, ids as text, and the place of the record (TOPIC/PARTITION@OFFSET).',
  ),
  config: configFlag,
}

export const tailResults = tail('results', ({ topics }) => topics.results, resultFilters, showResults)
export const tailStatuses = tail('status events', ({ topics }) => topics.statuses, statusFilters, showStatuses)
export const tailDeadLetters = tail('dead letters', ({ topics }) => topics.deadLetters, letterFilters, showDeadLetters)

function tail(
  what: string,
  topicOf: (settings: Settings) => string,
  filterFlags: Flags,
  showFor: (settings: Settings, filters: never) => Show,
) {
  return command<Flags & typeof flags>({
    about: [
      `Shows ${what}, a line each, until it is interrupted, or with --until-end up to the current end of the topic.`,
      'Several filters must all match.',
    ].join('\n'),
    flags: { ...filterFlags, ...flags },
    async run(values) {
      const { since, 'from-beginning': fromBeginning, 'until-end': untilEnd = false, limit, json, config } = values
      if (untilEnd && since === undefined && !fromBeginning) {
        throw new UsageError('--until-end needs --since TIME or --from-beginning: without them it begins at the end')
      }
      const settings = settingsWithBrokers(config)
      const topic = topicOf(settings)
      const filters = given(Object.fromEntries(Object.keys(filterFlags).map(name => [name, values[name]])))
      const show = showFor(settings, filters as never)
      const end = new AbortController()
      let signal: string | null = null
      void untilSignal().then(heard => {
        signal = heard
        end.abort()
      })
      const telemetry = new Telemetry()
      await using bus = await openBus(settings, telemetry)
      const counts = await bus.partitions([topic])
      if (!counts.has(topic)) throw new Error(`there is no topic ${topic}: create it with busgate topics create`)
      if (!untilEnd) process.stderr.write(`Reading ${topic}; Ctrl-C ends.\n`)
      const from = fromBeginning ? 'earliest' : (since ?? 'latest')
      const reading = { bus, topic, clock: systemClock, telemetry, ending: end.signal }
      const taking = topicRecords({ ...reading, from: () => from, untilEnd })
      let left = limit ?? Number.POSITIVE_INFINITY
      let unread = 0
      for await (const taken of taking) {
        const shown = await shownOf(taken, show)
        if (shown === null) continue
        if ('unread' in shown) {
          if (++unread <= mostTold) say(`${placeOf(taken.record, taken.from)}: ${shown.unread}`)
          continue
        }
        await printLine(printed(shown, json))
        if (--left === 0) break
      }
      if (unread > mostTold) say(`${count(unread, 'record')} of ${topic} could not be read.`)
      return signal === 'SIGINT' ? 130 : 0
    },
  })
}

/** Most records that cannot be read and are told one by one; further ones are only counted. */
const mostTold = 20

function shownOf({ record, from }: Taken, show: Show): ReturnType<Show> {
  const { unreadable } = record
  return unreadable ? Promise.resolve({ unread: unreadable.message }) : show(record, from)
}
