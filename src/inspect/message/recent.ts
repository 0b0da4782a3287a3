import { allPartitions } from '../../bus/partitions.ts'
import type { Bus, RecordsHandler, TopicPartition } from '../../bus/port.ts'
import { scanPartition } from '../../bus/scan.ts'
import { typeOfMessage } from '../../records/command.ts'
import { createDecoder } from '../../records/decoder.ts'
import type { SendCommand, SendResult } from '../../records/generated.ts'
import { type AvroRecord, schemas } from '../../records/schemas.ts'
import { decodeAll } from '../scan.ts'
import { noFindings, type SearchedLog } from './findings.ts'
import type { MessageSearchOptions } from './search.ts'

/** A message that was found by its command or its result, in short. */
export interface RecentMessage {
  id: bigint
  account: string
  type: string
  tenant: string | null
  correlationId: string | null
  /** When its record was written, milliseconds since 1970. */
  time: number
}

export interface RecentMessages {
  /** The newest first. */
  newest: RecentMessage[]
  matching: number
  searched: SearchedLog[]
  gaps: string[]
}

/**
 * The messages of the newest commands of some kind: every command that is no older than `since` is decoded, since their
 * topics have no order to look things up by.
 */
export function recentCommands(
  options: MessageSearchOptions,
  isOne: (command: SendCommand) => boolean,
  most: number,
): Promise<RecentMessages> {
  const { commands: topics } = options.settings.topics
  return recent<SendCommand>(options, { topics, schema: schemas.command, isOne, typeOf: typeOfMessage, most })
}

/** The messages of the newest results of some kind, in the same way. */
export function recentResults(
  options: MessageSearchOptions,
  isOne: (result: SendResult) => boolean,
  most: number,
): Promise<RecentMessages> {
  const topics = [options.settings.topics.results]
  return recent<SendResult>(options, { topics, schema: schemas.result, isOne, typeOf: ({ type }) => type, most })
}

interface RecentQuery<T> {
  topics: readonly string[]
  schema: AvroRecord
  isOne(value: T): boolean
  typeOf(value: T): string
  most: number
}

async function recent<T extends SendCommand | SendResult>(
  { bus, registry, since, ending }: MessageSearchOptions,
  { topics, schema, isOne, typeOf, most }: RecentQuery<T>,
): Promise<RecentMessages> {
  const decoder = createDecoder<T>(schema, registry)
  const { searched, gaps } = noFindings()
  let newest: RecentMessage[] = []
  let matching = 0
  const keepNewest = () => {
    newest = newest.toSorted((a, b) => b.time - a.time).slice(0, most)
  }

  async function scan(topic: string, partition: number): Promise<void> {
    const log: SearchedLog = { topic, partition, records: 0, since: null, olderAreGone: false, unreadable: 0 }
    const note: RecordsHandler = async (_, records) => {
      const decoded = await decodeAll(decoder, records)
      log.records += records.length
      log.since ??= records[0]?.timestamp ?? null
      for (const [i, one] of decoded.entries()) {
        if (records[i]!.unreadable) log.unreadable++
        if (!one.ok || !isOne(one.value)) continue
        const { id, account, tenant, correlationId } = one.value
        const time = records[i]!.timestamp
        newest.push({ id, account, type: typeOf(one.value), tenant, correlationId, time })
        matching++
      }
      if (newest.length > 2 * most) keepNewest()
    }
    await scanPartition(bus, { topic, partition }, since, note, ending)
    searched.push(log)
  }

  const places = await placesOf(bus, topics, gaps)
  await Promise.all(
    places.map(({ topic, partition }) =>
      scan(topic, partition).catch(error => {
        if (!ending.aborted) gaps.push(`${topic}/${partition} could not be searched: ${(error as Error).message}`)
      }),
    ),
  )
  ending.throwIfAborted()
  keepNewest()
  return { newest, matching, searched, gaps }
}

async function placesOf(bus: Bus, topics: readonly string[], gaps: string[]): Promise<TopicPartition[]> {
  const counts = await bus.partitions(topics)
  for (const topic of topics) if (!counts.has(topic)) gaps.push(`There is no topic ${topic}.`)
  return [...counts].flatMap(([topic, count]) => allPartitions(topic, count))
}
