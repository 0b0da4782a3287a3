import { type Bus, type BusRecord, type TopicPartition, unreadableCodes } from '../bus/port.ts'
import { letterOf, shortPlace } from '../inspect/dead-letters/letter.ts'
import { FollowedTopic, fromEarliest } from './followed-topic.ts'
import type { DeadLetterCause, DeadLetters } from './now.ts'

/** Codes of records that no change of a schema or a setting makes readable. */
const neverRead: ReadonlySet<string> = new Set([...unreadableCodes, 'NOT_CONFLUENT'])
/** Causes that are told apart; those beyond are counted in all only. */
const mostCauses = 200

/** Dead letters by what is wrong with them. Their topic is read once, and followed from then on. */
export class DeadLetterCauses {
  readonly topic: FollowedTopic
  readonly #causes = new Map<string, DeadLetterCause>()
  #total = 0

  constructor(bus: Bus, topic: string) {
    this.topic = new FollowedTopic(bus, topic, fromEarliest, (tp, records) => {
      for (const record of records) this.#count(tp, record)
    })
  }

  now(): Omit<DeadLetters, 'known'> {
    const causes = [...this.#causes.values()].toSorted((a, b) => b.newest - a.newest)
    return { complete: this.topic.complete, total: this.#total, causes }
  }

  #count(tp: TopicPartition, record: BusRecord): void {
    const { stage, code, origin, time, message, place } = letterOf(tp, record)
    this.#total++
    const topic = origin?.topic ?? null
    const name = JSON.stringify([stage, code, topic])
    const known = this.#causes.get(name)
    if (!known && this.#causes.size >= mostCauses) return
    const replay = topic === null || neverRead.has(code) ? null : replayCommand({ stage, code, topic })
    const cause = known ?? { stage, code, topic, count: 0, newest: -1, at: '', message: '', replay }
    cause.count++
    if (time >= cause.newest) Object.assign(cause, { newest: time, at: shortPlace(place), message })
    this.#causes.set(name, cause)
  }
}

function replayCommand(filters: Record<'stage' | 'code' | 'topic', string>): string {
  const flags = Object.entries(filters).map(([name, value]) =>
    /^[\w.@/-]+$/.test(value) ? `--${name} ${value}` : `--${name} '${value.replaceAll("'", "'\\''")}'`,
  )
  return ['busgate dlq replay --all', ...flags].join(' ')
}
