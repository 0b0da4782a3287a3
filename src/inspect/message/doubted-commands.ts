import { Buffer } from 'node:buffer'
import type { BusRecord } from '../../bus/port.ts'
import { replayedFromHeader } from '../../records/dead-letter.ts'
import { originOf } from '../../records/doubt.ts'
import type { Doubt } from '../../records/generated.ts'
import { headerText, placeText, type RecordPosition } from '../dead-letters/letter.ts'

const mostBytes = 4 * 1024 * 1024
const longestHeader = 300

/** Records of commands from their doubts, in case their topic has them no longer. */
export class DoubtedCommands {
  readonly #records = new Map<string, BusRecord>()
  #bytes = 0

  keep(doubt: Doubt): void {
    const { length } = doubt.value
    if (doubt.omitted !== null || this.#bytes + length > mostBytes) return
    this.#bytes += length
    const { topic, partition, record } = originOf(doubt)
    const { offset, timestamp, value, headers } = record
    const replayedFrom = headerText(headers[replayedFromHeader], longestHeader)
    const kept = {
      ...{ offset, timestamp, key: null },
      value: value && Buffer.from(value), // not a view on a batch
      headers: replayedFrom === null ? {} : { [replayedFromHeader]: replayedFrom },
    }
    this.#records.set(placeText({ topic, partition, offset }), kept)
  }

  at(place: RecordPosition): BusRecord | null {
    return this.#records.get(placeText(place)) ?? null
  }
}
