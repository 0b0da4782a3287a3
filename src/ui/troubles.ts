import { type Bus, type BusRecord, type From, type TopicPartition, unreadableCodes } from '../bus/port.ts'
import { INTENT } from '../bus/session/window.ts'
import type { Settings } from '../config/index.ts'
import { type Letter, lettersOf, shortPlace } from '../inspect/dead-letters/letter.ts'
import { beginningOf, isDone, type Progress, readOwnProgress } from '../inspect/progress.ts'
import { createDecoder, decodeAll } from '../records/decoder.ts'
import type { Doubt } from '../records/generated.ts'
import type { SchemaRegistry } from '../records/registry.ts'
import { schemas } from '../records/schemas.ts'
import { shellFlag } from '../shell.ts'
import { FollowedTopic, fromEarliest } from './followed-topic.ts'
import type { DeadLetterCause, DeadLetters, OpenDoubt, OpenDoubts } from './now.ts'

/** Most doubts retained in memory. Further ones are only counted. */
const mostRetained = 10_000
const mostShown = 20
/** Workers open a partition and commit to it within this time. */
const beginMs = 15_000

interface RetainedDoubt extends TopicPartition {
  offset: number
  id: string
  /** null if unreadable. */
  doubt: Doubt | null
}

/** Open doubts: those on their topic that the workers' group has not finished. */
export class OpenDoubtList {
  readonly #bus: Bus
  readonly #settings: Settings
  readonly topic: FollowedTopic
  #retained: RetainedDoubt[] = []
  #left = 0
  #progress: readonly Progress[] = []

  constructor(bus: Bus, registry: SchemaRegistry, settings: Settings) {
    this.#bus = bus
    this.#settings = settings
    const decoder = createDecoder<Doubt>(schemas.doubt, registry)
    this.topic = new FollowedTopic(
      bus,
      settings.topics.doubts,
      tps => this.#begin(tps),
      async (tp, records) => {
        const decoded = await decodeAll(decoder, records)
        this.#keep(tp, records, i => (decoded[i]!.ok ? decoded[i]!.value : null))
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

  #keep(tp: TopicPartition, records: readonly BusRecord[], doubtOf: (i: number) => Doubt | null): void {
    for (const [i, { offset, key }] of records.entries()) {
      if (this.#retained.length < mostRetained)
        this.#retained.push({ ...tp, offset, id: String(key ?? ''), doubt: doubtOf(i) })
      else this.#left++
    }
  }

  #shown(one: RetainedDoubt, at: number): OpenDoubt {
    const { doubt, id } = one
    return {
      id,
      account: doubt?.account ?? '',
      type: doubt?.type ?? null,
      cause: doubt?.cause ?? 'it cannot be read',
      attempts: doubt?.attempts ?? 0,
      postedAt: timeOf(one),
      waitsFor: this.#waitsFor(one, at),
    }
  }

  /** Assumes that the workers have the same settings as this process. */
  #waitsFor(one: RetainedDoubt, at: number): string {
    const { gateway, delivery } = this.#settings
    const progress = this.#progress[one.partition]
    if (!progress && at - timeOf(one) > beginMs) return 'a worker: no worker owns its partition'
    if (progress?.window.get(one.offset) === INTENT) return 'the answer to another request, which is in flight'
    const settled = timeOf(one) + gateway.timeoutMs + delivery.settleMs
    if (at < settled) return `its callback; the gateway is polled in ${Math.ceil((settled - at) / 1000)} s`
    return `the answer to a status poll, or a callback; then its policy decides`
  }
}

const timeOf = ({ doubt }: RetainedDoubt) => doubt?.postedAt ?? 0

/** Codes of records that no new schema or setting makes readable. */
const neverRead: ReadonlySet<string> = new Set([...unreadableCodes, 'NOT_CONFLUENT'])

/** Dead letters by cause. Reads their topic from the beginning and follows it. */
export class DeadLetterCauses {
  readonly topic: FollowedTopic
  readonly #causes = new Map<string, DeadLetterCause>()
  #total = 0

  constructor(bus: Bus, topic: string) {
    this.topic = new FollowedTopic(bus, topic, fromEarliest, (tp, records) => {
      for (const letter of lettersOf(tp, records)) this.#count(letter)
    })
  }

  now(): Omit<DeadLetters, 'known'> {
    const causes = [...this.#causes.values()].toSorted((a, b) => b.newest - a.newest)
    return { complete: this.topic.complete, total: this.#total, causes }
  }

  #count({ stage, code, origin, time, message, place }: Letter): void {
    this.#total++
    const topic = origin?.topic ?? null
    const name = JSON.stringify([stage, code, topic])
    const known = this.#causes.get(name)
    const replay = topic === null || neverRead.has(code) ? null : replayCommand({ stage, code, topic })
    const cause = known ?? { stage, code, topic, count: 0, newest: -1, at: '', message: '', replay }
    cause.count++
    if (time >= cause.newest) Object.assign(cause, { newest: time, at: shortPlace(place), message })
    this.#causes.set(name, cause)
  }
}

function replayCommand(filters: Record<'stage' | 'code' | 'topic', string>): string {
  const flags = Object.entries(filters).map(([name, value]) => shellFlag(name, value))
  return ['busgate dlq replay --all', ...flags].join(' ')
}
