import type { BusRecord, RecordHeaders } from '../bus/port.ts'
import type { Clock } from '../clock.ts'
import { type Decoder, decodePatiently, isReadableLater } from '../records/decoder.ts'
import type { SendResult, StatusEvent } from '../records/generated.ts'

/** Partition and offset of a status event. */
export interface StatusPlace {
  partition: number
  offset: number
}

/** Most messages with status events that cannot be read yet. With more, reading waits until they can. */
const mostMessages = 10_000
/** Most of these events of one message; further ones are not looked at again. */
const mostPlaces = 8

/** Places of status events whose schema is missing now, by message: one of them may be its verdict. */
export class UnreadStatuses {
  readonly #ofKeys = new Map<string, { places: StatusPlace[]; at: number }>()

  get isFull(): boolean {
    return this.#ofKeys.size >= mostMessages
  }

  /** @param at time of the record, milliseconds since 1970 */
  add(key: string, place: StatusPlace, at: number): void {
    const { places } = this.#ofKeys.get(key) ?? { places: [] }
    this.#ofKeys.set(key, { places: placesOf([...places, place]), at })
  }

  of(key: string): readonly StatusPlace[] {
    return this.#ofKeys.get(key)?.places ?? []
  }

  forgetBefore(timestamp: number): void {
    for (const [key, { at }] of this.#ofKeys) if (at < timestamp) this.#ofKeys.delete(key)
  }
}

/** The places without repeated ones, and not too many. */
export function placesOf(places: readonly StatusPlace[]): StatusPlace[] {
  const byName = new Map(places.map(place => [nameOf(place), place]))
  return [...byName.values()].slice(0, mostPlaces)
}

const nameOf = ({ partition, offset }: StatusPlace) => `${partition}@${offset}`

export const placesText = (places: readonly StatusPlace[]): string => places.map(nameOf).join()

/** Reads the places in a header; none if it is missing or foreign. */
export function placesIn(value: RecordHeaders[string]): StatusPlace[] {
  const found = String(value ?? '').matchAll(/(?<=^|,)(\d{1,9})@(\d{1,15})(?=,|$)/g)
  return placesOf(
    Array.from(found, ([, partition, offset]) => ({ partition: Number(partition), offset: Number(offset) })),
  )
}

interface ReadAgainOptions {
  recordAt: (place: StatusPlace) => Promise<BusRecord | undefined>
  decoder: Decoder<StatusEvent>
  clock: Clock
  wanted: () => boolean
}

/**
 * Reads events again whose schema was missing.
 * @returns whether one of them gives the message's verdict; else those that still cannot be read
 */
export async function readAgain(
  { recordAt, decoder, clock, wanted }: ReadAgainOptions,
  places: readonly StatusPlace[],
  { id, account, hooked }: SendResult,
): Promise<'verdict' | StatusPlace[]> {
  const unread: StatusPlace[] = []
  for (const place of places) {
    const record = await recordAt(place)
    const decoded = record && (await decodePatiently(decoder, record.value, clock, wanted))
    if (!decoded) continue
    if (!decoded.ok) {
      if (isReadableLater(decoded.error)) unread.push(place)
      continue
    }
    const { final, verified, ...event } = decoded.value
    if (final && event.id === id && event.account === account && (verified || hooked === false)) return 'verdict'
  }
  return unread
}
