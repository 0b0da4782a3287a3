import type { BusRecord } from '../port.ts'
import { headerPairs } from '../record-headers.ts'
import type { BacklogShare } from './backlog.ts'
import { OffsetRing } from './offset-ring.ts'
import type { Window } from './window.ts'

/** The memory that the structures of a record, and of each of its headers, take. */
const structureBytes = 200

function sizeOf(record: BusRecord): number {
  let bytes = structureBytes + (record.contentBytes ?? contentBytesOf(record))
  for (const [name, content] of headerPairs(record.headers)) bytes += structureBytes + name.length + content.length
  return bytes
}

const contentBytesOf = ({ key, value }: BusRecord) => (key?.length ?? 0) + (value?.length ?? 0)

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
    const size = sizeOf(record)
    this.#sizes.set(record.offset, size)
    this.#share.hold(size)
  }

  letGo(offset: number): void {
    const size = this.#sizes.get(offset)
    if (size === 0) return
    this.#sizes.set(offset, 0)
    this.#share.letGo(size)
  }
}
