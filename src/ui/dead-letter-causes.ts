import { type Bus, type BusRecord, type TopicPartition, unreadableCodes } from '../bus/port.ts'
import { letterOf, shortPlace } from '../inspect/dead-letters/letter.ts'
import { FollowedTopic } from './followed-topic.ts'
import type { DeadLetterCause, DeadLetters } from './now.ts'

const neverRead: ReadonlySet<string> = new Set(unreadableCodes)
const sendAnew =
  'A replay fails again, since nothing can make these bytes a command: their producer has to send them anew.'

/** Causes that are told apart; those beyond are counted in all only. */
const mostCauses = 200

/** Dead letters by what is wrong with them. Their topic is read once, and followed from then on. */
export class DeadLetterCauses {
  readonly #topic: FollowedTopic
  readonly #causes = new Map<string, DeadLetterCause>()
  #total = 0

  constructor(bus: Bus, topic: string) {
    const earliest = async (tps: readonly TopicPartition[]) => tps.map(() => 'earliest' as const)
    this.#topic = new FollowedTopic(bus, topic, earliest, (tp, records) => {
      for (const record of records) this.#count(tp, record)
    })
  }

  get trouble(): string | null {
    return this.#topic.trouble
  }

  get complete(): boolean {
    return this.#topic.complete
  }

  now(): Omit<DeadLetters, 'known'> {
    const causes = [...this.#causes.values()].toSorted((a, b) => b.newest - a.newest)
    return { complete: this.#topic.complete, total: this.#total, causes }
  }

  close(): Promise<void> {
    return this.#topic.close()
  }

  #count(tp: TopicPartition, record: BusRecord): void {
    const { stage, code, origin, time, message, place } = letterOf(tp, record)
    this.#total++
    const topic = origin?.topic ?? null
    const name = JSON.stringify([stage, code, topic])
    const known = this.#causes.get(name)
    if (!known && this.#causes.size >= mostCauses) return
    const failsAgain = code === 'NOT_CONFLUENT' || neverRead.has(code) ? sendAnew : null
    const cause = known ?? { stage, code, topic, count: 0, newest: -1, at: '', message: '', failsAgain }
    cause.count++
    if (time >= cause.newest) Object.assign(cause, { newest: time, at: shortPlace(place), message })
    this.#causes.set(name, cause)
  }
}
