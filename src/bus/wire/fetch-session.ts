import type { TopicPartition } from '../port.ts'
import { ProtocolError } from './errors.ts'
import type { FetchAnswer, FetchRequest } from './fetch-api.ts'

const firstEpoch = 0
const lastEpoch = 2 ** 31 - 1
/** The broker has forgotten the session: it keeps those of so many clients, and none over a restart. */
const forgotten = ['FETCH_SESSION_ID_NOT_FOUND', 'INVALID_FETCH_SESSION_EPOCH', 'FETCH_SESSION_TOPIC_ID_ERROR']

type Asked = FetchRequest['partitions'][number]

/** What the broker was asked for last of a partition, and the end of the log that it told last. */
interface Known extends Asked {
  highWatermark: number
}

/**
 * One client's fetches from one broker, which remembers what it was asked for (KIP-227): a fetch names the partitions that
 * changed since the last one, and the answer those that have something new. Brokers of before Kafka 1.1 are asked for all
 * of it each time, and so is one that has no room for a session.
 */
export class FetchSession {
  readonly #ask: (request: FetchRequest) => Promise<FetchAnswer>
  /** The first epoch asks for a new session, in place of the one that is named. */
  #session = { id: 0, epoch: firstEpoch }
  readonly #known = new Map<string, Known>()

  /** @param ask throws ProtocolError for a code at the top of the answer */
  constructor(ask: (request: FetchRequest) => Promise<FetchAnswer>) {
    this.#ask = ask
  }

  /** One at a time. @returns what is new of the partitions; of one that it says nothing of, nothing is */
  async fetch(request: FetchRequest): Promise<FetchAnswer> {
    try {
      return await this.#fetch(request)
    } catch (error) {
      this.#session.epoch = firstEpoch
      if (!(error instanceof ProtocolError && forgotten.includes(error.type))) throw error
      return this.#fetch(request)
    }
  }

  /** The end of the log, as far as the broker has told. */
  highWatermark(tp: TopicPartition): number {
    return this.#known.get(nameOf(tp))?.highWatermark ?? 0
  }

  async #fetch(request: FetchRequest): Promise<FetchAnswer> {
    const { id, epoch } = this.#session
    if (epoch === firstEpoch) this.#known.clear()
    const wanted = new Map(request.partitions.map(asked => [nameOf(asked.tp), asked]))
    const left = [...this.#known].flatMap(([name, { tp }]) => (wanted.has(name) ? [] : tp))
    for (const tp of left) this.#known.delete(nameOf(tp))
    const changed = [...wanted].filter(([name, asked]) => !isAlike(asked, this.#known.get(name)))
    for (const [name, asked] of changed) {
      this.#known.set(name, { ...asked, highWatermark: this.#known.get(name)?.highWatermark ?? 0 })
    }
    const answer = await this.#ask({
      ...request,
      partitions: changed.map(([, asked]) => asked),
      session: { id, epoch, left },
    })
    for (const { topic, partition, highWatermark } of answer.partitions) {
      const known = this.#known.get(nameOf({ topic, partition }))
      if (known) known.highWatermark = highWatermark
    }
    const next = epoch === lastEpoch ? firstEpoch + 1 : epoch + 1
    this.#session = { id: answer.session, epoch: answer.session === 0 ? firstEpoch : next }
    return answer
  }
}

const nameOf = ({ topic, partition }: TopicPartition) => `${topic}/${partition}`

function isAlike({ offset, maxBytes }: Asked, known: Known | undefined): boolean {
  return known?.offset === offset && known.maxBytes === maxBytes
}
