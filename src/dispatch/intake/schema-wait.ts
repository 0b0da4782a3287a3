import type { Session } from '../../bus/port.ts'
import { type Clock, sleep } from '../../clock.ts'
import type { Decoder } from '../../records/decoder.ts'
import type { Telemetry } from '../../telemetry/events.ts'

export interface SchemaWaitOptions<T> {
  session: Session
  decoder: Pick<Decoder<unknown>, 'prepare'>
  outage: RegistryOutage
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

/** Holds records whose writer's schema is not loaded yet. Other records continue. */
export class SchemaWait<T> {
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
    void this.#learn(schemaId)
  }

  /** Returns all held items. Another session may have loaded their schema, and later records must not overtake them. */
  takeBack(): T[] {
    const lists = [this.#ready, ...this.#waiting.values()]
    return lists.flatMap(items => items.splice(0))
  }

  async #learn(schemaId: number): Promise<void> {
    const { session, decoder, outage, clock } = this.#options
    const wait = { schemaId }
    while (session.alive) {
      try {
        await decoder.prepare(schemaId)
        break
      } catch (error) {
        if (session.alive) outage.begin(wait, error as Error)
        await sleep(clock, retryMs)
      }
    }
    outage.end(wait, session.alive)
    const items = this.#waiting.get(schemaId) ?? []
    this.#waiting.delete(schemaId)
    this.#handBack(items)
  }

  #handBack(items: readonly T[]): void {
    const isFirst = this.#ready.length === 0
    for (const item of items) this.#ready.push(item)
    if (this.#waiting.size === 0) this.#flush()
    else if (isFirst && items.length > 0) void sleep(this.#options.clock, gatherMs).then(() => this.#flush())
  }

  #flush(): void {
    const items = this.#ready.splice(0)
    if (items.length > 0 && this.#options.session.alive) this.#options.again(items)
  }
}

/** Schemas that no session can load, because the registry is unavailable. Logged once a minute. */
export class RegistryOutage {
  readonly #telemetry: Telemetry
  readonly #clock: Clock
  readonly #waits = new Set<{ schemaId: number }>()
  #toldAt = Number.NEGATIVE_INFINITY

  constructor({ telemetry, clock }: { telemetry: Telemetry; clock: Clock }) {
    this.#telemetry = telemetry
    this.#clock = clock
  }

  begin(wait: { schemaId: number }, error: Error): void {
    this.#waits.add(wait)
    const now = this.#clock.monotonic()
    if (now - this.#toldAt < tellMs) return
    this.#toldAt = now
    this.#telemetry.emit('registry.unavailable', { ...this.#extent(), error })
  }

  /** @param answered whether the registry answered; otherwise the session has ended */
  end(wait: { schemaId: number }, answered: boolean): void {
    if (!this.#waits.delete(wait) || this.#waits.size > 0) return
    this.#toldAt = Number.NEGATIVE_INFINITY
    if (answered) this.#telemetry.emit('registry.available', {})
  }

  get reason(): string | null {
    const { schemaId, count } = this.#extent()
    if (count === 0) return null
    return `the registry cannot be asked for ${count === 1 ? `schema ${schemaId}` : `${count} schemas, one of them ${schemaId}`}`
  }

  #extent(): { schemaId: number | null; count: number } {
    const ids = new Set([...this.#waits].map(({ schemaId }) => schemaId))
    const [first = null] = ids
    return { schemaId: first, count: ids.size }
  }
}
