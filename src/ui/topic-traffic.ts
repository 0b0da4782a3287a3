import type { Bus, BusRecord } from '../bus/port.ts'
import type { Settings } from '../config/index.ts'
import { typeOfMessage } from '../records/command.ts'
import { createDecoder, decodeAll } from '../records/decoder.ts'
import type { SendCommand, SendResult, StatusEvent } from '../records/generated.ts'
import type { SchemaRegistry } from '../records/registry.ts'
import { schemas } from '../records/schemas.ts'
import { FollowedTopic, fromNow } from './followed-topic.ts'

export interface TopicTraffic {
  commands: FollowedTopic[]
  others: FollowedTopic[]
}

/** Counts what comes onto the topics of commands, results and statuses from now on. */
export function followTraffic(
  bus: Bus,
  registry: SchemaRegistry,
  { topics }: Settings,
  traffic: Traffic,
): TopicTraffic {
  const decoders = {
    command: createDecoder<SendCommand>(schemas.command, registry),
    result: createDecoder<SendResult>(schemas.result, registry),
    status: createDecoder<StatusEvent>(schemas.status, registry),
  }
  /** The types of messages without a hook of their own: of no others does the address of an account tell a verdict. */
  const unhooked = new Map<string, string>()
  /** Messages whose verdict has been counted. */
  const judged = new Map<string, true>()

  async function countCommands(topic: string, records: readonly BusRecord[]): Promise<void> {
    for (const one of await decodeAll(decoders.command, records)) {
      traffic.add(['command', topic, one.ok ? typeOfMessage(one.value) : 'unreadable'])
    }
  }

  async function countResults(records: readonly BusRecord[]): Promise<void> {
    const decoded = await decodeAll(decoders.result, records)
    for (const one of decoded) {
      if (!one.ok) continue
      const { type, outcome, errorCode, hooked } = one.value
      traffic.add(['result', type, outcome, errorCode ?? ''])
      if (outcome === 'SENT' && hooked === false) remember(unhooked, nameOf(one.value), type)
    }
  }

  async function countVerdicts(records: readonly BusRecord[]): Promise<void> {
    for (const one of await decodeAll(decoders.status, records)) {
      if (!one.ok || !one.value.final) continue
      const { verified, commandType, state } = one.value
      const name = nameOf(one.value)
      const type = verified ? commandType : unhooked.get(name)
      if (!type || judged.has(name)) continue
      remember(judged, name, true)
      traffic.add(['verdict', type, state])
    }
  }

  return {
    commands: topics.commands.map(
      topic => new FollowedTopic(bus, topic, fromNow, (_, records) => countCommands(topic, records)),
    ),
    others: [
      new FollowedTopic(bus, topics.results, fromNow, (_, records) => countResults(records)),
      new FollowedTopic(bus, topics.statuses, fromNow, (_, records) => countVerdicts(records)),
    ],
  }
}

const nameOf = ({ account, id }: { account: string; id: bigint }) => `${account}/${id}`

/** More messages are not kept: the oldest are forgotten. */
const mostKept = 100_000

function remember<T>(map: Map<string, T>, name: string, value: T): void {
  map.set(name, value)
  if (map.size > mostKept) map.delete(map.keys().next().value!)
}

/** Milliseconds that one count covers. */
export const stepMs = 2000
/** Steps that are kept. */
export const steps = 300
/** The time that counts go back. */
export const windowMs = steps * stepMs
/** Rates are means over these steps: ten seconds. */
const rateSteps = 5
/** Gateways and producers name types as they like: more than these are counted as `other`. */
const mostNames = 1000
const separator = '\u0000'

type Counts = Map<string, number>

interface Step {
  counts: Counts
  isKnown: boolean
}

const newStep = (): Step => ({ counts: new Map(), isKnown: true })

/**
 * Traffic is what was counted in the last ten minutes, by name, in steps of two seconds: rates, sums and a line to
 * draw. Its memory is bounded by the number of names.
 */
export class Traffic {
  /** The newest last. Counting goes on in the newest one. */
  readonly #steps: Step[] = [newStep()]
  readonly #sums: Counts = new Map()

  /**
   * Counts one.
   * @param name such as `['result', 'sms', 'SENT', '']`
   */
  add(name: readonly string[]): void {
    const known = name.join(separator)
    const key = this.#sums.has(known) || this.#sums.size < mostNames ? known : [name[0], 'other'].join(separator)
    for (const counts of [this.#steps.at(-1)!.counts, this.#sums]) counts.set(key, (counts.get(key) ?? 0) + 1)
  }

  /** The next step begins. @param isKnown whether all that happened in the one that ends could be counted */
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

  /** All counts of a kind, which is the first part of their names, with the other parts. */
  counts(kind: string): { labels: string[]; count: number }[] {
    return [...this.#sums].flatMap(([key, count]) => {
      const [first, ...labels] = key.split(separator)
      return first === kind ? [{ labels, count }] : []
    })
  }

  /** The rates, a second, at the end of each step that is over, the oldest first. */
  line(kind: string, label?: string): (number | null)[] {
    return this.#steps.slice(0, -1).map((_, i) => this.#rateAt(i, kind, label))
  }

  /** The rate, a second, of a kind and, where it is given, of this first label, now. null: it is not known. */
  perSecond(kind: string, label?: string): number | null {
    return this.#rateAt(this.#steps.length - 2, kind, label)
  }

  /** The mean of the steps that are known among the last ones. null: the last one is not. */
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
