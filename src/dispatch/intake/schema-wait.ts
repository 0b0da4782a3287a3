import type { Session } from '../../bus/port.ts'
import { type Clock, sleep } from '../../clock.ts'
import type { Decoder } from '../../records/decoder.ts'
import type { Telemetry } from '../../telemetry/events.ts'

export interface SchemaWaitOptions<T> {
  session: Session
  decoder: Pick<Decoder<unknown>, 'prepare'>
  /** Called with what waited for a schema once it is known, in the order it came. */
  again: (items: readonly T[]) => void
  clock: Clock
  telemetry: Telemetry
}

/** While the registry cannot be asked, it is asked again this often. */
const retryMs = 1000

/** SchemaWait is where records wait whose writer's schema is not known yet. Their neighbours go on. */
export class SchemaWait<T> {
  readonly #options: SchemaWaitOptions<T>
  readonly #waiting = new Map<number, T[]>()

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

  /** Takes back all that waits: through another session its schema may be known by now, and nothing is to overtake it. */
  takeBack(): T[] {
    const lists = [...this.#waiting.values()]
    return lists.flatMap(items => items.splice(0))
  }

  async #learn(schemaId: number): Promise<void> {
    const { session, decoder, telemetry, clock, again } = this.#options
    for (let asked = 1; session.alive; asked++) {
      try {
        await decoder.prepare(schemaId)
        if (asked > 1) telemetry.emit('registry.available', { schemaId })
        break
      } catch (error) {
        telemetry.emit('registry.unavailable', { schemaId, error: error as Error })
        await sleep(clock, retryMs)
      }
    }
    const items = this.#waiting.get(schemaId) ?? []
    this.#waiting.delete(schemaId)
    if (session.alive) again(items)
  }
}
