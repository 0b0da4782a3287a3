import { partitionOf } from '../../bus/murmur2.ts'
import { openBus } from '../../bus/open.ts'
import type { Bus, From } from '../../bus/port.ts'
import type { Taken } from '../../bus/reading/record-queue.ts'
import { topicRecords } from '../../bus/reading/topic-stream.ts'
import { systemClock } from '../../clock.ts'
import type { Settings } from '../../config/index.ts'
import { Telemetry } from '../../telemetry/events.ts'
import { filterFlags as letterFilters } from '../dlq/flags.ts'
import { command, type Flags, given, sinceFlag, toggle, whole } from '../framework/command.ts'
import { printLine } from '../framework/print.ts'
import { printable } from '../framework/printable.ts'
import { untilSignal } from '../framework/signals.ts'
import { UsageError } from '../framework/usage-error.ts'
import { configFlag, settingsWithBrokers } from '../settings.ts'
import { resultFilters, statusFilters } from '../tail/select.ts'
import { printed, type Show, showDeadLetters, showResults, showStatuses } from '../tail/show.ts'

const flags = {
  since: sinceFlag('Begins so long ago (30m, 12h, 7d), or at a date. Default: now.'),
  'from-beginning': toggle('Begins with the oldest.'),
  'until-end': toggle('Ends behind those that are there already.'),
  limit: { ...whole('N', 'Ends after so many.', 1, Number.MAX_SAFE_INTEGER), also: ['count'] },
  json: toggle('Prints one JSON object a line, with every field.'),
  config: configFlag,
}

export const tailResults = tail('results', ({ topics }) => topics.results, resultFilters, showResults)
export const tailStatuses = tail('status events', ({ topics }) => topics.statuses, statusFilters, showStatuses)
export const tailDeadLetters = tail('dead letters', ({ topics }) => topics.deadLetters, letterFilters, showLetters)

function tail(
  what: string,
  topicOf: (settings: Settings) => string,
  filterFlags: Flags,
  showFor: (settings: Settings, filters: never) => Show,
) {
  return command<Flags & typeof flags>({
    about: [
      `Shows ${what}, a line each: those that come until it is interrupted, or with --until-end those that are there.`,
      'Several filters must all match.',
    ].join('\n'),
    flags: { ...filterFlags, ...flags },
    async run(values) {
      const { since, 'from-beginning': fromBeginning, 'until-end': untilEnd = false, limit, json, config } = values
      if (untilEnd && since === undefined && !fromBeginning) {
        throw new UsageError('--until-end needs --since TIME or --from-beginning: what comes from now on has no end')
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
      const bus = openBus(settings, telemetry)
      try {
        const count = (await bus.partitions([topic])).get(topic)
        if (count === undefined) throw new Error(`there is no topic ${topic}: busgate topics create makes it`)
        if (!untilEnd) process.stderr.write(`Reading ${topic}; Ctrl-C ends.\n`)
        const from = fromBeginning ? 'earliest' : (since ?? 'latest')
        const ending = end.signal
        const taking =
          untilEnd && typeof filters.id === 'bigint'
            ? recordsOf(bus, topic, { id: filters.id, from, ending, count })
            : topicRecords({ bus, topic, from: () => from, untilEnd, clock: systemClock, telemetry, ending })
        let left = limit ?? Number.POSITIVE_INFINITY
        for await (const taken of taking) {
          const [shown] = isReadable(taken) ? await show([taken.record], taken.from) : []
          if (!shown) continue
          await printLine(printed(shown, json))
          if (--left === 0) break
        }
        return signal === 'SIGINT' ? 130 : 0
      } finally {
        await bus.close()
      }
    },
  })
}

/** The records of one id stand on one partition, because the id is their key. */
async function* recordsOf(
  bus: Bus,
  topic: string,
  { id, from, ending, count }: { id: bigint; from: From; ending: AbortSignal; count: number },
): AsyncGenerator<Taken, void> {
  const key = Buffer.from(String(id))
  const place = { topic, partition: partitionOf(key, count), owned: true, done() {} }
  const { records } = await bus.search(place, { from, needles: [{ key }], ending })
  for (const record of records) yield { from: place, record }
}

/** Says of a batch that cannot be read why. */
function isReadable({ from: { topic, partition }, record: { unreadable } }: Taken): boolean {
  if (unreadable) process.stderr.write(`${topic}/${partition}: ${printable(unreadable.message)}\n`)
  return !unreadable
}

function showLetters(_settings: Settings, filters: Parameters<typeof showDeadLetters>[2]): Show {
  return (records, from) => showDeadLetters(records, from, filters)
}
