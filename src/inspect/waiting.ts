import { hash } from 'node:crypto'
import { allPartitions } from '../bus/partitions.ts'
import type { Bus, BusRecord } from '../bus/port.ts'
import { scanPartition } from '../bus/scan.ts'
import type { Settings } from '../config/index.ts'
import { keyText, type LaterFacts, type LaterKey, readLater } from '../records/later.ts'

/** A map has room for 16 million. */
const mostCounted = 10_000_000

/** Commands of a group that wait. */
export interface WaitingGroup {
  commands: number
}

/**
 * Counts the commands that wait on the table, by group, with a few bytes for each. Released ones are on their command topics.
 * Each call of `update` reads what is new.
 */
export class WaitingCount<G extends WaitingGroup> {
  readonly #bus: Bus
  readonly #topic: string
  readonly #groupOf: (facts: LaterFacts, key: LaterKey) => G | null
  readonly #waiting = new Map<number, G>()
  /** The next offset to read, by partition. */
  readonly #next = new Map<number, number>()

  /** @param groupOf null: the command is not counted */
  constructor(bus: Bus, { topics }: Settings, groupOf: (facts: LaterFacts, key: LaterKey) => G | null) {
    this.#bus = bus
    this.#topic = topics.later
    this.#groupOf = groupOf
  }

  /** @returns whether the topic exists */
  async update(ending: AbortSignal): Promise<boolean> {
    const partitions = (await this.#bus.partitions([this.#topic])).get(this.#topic)
    if (partitions === undefined) return false
    const take = (_: unknown, records: readonly BusRecord[]) => records.forEach(record => void this.#take(record))
    const read = async (tp: { topic: string; partition: number }) => {
      const next = this.#next.get(tp.partition)
      const from = next === undefined ? 'earliest' : { offset: next }
      const { until } = await scanPartition(this.#bus, tp, from, take, { ending })
      this.#next.set(tp.partition, until)
    }
    await Promise.all(allPartitions(this.#topic, partitions).map(read))
    return true
  }

  #take(record: BusRecord): void {
    const entry = readLater(record)
    if (!entry) return
    const { key, state, facts } = entry
    const digest = digestOf(keyText(key))
    const known = this.#waiting.get(digest)
    if (known) {
      this.#waiting.delete(digest)
      known.commands--
    }
    const group = state === 'over' || state === 'released' ? null : this.#groupOf(facts, key)
    if (!group || this.#waiting.size >= mostCounted) return
    this.#waiting.set(digest, group)
    group.commands++
  }
}

/** 48 bits, which a number holds. */
const digestOf = (key: string): number => hash('sha1', key, 'buffer').readUIntBE(0, 6)

/** Commands that wait, by the hour of their time and by campaign. */
export interface HourOfWaiting extends WaitingGroup {
  /** Begin of the hour, milliseconds since 1970; null: they are due, so that a pause holds them, or their worker is about to send. */
  hour: number | null
  /** Null: of none; undefined: of several, as there are too many to tell apart. */
  campaign: string | null | undefined
}

const hourMs = 3_600_000
/** Most hours and campaigns that are told apart: anybody may name campaigns. */
const mostGroups = 10_000

/** Counts the commands that wait by hour and campaign. */
export class WaitingHours {
  readonly #groups = new Map<string, HourOfWaiting>()
  readonly #count: WaitingCount<HourOfWaiting>

  constructor(bus: Bus, settings: Settings) {
    this.#count = new WaitingCount(bus, settings, ({ notBefore, campaign }) =>
      this.#groupOf(notBefore === null ? null : Math.floor(notBefore / hourMs) * hourMs, campaign),
    )
  }

  /** What waits now, the next hour first; null if there is no such topic. */
  async look(ending: AbortSignal, now = Date.now()): Promise<HourOfWaiting[] | null> {
    if (!(await this.#count.update(ending))) return null
    const due = new Map<string | null | undefined, HourOfWaiting>()
    const hours: HourOfWaiting[] = []
    for (const group of this.#groups.values()) {
      const { hour, campaign, commands } = group
      if (commands === 0) continue
      if (hour !== null && hour + hourMs > now) hours.push({ ...group })
      else due.set(campaign, { hour: null, campaign, commands: commands + (due.get(campaign)?.commands ?? 0) })
    }
    return [...due.values(), ...hours].sort((a, b) => (a.hour ?? 0) - (b.hour ?? 0) || b.commands - a.commands)
  }

  #groupOf(hour: number | null, named: string | null): HourOfWaiting {
    const known = this.#groups.get(nameOf(hour, named))
    if (known) return known
    const campaign = this.#groups.size < mostGroups ? named : undefined
    const group = this.#groups.get(nameOf(hour, campaign)) ?? { hour, campaign, commands: 0 }
    this.#groups.set(nameOf(hour, campaign), group)
    return group
  }
}

const nameOf = (hour: number | null, campaign: string | null | undefined) => `${hour} ${JSON.stringify(campaign)}`
