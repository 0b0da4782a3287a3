import { openBus } from '../../bus/open.ts'
import type { BusRecord, TopicPartition } from '../../bus/port.ts'
import type { Settings } from '../../config/index.ts'
import { Telemetry } from '../../telemetry/events.ts'
import { command, toggle, whole } from '../command.ts'
import { printable } from '../printable.ts'
import { configFlag, settingsWithBrokers } from '../settings.ts'
import { untilSignal } from '../signals.ts'
import { printed, type Show, showDeadLetters, showResults, showStatuses } from '../tail/show.ts'

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
        for (const one of shown.slice(0, left)) process.stdout.write(`${printed(one, json)}\n`)
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
    if (unreadable) process.stderr.write(`${topic}/${partition}: ${printable(unreadable.message)}\n`)
    return !unreadable
  })
}
