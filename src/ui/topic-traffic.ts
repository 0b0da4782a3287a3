import type { Bus, BusRecord, TopicPartition } from '../bus/port.ts'
import type { Settings } from '../config/index.ts'
import { RecordReader, type UndecodableRecords } from '../inspect/decoding.ts'
import { typeOfMessage } from '../records/command.ts'
import type { SendCommand, SendResult, StatusEvent } from '../records/generated.ts'
import { copiedFrom } from '../records/later.ts'
import type { SchemaRegistry } from '../records/registry.ts'
import { schemas } from '../records/schemas.ts'
import { cut } from '../words.ts'
import { FollowedTopic, fromNow } from './followed-topic.ts'
import type { LatestMessages } from './latest-messages.ts'

export type TopicTraffic = ReturnType<typeof followTraffic>

interface TrafficOptions {
  bus: Bus
  registry: SchemaRegistry
  settings: Settings
  undecodable: UndecodableRecords
}

/** Counts new records of the topics of commands, results and statuses. */
export function followTraffic(
  { bus, registry, settings: { topics }, undecodable }: TrafficOptions,
  traffic: Traffic,
  latest: LatestMessages,
) {
  const commands = new RecordReader<SendCommand>(schemas.command, registry, undecodable)
  const results = new RecordReader<SendResult>(schemas.result, registry, undecodable)
  const statuses = new RecordReader<StatusEvent>(schemas.status, registry, undecodable)
  /**
   * Types by message, of messages without their own callback address. Only their verdicts may come from an account's address.
   */
  const unhooked = new Map<string, string>()
  /** Messages whose verdict is counted already. */
  const judged = new Map<string, true>()

  async function countCommands(tp: TopicPartition, all: readonly BusRecord[]): Promise<void> {
    const records = all.filter(record => !copiedFrom(record)) // what waited is counted already
    let read = 0
    await commands.each(tp, records, (command, { timestamp }) => {
      const type = typeOfMessage(command)
      traffic.add(['command', tp.topic, type])
      latest.command(command, type, timestamp)
      read++
    })
    for (; read < records.length; read++) traffic.add(['command', tp.topic, 'unreadable'])
  }

  const countResults = (tp: TopicPartition, records: readonly BusRecord[]) =>
    results.each(tp, records, (result, { timestamp: time }) => {
      const { type, outcome, errorCode, hooked } = result
      traffic.add(['result', type, outcome, errorCode ?? ''])
      latest.result(result, { type, state: outcome, time })
      if (outcome === 'SENT' && hooked === false) remember(unhooked, nameOf(result), cut(type, longestName))
    })

  const countVerdicts = (tp: TopicPartition, records: readonly BusRecord[]) =>
    statuses.each(tp, records, (status, { timestamp: time }) => {
      if (!status.final) return
      const name = nameOf(status)
      const type = status.verified ? status.commandType : unhooked.get(name)
      if (!type || judged.has(name)) return
      remember(judged, name, true)
      traffic.add(['verdict', type, status.state])
      latest.verdict(status, { type, state: status.state, time })
    })

  return {
    commands: topics.commands.map(topic => new FollowedTopic(bus, topic, fromNow, countCommands)),
    results: new FollowedTopic(bus, topics.results, fromNow, countResults),
    statuses: new FollowedTopic(bus, topics.statuses, fromNow, countVerdicts),
  }
}

/** Longest name to keep: the gateway's and busgate's own are shorter, and any text may come. */
const longestName = 64

const nameOf = ({ account, id }: { account: string; id: bigint }) => `${cut(account, longestName)}/${id}`

/** Most messages to remember; the oldest are forgotten. */
const mostKept = 100_000

function remember<T>(map: Map<string, T>, name: string, value: T): void {
  map.set(name, value)
  if (map.size > mostKept) map.delete(map.keys().next().value!)
}

/** Milliseconds of one step. */
export const stepMs = 2000
/** Number of steps kept. */
export const steps = 300
/** Milliseconds that the counts cover. */
export const windowMs = steps * stepMs
/** Rates are means over this many steps: ten seconds. */
const rateSteps = 5
/** Most names; further ones count as `other`, since gateways and producers may invent types. */
const mostNames = 1000
/** Longest part of a name. Topics are as long. */
const longestPart = 249
const separator = '\u0000'

type Counts = Map<string, number>

interface Step {
  counts: Counts
  isKnown: boolean
}

const newStep = (): Step => ({ counts: new Map(), isKnown: true })

/**
 * Counts of the last ten minutes by name, in steps of two seconds: rates, sums and chart lines. The number of names limits its
 * memory.
 */
export class Traffic {
  /** The newest step is last and still counting. */
  readonly #steps: Step[] = [newStep()]
  readonly #sums: Counts = new Map()

  /**
   * Adds one to a count.
   * @param name such as `['result', 'sms', 'SENT', '']`
   */
  add(name: readonly string[]): void {
    const known = name.map(part => cut(part, longestPart)).join(separator)
    const key = this.#sums.has(known) || this.#sums.size < mostNames ? known : [name[0], 'other'].join(separator)
    for (const counts of [this.#steps.at(-1)!.counts, this.#sums]) counts.set(key, (counts.get(key) ?? 0) + 1)
  }

  /** Begins the next step. @param isKnown whether the counts of the step that ends are complete */
  step(isKnown = true): void {
    this.#steps.at(-1)!.isKnown = isKnown
    this.#steps.push(newStep())
    if (this.#steps.length <= steps) return
    for (const [key, count] of this.#steps.shift()!.counts) {
      const left = this.#sums.get(key)! - count
      if (left > 0) this.#sums.set(key, left)
      else this.#sums.delete(key)
    }
  }

  /** All counts whose name begins with the kind, by the rest of the name. */
  counts(kind: string): { labels: string[]; count: number }[] {
    return [...this.#sums].flatMap(([key, count]) => {
      const [first, ...labels] = key.split(separator)
      return first === kind ? [{ labels, count }] : []
    })
  }

  /** Rates per second at the end of each finished step, the oldest first. */
  line(kind: string, label?: string): (number | null)[] {
    return this.#steps.slice(0, -1).map((_, i) => this.#rateAt(i, kind, label))
  }

  /** The current rate per second of a kind, or of one of its first labels; null if unknown. */
  perSecond(kind: string, label?: string): number | null {
    return this.#rateAt(this.#steps.length - 2, kind, label)
  }

  /** The mean of the complete steps among the last `rateSteps`; null if the step itself is incomplete. */
  #rateAt(i: number, kind: string, label: string | undefined): number | null {
    if (!this.#steps[i]?.isKnown) return null
    const past = this.#steps.slice(Math.max(0, i + 1 - rateSteps), i + 1).filter(({ isKnown }) => isKnown)
    const sum = past.reduce((sum, { counts }) => sum + sumOf(counts, kind, label), 0)
    return (sum * 1000) / (past.length * stepMs)
  }
}

function sumOf(step: Counts, kind: string, label: string | undefined): number {
  const name = label === undefined ? kind : `${kind}${separator}${label}`
  const own = [...step].filter(([key]) => key === name || key.startsWith(name + separator))
  return own.reduce((sum, [, count]) => sum + count, 0)
}
