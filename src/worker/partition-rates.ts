import { PartitionMap } from '../bus/partitions.ts'
import type { TopicPartition } from '../bus/port.ts'
import type { Clock } from '../clock.ts'
import type { Events, Telemetry } from '../telemetry/events.ts'

const windowMs = 60_000

interface Settled {
  openedAt: number
  /** Settled records, each weighed less the older it is. */
  sum: number
  at: number
}

/** How many records a second were settled on each owned partition: exponential averages of a minute. */
export class PartitionRates {
  readonly #clock: Clock
  readonly #telemetry: Telemetry
  readonly #partitions = new PartitionMap<Settled>()

  constructor(telemetry: Telemetry, clock: Clock) {
    this.#telemetry = telemetry
    this.#clock = clock
    telemetry.on('session.opened', this.#opened)
    telemetry.on('session.closed', this.#closed)
    telemetry.on('cycle.committed', this.#committed)
  }

  /** Null while the partition has not been open. */
  perSecond(tp: TopicPartition): number | null {
    const settled = this.#partitions.get(tp)
    if (!settled) return null
    const now = this.#clock.monotonic()
    const seen = 1 - Math.exp((settled.openedAt - now) / windowMs)
    return seen > 0 ? (faded(settled, now) * 1000) / (windowMs * seen) : 0
  }

  stop(): void {
    this.#telemetry.off('session.opened', this.#opened)
    this.#telemetry.off('session.closed', this.#closed)
    this.#telemetry.off('cycle.committed', this.#committed)
  }

  readonly #opened = (tp: Events['session.opened']) => {
    const now = this.#clock.monotonic()
    this.#partitions.set(tp, { openedAt: now, sum: 0, at: now })
  }

  readonly #closed = (tp: Events['session.closed']) => this.#partitions.delete(tp)

  readonly #committed = ({ records, ...tp }: Events['cycle.committed']) => {
    const settled = this.#partitions.get(tp)
    if (!settled) return
    const now = this.#clock.monotonic()
    settled.sum = faded(settled, now) + records
    settled.at = now
  }
}

const faded = ({ sum, at }: Settled, now: number) => sum * Math.exp((at - now) / windowMs)
