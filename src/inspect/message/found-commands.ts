import type { BusRecord, TopicPartition } from '../../bus/port.ts'
import { typeOfMessage } from '../../records/command.ts'
import { replayedFromHeader } from '../../records/dead-letter.ts'
import type { SendCommand } from '../../records/generated.ts'
import { copiedFrom, keyText, readLater } from '../../records/later.ts'
import { bounded } from '../bounded.ts'
import { headerText } from '../dead-letters/letter.ts'
import type { RecordReader } from '../decoding.ts'
import { type FoundCommand, type Sighting, sightingOf } from './findings.ts'

/** Most records on the table of one id: it waits once for each of its records. */
const mostWaiting = 100
const longestHeader = 300

type Place = Pick<FoundCommand, 'progress' | 'ahead'>

/** A command as it was found; a copy of one that waited is at the place and time of the record that it is a copy of. */
export function commandSighting(
  tp: TopicPartition,
  record: BusRecord,
  command: SendCommand,
  at: Place,
): Sighting<FoundCommand> {
  const sighting = sightingOf(tp, record, foundCommand(record, command, at))
  const { key, facts } = copiedFrom(record) ?? {}
  const isCopy = key?.id === command.id && key.topic === tp.topic && key.partition === tp.partition
  if (!key || !facts || !isCopy) return sighting
  return { ...sighting, place: { ...tp, offset: key.offset }, time: facts.timestamp }
}

function foundCommand(record: BusRecord, command: SendCommand, at: Place): FoundCommand {
  const replayedFrom = headerText(record.headers[replayedFromHeader], longestHeader)
  return { command, type: typeOfMessage(command), replayedFrom, schemaId: schemaIdIn(record), ...at }
}

/** The schema id of the Confluent wire format; null if the value has none. */
export const schemaIdIn = ({ value }: BusRecord): number | null =>
  value && value.length >= 5 && value[0] === 0 ? value.readInt32BE(1) : null

/** The commands with one id that wait, by the last record of each on the table. */
export class WaitingCommands {
  readonly #id: bigint
  readonly #reader: RecordReader<SendCommand>
  readonly #waiting = new Map<string, Sighting<FoundCommand>>()

  constructor(id: bigint, reader: RecordReader<SendCommand>) {
    this.#id = id
    this.#reader = reader
  }

  get all(): Iterable<Sighting<FoundCommand>> {
    return this.#waiting.values()
  }

  /** Takes records of the table. */
  async take(tp: TopicPartition, records: readonly BusRecord[]): Promise<void> {
    for (const record of records) {
      const entry = readLater(record)
      if (entry?.key.id !== this.#id) continue
      const { topic, partition, offset } = entry.key
      const key = keyText(entry.key)
      this.#waiting.delete(key)
      if (entry.state !== 'waits' || this.#waiting.size >= mostWaiting) continue
      const command = await this.#reader.read(tp, record)
      if (command?.id !== this.#id) continue
      const { value } = bounded(foundCommand(record, command, { progress: 'later', ahead: null }))
      this.#waiting.set(key, { place: { topic, partition, offset }, time: entry.facts.timestamp, value })
    }
  }
}
