import { openBus } from '../../bus/open.ts'
import type { BusRecord, TopicPartition } from '../../bus/port.ts'
import type { Settings } from '../../config/index.ts'
import { stringifyJson } from '../../protocol/index.ts'
import { createDecoder } from '../../records/decoder.ts'
import type { SendResult, StatusEvent } from '../../records/generated.ts'
import { registryOf } from '../../records/open.ts'
import { schemas } from '../../records/schemas.ts'
import { Telemetry } from '../../telemetry/events.ts'
import { command, toggle, whole } from '../command.ts'
import { decodeAll } from '../decode-all.ts'
import { letterOf, placeText } from '../dlq/letter.ts'
import { configFlag, settingsWithBrokers } from '../settings.ts'
import { untilSignal } from '../signals.ts'

/** Makes records of one topic readable: what is printed of each, as an object and as a line. */
type Show = (records: readonly BusRecord[], from: TopicPartition) => Promise<Shown[]>

interface Shown {
  json: object
  line: string
}

export const tailResults = tail('results', ({ topics }) => topics.results, showResults)
export const tailStatuses = tail('status events', ({ topics }) => topics.statuses, showStatuses)
export const tailDeadLetters = tail(
  'dead letters',
  ({ topics }) => topics.deadLetters,
  () => showDeadLetters,
)

function tail(what: string, topicOf: (settings: Settings) => string, showFor: (settings: Settings) => Show) {
  return command({
    about: `Shows ${what} as they come, a line each, until it is interrupted.`,
    flags: {
      'from-beginning': toggle('Shows those that are there already, too.'),
      count: whole('N', 'Ends after so many.', 1, Number.MAX_SAFE_INTEGER),
      json: toggle('Prints one JSON object a line, with every field.'),
      config: configFlag,
    },
    async run({ 'from-beginning': fromBeginning, count = Number.POSITIVE_INFINITY, json, config }) {
      const settings = settingsWithBrokers(config)
      const stopAsked = untilSignal()
      const show = showFor(settings)
      const topic = topicOf(settings)
      const { promise: ended, resolve: end, reject: fail } = Promise.withResolvers<'enough'>()
      let left = count
      const onRecords = async (from: TopicPartition, records: readonly BusRecord[]) => {
        const shown = await show(readable(records, from), from)
        for (const one of shown.slice(0, left)) process.stdout.write(`${json ? stringifyJson(one.json) : one.line}\n`)
        left = Math.max(0, left - shown.length)
        if (left === 0) end('enough')
      }

      const bus = openBus(settings, new Telemetry())
      try {
        if (!(await bus.partitions([topic])).has(topic)) {
          throw new Error(`there is no topic ${topic}: busgate topics create makes it`)
        }
        const reader = await bus.read([topic], fromBeginning ? 'earliest' : 'latest', (from, records) =>
          onRecords(from, records).catch(fail),
        )
        process.stderr.write(`Reading ${topic}; Ctrl-C ends.\n`)
        const ending = await Promise.race([stopAsked, ended]).finally(() => reader.close())
        return ending === 'SIGINT' ? 130 : 0
      } finally {
        await bus.close()
      }
    },
  })
}

/** Says of batches that cannot be read why. */
function readable(records: readonly BusRecord[], { topic, partition }: TopicPartition): readonly BusRecord[] {
  return records.filter(({ unreadable }) => {
    if (unreadable) process.stderr.write(`${topic}/${partition}: ${unreadable.message}\n`)
    return !unreadable
  })
}

function showResults(settings: Settings): Show {
  return showDecoded<SendResult>(settings, schemas.result, result => {
    const { completedAt, id, type, outcome, errorCode, error, msgId } = result
    return [instant(completedAt), id, type, outcome, msgId, errorCode, error]
  })
}

function showStatuses(settings: Settings): Show {
  return showDecoded<StatusEvent>(settings, schemas.status, event => {
    const { receivedAt, id, type, state, status, source, error } = event
    return [instant(receivedAt), id, type, state, status, source, error]
  })
}

function showDecoded<T extends object>(settings: Settings, schema: object, cellsOf: (value: T) => unknown[]): Show {
  const decoder = createDecoder<T>(schema, registryOf(settings))
  return async records => {
    const decoded = await decodeAll(decoder, records)
    return decoded.flatMap((one, i) => {
      if (one.ok) return [{ json: one.value, line: lineOf(cellsOf(one.value)) }]
      const why = 'error' in one ? one.error.message : 'Its schema is not known.'
      process.stderr.write(`The record at offset ${records[i]!.offset} cannot be read. ${why}\n`)
      return []
    })
  }
}

/** Dead letters hold what could not be decoded: its bytes are shown in base64. */
async function showDeadLetters(records: readonly BusRecord[], from: TopicPartition): Promise<Shown[]> {
  return records.map(record => {
    const { timestamp, key, value } = record
    const { stage, code, origin, message } = letterOf(from, record)
    const headers = Object.fromEntries(Object.entries(record.headers).map(([name, header]) => [name, String(header)]))
    return {
      json: { timestamp, key: key?.toString() ?? null, headers, value: value?.toString('base64') ?? null },
      line: lineOf([instant(timestamp), stage, code, origin && placeText(origin), message]),
    }
  })
}

const instant = (ms: number) => new Date(ms).toISOString()

function lineOf(cells: unknown[]): string {
  return cells.filter(cell => cell !== null && cell !== undefined).join('  ')
}
