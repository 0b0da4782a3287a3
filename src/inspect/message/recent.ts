import { allPartitions } from '../../bus/partitions.ts'
import type { RecordsHandler } from '../../bus/port.ts'
import { scanPartition } from '../../bus/scan.ts'
import { typeOfMessage } from '../../records/command.ts'
import { createDecoder } from '../../records/decoder.ts'
import type { SendCommand } from '../../records/generated.ts'
import { schemas } from '../../records/schemas.ts'
import { decodeAll } from '../scan.ts'
import { noFindings, type SearchedLog } from './findings.ts'
import type { MessageSearchOptions } from './search.ts'

/** A command in short. */
export interface RecentCommand {
  id: bigint
  account: string
  type: string
  tenant: string | null
  correlationId: string | null
  /** When its record was written, milliseconds since 1970. */
  time: number
}

interface RecentCommands {
  /** The newest first. */
  newest: RecentCommand[]
  matching: number
  searched: SearchedLog[]
  gaps: string[]
}

/**
 * The newest commands of some kind: every command that is no older than `since` is decoded, since their topics have no order
 * to look things up by.
 */
export async function recentCommands(
  { bus, registry, settings, since, ending }: MessageSearchOptions,
  isOne: (command: SendCommand) => boolean,
  most: number,
): Promise<RecentCommands> {
  const decoder = createDecoder<SendCommand>(schemas.command, registry)
  const { searched, gaps } = noFindings()
  let newest: RecentCommand[] = []
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
        newest.push({ id, account, type: typeOfMessage(one.value), tenant, correlationId, time })
        matching++
      }
      if (newest.length > 2 * most) keepNewest()
    }
    await scanPartition(bus, { topic, partition }, since, note, ending)
    searched.push(log)
  }

  const { commands } = settings.topics
  const counts = await bus.partitions(commands)
  for (const topic of commands) if (!counts.has(topic)) gaps.push(`There is no topic ${topic}.`)
  const places = [...counts].flatMap(([topic, count]) => allPartitions(topic, count))
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
