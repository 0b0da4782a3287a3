import type { Events } from '../../telemetry/events.ts'
import { openTransactionText } from '../../telemetry/log-lines.ts'
import { describeProducers, indexesByTopic, listTransactions } from '../cluster/apis.ts'
import { PartitionMap } from '../partitions.ts'
import type { BlockedPartition, TopicPartition } from '../port.ts'
import type { FetchedRecords } from './fetch.ts'
import { type ReadOptions, textOf } from './read-back-off.ts'

interface Blocked {
  tp: TopicPartition
  /** First record of the transaction; committed records are readable up to here. */
  offset: number
  /** Monotonic milliseconds. */
  since: number
  /** null until it is reported. */
  text: string | null
  isTold: boolean
}

type Holder = Pick<Events['transaction.open'], 'producerId' | 'transactionalId' | 'error'>

/** An open transaction is reported after blocking a partition for this long. */
const patienceMs = 30_000

/** Tracks partitions that a producer's open transaction blocks for readers of committed records. */
export class OpenTransactions {
  readonly #options: ReadOptions
  readonly #blocked = new PartitionMap<Blocked>()

  constructor(options: ReadOptions) {
    this.#options = options
  }

  /** Partitions that have been blocked for a while. */
  get lasting(): BlockedPartition[] {
    return [...this.#blocked].flatMap(({ tp, offset, text }) => (text === null ? [] : { ...tp, offset, text }))
  }

  /** Records a fetch answer's last stable offset and high watermark. */
  heard(tp: TopicPartition, { next, stableOffset, highWatermark }: FetchedRecords): void {
    const known = this.#blocked.get(tp)
    const isBlocked = next >= stableOffset && stableOffset < highWatermark
    if (isBlocked && known?.offset === stableOffset) return
    this.forget(tp)
    if (!isBlocked) return
    this.#blocked.set(tp, {
      tp: { topic: tp.topic, partition: tp.partition },
      offset: stableOffset,
      since: this.#options.clock.monotonic(),
      text: null,
      isTold: false,
    })
  }

  /** Call it when the partition is not read now, or its transaction has ended. */
  forget(tp: TopicPartition): void {
    const known = this.#blocked.get(tp)
    if (!known) return
    this.#blocked.delete(tp)
    if (known.text !== null) this.#options.telemetry.emit('transaction.ended', known.tp)
  }

  /** Reports partitions that have been blocked for long. */
  check(): void {
    const before = this.#options.clock.monotonic() - patienceMs
    for (const blocked of this.#blocked) if (!blocked.isTold && blocked.since <= before) void this.#tell(blocked)
  }

  async #tell(blocked: Blocked): Promise<void> {
    blocked.isTold = true
    const { tp, offset } = blocked
    const event = { ...tp, offset, ...(await this.#holderOf(tp)) }
    if (this.#blocked.get(tp) !== blocked) return
    blocked.text = openTransactionText(event)
    this.#options.telemetry.emit('transaction.open', event)
  }

  /**
   * Finds the producer of the partition's oldest open transaction. This client may lack the right to see its transactional
   * id.
   */
  async #holderOf(tp: TopicPartition) {
    const { brokers } = this.#options
    const holder: Holder = { producerId: null, transactionalId: null, error: null }
    try {
      const { topics } = await brokers.ask({ leader: tp }, describeProducers, [indexesByTopic([tp])])
      const open = topics[0]!.partitions[0]!.activeProducers.filter(one => one.currentTxnStartOffset >= 0n)
      const [first] = open.toSorted((a, b) => Number(a.currentTxnStartOffset - b.currentTxnStartOffset))
      if (!first) return { ...holder, error: 'its leader does not know of it' }
      holder.producerId = Number(first.producerId)
      const asked = brokers
        .nodes()
        .map(node => brokers.ask({ node }, listTransactions, [[], [first.producerId], -1n, null]))
      const lists = await Promise.all(asked)
      const found = lists
        .flatMap(({ transactionStates }) => transactionStates)
        .find(one => one.producerId === first.producerId)
      holder.transactionalId = found?.transactionalId ?? null
      if (!found) holder.error = 'grant this client Describe on transactional ids to see its name'
    } catch (error) {
      holder.error = textOf(error)
    }
    return holder
  }
}
