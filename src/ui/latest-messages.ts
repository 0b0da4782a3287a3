import type { Bus } from '../bus/port.ts'
import { RecordReader } from '../inspect/decoding.ts'
import type { SendResult } from '../records/generated.ts'
import type { SchemaRegistry } from '../records/registry.ts'
import { schemas } from '../records/schemas.ts'
import { cut } from '../words.ts'
import type { FollowedTopic } from './followed-topic.ts'
import type { LatestMessage } from './now.ts'

/** Most messages to remember, so that a result finds its command, and most that are shown. */
const mostKept = 500
const mostShown = 10
/** Longest name of an account or type. */
const longestName = 64

interface Message {
  id: bigint
  account: string
}

type Progress = Pick<LatestMessage, 'type' | 'time'> & { state: string }

/** The messages that came last, without their content. Their records may be read in any order. */
export class LatestMessages {
  /** By account and id; the least recently changed comes first. */
  readonly #messages = new Map<string, LatestMessage & { isJudged: boolean }>()

  command(message: Message, type: string, time: number): void {
    if (!this.#known(message)) this.#put(message, { type, state: null, time, isJudged: false })
  }

  /** A result says nothing new of a message that has a verdict, or a later result. */
  result(message: Message, result: Progress): void {
    const known = this.#known(message)
    const isOld = known && (known.isJudged || (known.state !== null && result.time < known.time))
    if (!isOld) this.#put(message, { ...result, isJudged: false })
  }

  verdict(message: Message, verdict: Progress): void {
    this.#put(message, { ...verdict, isJudged: true })
  }

  now(): LatestMessage[] {
    const newest = [...this.#messages.values()].toSorted((a, b) => b.time - a.time).slice(0, mostShown)
    return newest.map(({ isJudged: _, ...shown }) => shown)
  }

  #known(message: Message) {
    return this.#messages.get(nameOf(message))
  }

  #put(message: Message, { type, ...rest }: Omit<LatestMessage, 'id' | 'account'> & { isJudged: boolean }): void {
    const name = nameOf(message)
    const shown = { id: String(message.id), account: cut(message.account, longestName), type: cut(type, longestName) }
    this.#messages.delete(name)
    this.#messages.set(name, { ...shown, ...rest })
    if (this.#messages.size > mostKept) this.#messages.delete(this.#messages.keys().next().value!)
  }
}

const nameOf = ({ id, account }: Message) => `${cut(account, longestName)}/${id}`

/** Number of earlier results that are read of each partition. */
const mostEarlier = 10

/** Adds the last results from before their topic was followed. A partition that cannot be read has none. */
export async function readEarlierResults(
  { bus, registry }: { bus: Bus; registry: SchemaRegistry },
  { topic, positions }: FollowedTopic,
  latest: LatestMessages,
): Promise<void> {
  const reader = new RecordReader<SendResult>(schemas.result, registry)
  const { signal: ending } = new AbortController()
  const read = (end: number, partition: number) => {
    const tp = { topic, partition }
    const from = { offset: Math.max(0, end - mostEarlier) }
    return bus.search(tp, {
      from,
      ending,
      take: records =>
        reader.each(tp, records, (result, { timestamp: time }) =>
          latest.result(result, { type: result.type, state: result.outcome, time }),
        ),
    })
  }
  await Promise.allSettled(positions.map(read))
}
