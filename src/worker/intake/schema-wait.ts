import type { BusRecord, Session } from '../../bus/port.ts'
import { appendedBy } from '../../bus/record-time.ts'
import { type Clock, sleep } from '../../clock.ts'
import type { Decoder } from '../../records/decoder.ts'
import type { Telemetry } from '../../telemetry/events.ts'
import type { RecordPlace } from '../../telemetry/stable-events.ts'
import { Told } from '../../told.ts'
import { type StuckPartition, stuckText } from '../../vocabulary/holds.ts'
import { count } from '../../words.ts'

export interface SchemaWaitOptions<T> {
  session: Session
  decoder: Pick<Decoder<unknown>, 'prepare'>
  schemaWaits: SchemaWaits
  /** Called with items whose schema is loaded, in their original order. */
  again: (items: readonly T[]) => void
  clock: Clock
}

/** Retry interval while the registry is unavailable. */
const retryMs = 1000
/** How long ready items are gathered while other schemas are loading, since foreign bytes can name any number of schemas. */
const gatherMs = 1000
/** Shortest interval between log lines while the registry is unavailable. */
const tellMs = 60_000
/** Most schemas named in warnings: foreign bytes can name any number. */
const mostNamed = 5

/** Holds records whose writer's schema is not loaded yet. Other records continue. */
export class SchemaWait<T extends { record: BusRecord }> {
  readonly #options: SchemaWaitOptions<T>
  readonly #waiting = new Map<number, T[]>()
  /** Items whose schema is loaded. */
  #ready: T[] = []

  constructor(options: SchemaWaitOptions<T>) {
    this.#options = options
  }

  add(schemaId: number, item: T): void {
    const waiting = this.#waiting.get(schemaId)
    if (waiting) {
      waiting.push(item)
      return
    }
    this.#waiting.set(schemaId, [item])
    void this.#learn(schemaId, item.record)
  }

  /** Returns all held items. Another session may have loaded their schema, and later records must not overtake them. */
  takeBack(): T[] {
    const lists = [this.#ready, ...this.#waiting.values()]
    return lists.flatMap(items => items.splice(0))
  }

  async #learn(schemaId: number, { offset, timestamp }: BusRecord): Promise<void> {
    const { session, decoder, schemaWaits, clock } = this.#options
    const { topic, partition } = session
    const wait = { schemaId, place: { topic, partition, offset }, since: appendedBy(timestamp, clock.now()) }
    schemaWaits.begin(wait)
    while (session.alive) {
      try {
        await decoder.prepare(schemaId)
        break
      } catch (error) {
        schemaWaits.unavailable(wait, error as Error)
        await sleep(clock, retryMs)
      }
    }
    schemaWaits.end(wait, session.alive)
    const items = this.#waiting.get(schemaId) ?? []
    this.#waiting.delete(schemaId)
    this.#handBack(items)
  }

  #handBack(items: readonly T[]): void {
    const isFirst = this.#ready.length === 0
    for (const item of items) this.#ready.push(item)
    if (this.#waiting.size === 0) this.#flush()
    else if (isFirst) void sleep(this.#options.clock, gatherMs).then(() => this.#flush())
  }

  #flush(): void {
    const items = this.#ready.splice(0)
    if (items.length > 0 && this.#options.session.alive) this.#options.again(items)
  }
}

/** A schema that a partition's records wait for. */
interface Waited {
  schemaId: number
  /** The first record that waits for it. */
  place: RecordPlace
  /** When that record was appended, milliseconds since 1970. */
  since: number
}

/** All schemas that this process's sessions wait for. An unavailable registry is logged once a minute. */
export class SchemaWaits {
  readonly #telemetry: Telemetry
  readonly #clock: Clock
  readonly #waits = new Set<Waited>()
  /** Those that the registry cannot be asked for now. */
  readonly #blocked = new Set<Waited>()
  readonly #told = new Told(tellMs)

  constructor({ telemetry, clock }: { telemetry: Telemetry; clock: Clock }) {
    this.#telemetry = telemetry
    this.#clock = clock
  }

  begin(wait: Waited): void {
    this.#waits.add(wait)
  }

  unavailable(wait: Waited, error: Error): void {
    this.#blocked.add(wait)
    if (!this.#told.isNew('unavailable', this.#clock.monotonic())) return
    const [first] = this.#blocked
    const { schemaId, place } = first!
    this.#telemetry.emit('registry.unavailable', { schemaId, count: this.#count, place, error })
  }

  /** @param answered whether the registry answered; otherwise the session has ended */
  end(wait: Waited, answered: boolean): void {
    this.#waits.delete(wait)
    if (!this.#blocked.delete(wait) || this.#blocked.size > 0) return
    this.#told.clear()
    if (answered) this.#telemetry.emit('registry.available', {})
  }

  /** Append time of the topic's oldest record that waits for its schema, milliseconds since 1970; null if there is none. */
  oldestTimestamp(topic: string): number | null {
    const times = [...this.#waits].filter(({ place }) => place.topic === topic).map(({ since }) => since)
    return times.length > 0 ? Math.min(...times) : null
  }

  /** Whether records wait for an unavailable registry. */
  get isBlocked(): boolean {
    return this.#blocked.size > 0
  }

  /** The first records that wait for an unavailable registry, by partition and schema. */
  get blocked(): StuckPartition[] {
    return [...this.#blocked].map(({ schemaId, place, since }) => ({ ...place, why: 'schema', schemaId, since }))
  }

  /** Says which records wait for an unavailable registry; empty if none do. */
  warnings(): string[] {
    const { blocked } = this
    const others = blocked.length - mostNamed
    return [
      ...blocked.slice(0, mostNamed).map(stuckText),
      ...(others > 0 ? [`records wait for ${count(others, 'more schema')}`] : []),
    ]
  }

  /** Number of schemas that the registry cannot be asked for. */
  get #count(): number {
    return new Set([...this.#blocked].map(({ schemaId }) => schemaId)).size
  }
}
