import { type Bus, type BusRecord, type From, type TopicPartition, unreadableCodes } from '../bus/port.ts'
import { INTENT } from '../bus/session/window.ts'
import type { Settings } from '../config/index.ts'
import { type Letter, lettersOf, shortPlace } from '../inspect/dead-letters/letter.ts'
import { RecordReader, type UndecodableRecords } from '../inspect/decoding.ts'
import { beginningOf, isDone, type Progress, readOwnProgress } from '../inspect/progress.ts'
import { finishedBy } from '../records/doubt.ts'
import type { Doubt } from '../records/generated.ts'
import type { SchemaRegistry } from '../records/registry.ts'
import { schemas } from '../records/schemas.ts'
import { shellFlag } from '../shell.ts'
import { cut, isInstant } from '../words.ts'
import { FollowedTopic, fromEarliest } from './followed-topic.ts'
import type { DeadLetterCause, DeadLetters, OpenDoubt, OpenDoubts } from './now.ts'

/** Most doubts retained in memory. Further ones are only counted. */
const mostRetained = 10_000
const mostShown = 20
/** Longest text that is retained and shown. */
const longestText = 300
/** Workers open a partition and commit to it within this time. */
const beginMs = 15_000

/** What the page shows of a doubt. */
interface RetainedDoubt extends TopicPartition, Omit<OpenDoubt, 'waitsFor'> {
  offset: number
}

function retained(tp: TopicPartition, { offset, key }: BusRecord, doubt: Doubt | null): RetainedDoubt {
  const { postedAt, type } = doubt ?? { postedAt: Number.NaN, type: null }
  return {
    ...tp,
    offset,
    id: cut(String(key ?? ''), longestText),
    account: cut(doubt?.account ?? '', longestText),
    type: type === null ? null : cut(type, longestText),
    cause: doubt?.cause ?? 'it cannot be read',
    attempts: doubt?.attempts ?? 0,
    postedAt: isInstant(postedAt) ? postedAt : null,
  }
}

interface OpenDoubtListOptions {
  bus: Bus
  registry: SchemaRegistry
  settings: Settings
  undecodable: UndecodableRecords
}

/** Open doubts: those on their topic that the workers' group has not finished. */
export class OpenDoubtList {
  readonly #bus: Bus
  readonly #settings: Settings
  readonly topic: FollowedTopic
  #retained: RetainedDoubt[] = []
  #left = 0
  #progress: readonly Progress[] = []

  constructor({ bus, registry, settings, undecodable }: OpenDoubtListOptions) {
    this.#bus = bus
    this.#settings = settings
    const reader = new RecordReader<Doubt>(schemas.doubt, registry, undecodable)
    this.topic = new FollowedTopic(
      bus,
      settings.topics.doubts,
      tps => this.#begin(tps),
      async (tp, records) => {
        for (const record of records) {
          if (finishedBy(record) !== null) continue
          if (this.#retained.length < mostRetained)
            this.#retained.push(retained(tp, record, await reader.read(tp, record)))
          else this.#left++
        }
      },
    )
  }

  /** Reads the group's progress and drops settled doubts. */
  async refresh(): Promise<void> {
    const tps = this.topic.positions.map((_, partition) => ({ topic: this.topic.topic, partition }))
    if (tps.length === 0) return
    this.#progress = await readOwnProgress(this.#bus, this.#settings, tps)
    this.#retained = this.#retained.filter(({ partition, offset }) => !isDone(this.#progress[partition], offset))
    if (this.#retained.length === 0) this.#left = 0
  }

  /** @param known whether the topic and the group's progress can be read now */
  now(at: number, known: boolean): OpenDoubts {
    const oldest = this.#retained.toSorted((a, b) => timeOf(a) - timeOf(b)).slice(0, mostShown)
    return {
      open: known ? this.#retained.length + this.#left : null,
      oldest: oldest.map(one => this.#shown(one, at)),
    }
  }

  async #begin(tps: readonly TopicPartition[]): Promise<From[]> {
    this.#progress = await readOwnProgress(this.#bus, this.#settings, tps)
    return tps.map(({ partition }) => beginningOf(this.#progress[partition]))
  }

  #shown(one: RetainedDoubt, at: number): OpenDoubt {
    const { id, account, type, cause, attempts, postedAt } = one
    return { id, account, type, cause, attempts, postedAt, waitsFor: this.#waitsFor(one, at) }
  }

  /** Assumes that the workers have the same settings as this process. */
  #waitsFor(one: RetainedDoubt, at: number): string {
    const { gateway, doubts } = this.#settings
    const progress = this.#progress[one.partition]
    if (!progress && at - timeOf(one) > beginMs) return 'a worker: no worker owns its partition'
    if (progress?.window.get(one.offset) === INTENT) return 'the answer to another request, which is in flight'
    const settled = timeOf(one) + gateway.timeoutMs + doubts.waitMs
    if (at < settled) return `its callback; the gateway is polled in ${Math.ceil((settled - at) / 1000)} s`
    return `the answer to a status poll, or a callback; then its policy decides`
  }
}

const timeOf = ({ postedAt }: RetainedDoubt) => postedAt ?? 0

/** Codes of records that no new schema or setting makes readable. */
const neverRead: ReadonlySet<string> = new Set([...unreadableCodes, 'NOT_CONFLUENT'])

/** Most causes that are told apart. */
const mostCauses = 50

/** Dead letters by cause. Reads their topic from the beginning and follows it. */
export class DeadLetterCauses {
  readonly topic: FollowedTopic
  readonly #causes = new Map<string, DeadLetterCause>()
  #total = 0
  /** Those of other causes than the ones told apart. */
  #others = 0

  constructor(bus: Bus, topic: string) {
    this.topic = new FollowedTopic(bus, topic, fromEarliest, (tp, records) => {
      for (const letter of lettersOf(tp, records)) this.#count(letter)
    })
  }

  now(): Omit<DeadLetters, 'known'> {
    const causes = [...this.#causes.values()].toSorted((a, b) => b.newest - a.newest)
    return { complete: this.topic.complete, total: this.#total, causes, others: this.#others }
  }

  #count({ origin, time, place, ...letter }: Letter): void {
    const [stage, code, message] = [letter.stage, letter.code, letter.message].map(text => cut(text, longestText))
    const topic = origin && cut(origin.topic, longestText)
    this.#total++
    const name = JSON.stringify([stage, code, topic])
    const cause = this.#causes.get(name) ?? this.#newCause({ stage: stage!, code: code!, topic })
    if (!cause) {
      this.#others++
      return
    }
    this.#causes.set(name, cause)
    cause.count++
    if (time >= cause.newest) Object.assign(cause, { newest: time, at: shortPlace(place), message })
  }

  #newCause({ stage, code, topic }: Pick<DeadLetterCause, 'stage' | 'code' | 'topic'>): DeadLetterCause | null {
    if (this.#causes.size >= mostCauses) return null
    const replay = topic === null || neverRead.has(code) ? null : replayCommand({ stage, code, topic })
    return { stage, code, topic, count: 0, newest: -1, at: '', message: '', replay }
  }
}

function replayCommand(filters: Record<'stage' | 'code' | 'topic', string>): string {
  const flags = Object.entries(filters).map(([name, value]) => shellFlag(name, value))
  return ['busgate dlq replay --all', ...flags].join(' ')
}
