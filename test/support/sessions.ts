import type { BusRecord, OutgoingRecord } from '../../src/bus/port.ts'
import type { Acquired, Batch, PartitionDriver } from '../../src/bus/session/driver.ts'

/** The broker's side of one partition: its log, its checkpoint, and which epoch of its ownership may commit. */
export class PartitionLog {
  readonly topic = 'commands'
  readonly partition = 0
  readonly records: BusRecord[] = []
  low = 0
  end = 0
  committed: Acquired['committed'] = null
  epoch = 0
  readonly published: OutgoingRecord[] = []
  /** Sees every transaction right after it was committed. */
  onCommitted: (records: readonly OutgoingRecord[]) => void = () => {}

  /** @param gap offsets without a record before each */
  append(count: number, gap = 0): void {
    for (let i = 0; i < count; i++) {
      const offset = this.end + gap
      this.records.push({ offset, timestamp: 0, key: null, value: Buffer.from(`command ${offset}`), headers: {} })
      this.end = offset + 1
    }
  }

  /** The log ends with the marker of a transaction. */
  appendGap(length = 1): void {
    this.end += length
  }
}

/** How a commit ends: committed or not, and what its owner hears. */
export type Ending = 'ok' | 'lost answer' | 'failed'

/** One epoch of a partition's ownership whose every step takes as long as the test likes. */
export class ScriptedDriver implements PartitionDriver {
  readonly log: PartitionLog
  /** -1 until it was acquired. */
  epoch = -1
  position = 0
  paused = true
  released = false
  readonly seeks: number[] = []
  #acquiring: ((error: Error | null) => void) | null = null
  #committing: ((ending: Ending) => void) | null = null

  constructor(log: PartitionLog) {
    this.log = log
  }

  /** Whether nobody has taken the partition over since. */
  get current(): boolean {
    return this.epoch === this.log.epoch
  }

  get acquiring(): boolean {
    return this.#acquiring !== null
  }

  get committing(): boolean {
    return this.#committing !== null
  }

  acquire(): Promise<Acquired> {
    this.epoch = ++this.log.epoch
    const { committed, low, end } = this.log
    return new Promise((resolve, reject) => {
      this.#acquiring = error => (error ? reject(error) : resolve({ committed, low, high: end }))
    })
  }

  acquired(error: Error | null = null): void {
    this.#acquiring?.(error)
    this.#acquiring = null
  }

  commit(records: readonly OutgoingRecord[], offset: number, metadata: string): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#committing = ending => {
        const applied = this.current && ending !== 'failed'
        if (applied) {
          this.log.published.push(...records)
          this.log.committed = { offset, metadata }
          this.log.onCommitted(records)
        }
        if (applied && ending === 'ok') resolve()
        else reject(new Error(this.current ? 'no answer' : 'INVALID_PRODUCER_EPOCH'))
      }
    })
  }

  endCommit(ending: Ending = 'ok'): void {
    const end = this.#committing
    this.#committing = null
    end?.(ending)
  }

  /** The next fetch, with `most` records at most. */
  fetch(most = Number.POSITIVE_INFINITY): Batch {
    const { topic, partition, end } = this.log
    const fetchedOffset = this.position
    const rest = this.log.records.filter(({ offset }) => offset >= fetchedOffset)
    const records = rest.slice(0, most)
    this.position = records.length === rest.length ? end : records.at(-1)!.offset + 1
    return { topic, partition, fetchedOffset, records, nextOffset: this.position, highWatermark: end }
  }

  seek(offset: number): void {
    this.seeks.push(offset)
    this.position = offset
  }

  pause(): void {
    this.paused = true
  }

  resume(): void {
    this.paused = false
  }

  async release(): Promise<void> {
    this.released = true
  }
}
