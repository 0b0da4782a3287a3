import { busOf } from '../bus/open.ts'
import type { BusRecord } from '../bus/port.ts'
import { requireBrokers, type Settings } from '../config/index.ts'
import { errorHeaders, originOfLetter } from '../records/dead-letter.ts'
import type { SendResult, StatusEvent } from '../records/generated.ts'
import { registryOf } from '../records/registry.ts'
import { Telemetry } from '../telemetry/events.ts'
import { logEvents } from '../telemetry/logs.ts'
import type { CommandPlace } from './final.ts'
import { decoderOf, type ReaderOptions, resultsOf, type Source, statusesOf } from './read.ts'
import { SharedBus } from './shared-bus.ts'
import { everyone, TopicWatch, type WatchedTopic } from './topic-watch.ts'

/** What a dead letter says of a command, or of a range of them. */
export interface LetterFacts extends CommandPlace {
  lastOffset: number
  code: string
  message: string
  perhapsSent: boolean
}

/** The topics that a service waits for, each read once for all that waits. */
export interface Watches {
  results: TopicWatch<SendResult>
  statuses: TopicWatch<StatusEvent>
  letters: TopicWatch<LetterFacts>
}

interface Known {
  settings: Settings
  options: ReaderOptions
  watches: Watches
}

/** By their bus, or else by their settings, so that they go with a bus that nobody uses any more. */
const known = new WeakMap<object, Known[]>()

/** The watches of these settings; the same ones for the same options. @throws SettingsError when the settings name no brokers */
export function watchesOf(settings: Settings, { bus, registry, logger }: ReaderOptions): Watches {
  requireBrokers(settings)
  const key = bus ?? settings
  const ofKey = known.get(key) ?? []
  known.set(key, ofKey)
  const same = ofKey.find(
    one => one.settings === settings && one.options.registry === registry && one.options.logger === logger,
  )
  if (same) return same.watches
  const options: ReaderOptions = { ...(bus && { bus }), ...(registry && { registry }), ...(logger && { logger }) }
  const watches = openWatches(settings, options)
  ofKey.push({ settings, options, watches })
  return watches
}

function openWatches(settings: Settings, options: ReaderOptions): Watches {
  const telemetry = new Telemetry()
  if (options.logger) logEvents(telemetry, options.logger)
  const buses = new SharedBus(
    () => busOf(settings, options.bus, telemetry),
    async bus => {
      if (!options.bus) await bus.close()
    },
  )
  const registry = options.registry ?? registryOf(settings)
  const watch = <T>(topic: WatchedTopic<T>) => new TopicWatch(topic, buses, telemetry)
  const byKey = <T>(source: Source<T>): WatchedTopic<T> => ({
    topic: source.topic,
    keyOf: ({ key }) => key?.toString() ?? null,
    decode: decoderOf(source, registry),
  })
  return {
    results: watch(byKey(resultsOf(settings))),
    statuses: watch(byKey(statusesOf(settings))),
    letters: watch({
      topic: settings.topics.deadLetters,
      keyOf: keyOfLetter,
      decode: async ({ record }) => factsOf(record),
    }),
  }
}

/** The key by which the dead letter of a command is found. */
export const letterKeyOf = ({ topic, partition, offset }: CommandPlace): string => `${topic}/${partition}@${offset}`

function keyOfLetter(letter: BusRecord): string | typeof everyone | null {
  if (letter.headers[errorHeaders.lastOffset] !== undefined) return everyone
  const origin = originOfLetter(letter)
  return origin && letterKeyOf(origin)
}

function factsOf(letter: BusRecord): LetterFacts | null {
  const origin = originOfLetter(letter)
  if (!origin) return null
  const { headers } = letter
  const { topic, partition, offset } = origin
  const lastOffset = Number(headers[errorHeaders.lastOffset] ?? offset)
  const [code, message] = [String(headers[errorHeaders.code]), String(headers[errorHeaders.message])]
  const perhapsSent = headers[errorHeaders.perhapsSent] !== undefined
  return { topic, partition, offset, lastOffset, code, message, perhapsSent }
}
