import type { BusRecord } from '../port.ts'
import { headerPairs } from '../record-headers.ts'
import type { BacklogShare } from './backlog.ts'
import { OffsetRing } from './offset-ring.ts'
import type { Window } from './window.ts'

/** The memory that the structures of a record, and of each of its headers, take. */
const structureBytes = 200

/**
 * A record counts as if this many times its content was made of it, until somebody says how much was. A control character of
 * one byte becomes six characters of JSON, with two bytes of memory each where one of the text is beyond U+00FF.
 */
const mostMadeOf = 12

/** The memory of a record, and of what was made of it. */
function sizeOf(record: BusRecord, madeBytes: number): number {
  let bytes = structureBytes + contentBytesOf(record) + madeBytes
  for (const [name, content] of headerPairs(record.headers)) bytes += structureBytes + name.length + content.length
  return bytes
}

/** The bytes of a record's key and value. */
export function contentBytesOf(record: BusRecord): number {
  return record.contentBytes ?? (record.key?.length ?? 0) + (record.value?.length ?? 0)
}

/** UndoneRecords knows which records of a window are in memory and not done yet, and counts them to the session's share. */
export class UndoneRecords {
  readonly #share: BacklogShare
  /** Bytes of each record; 0: it is not in memory. */
  readonly #sizes: OffsetRing

  constructor(share: BacklogShare, window: Window) {
    this.#share = share
    this.#sizes = new OffsetRing(window, Uint32Array)
  }

  has(offset: number): boolean {
    return this.#sizes.get(offset) !== 0
  }

  hold(record: BusRecord): void {
    const size = sizeOf(record, mostMadeOf * contentBytesOf(record))
    this.#sizes.set(record.offset, size)
    this.#share.hold(size)
  }

  /** Counts what was really made of a record. @returns the bytes that it counts for; 0: it is not held any more */
  made(record: BusRecord, bytes: number): number {
    const before = this.#sizes.get(record.offset)
    if (before === 0) return 0
    const size = sizeOf(record, bytes)
    this.#sizes.set(record.offset, size)
    this.#share.resize(size - before)
    return size
  }

  letGo(offset: number): void {
    const size = this.#sizes.get(offset)
    if (size === 0) return
    this.#sizes.set(offset, 0)
    this.#share.letGo(size)
  }
}
