import type { Bus, BusRecord } from '../bus/port.ts'
import type { Settings } from '../config/index.ts'
import { decodeAll } from '../inspect/scan.ts'
import { typeOfMessage } from '../records/command.ts'
import { createDecoder } from '../records/decoder.ts'
import type { SendCommand, SendResult, StatusEvent } from '../records/generated.ts'
import type { SchemaRegistry } from '../records/registry.ts'
import { schemas } from '../records/schemas.ts'
import { FollowedTopic, fromNow } from './followed-topic.ts'
import type { Traffic } from './traffic.ts'

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
  const verdicts = new VerdictCounter(traffic)

  async function countCommands(topic: string, records: readonly BusRecord[]): Promise<void> {
    for (const one of await decodeAll(decoders.command, records)) {
      traffic.add(['command', topic, one.ok ? typeOfMessage(one.value) : 'unreadable'])
    }
  }

  async function countResults(records: readonly BusRecord[]): Promise<void> {
    const decoded = await decodeAll(decoders.result, records)
    for (const one of decoded) {
      if (!one.ok) continue
      const { type, outcome, errorCode, account, attempts, final, hooked } = one.value
      traffic.add(['result', type, outcome, errorCode ?? ''])
      if (attempts > 0 && final) traffic.add(['use', account])
      if (outcome === 'SENT') verdicts.sent(nameOf(one.value), { type, unhooked: hooked === false })
    }
  }

  async function countVerdicts(records: readonly BusRecord[]): Promise<void> {
    for (const one of await decodeAll(decoders.status, records)) {
      if (one.ok && one.value.final) verdicts.told(nameOf(one.value), one.value)
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

/** More are not kept: the oldest are forgotten. */
const mostSent = 100_000
const mostEarly = 10_000

/** A message that was sent, of which no verdict was counted yet. */
interface Sent {
  type: string
  /** Whether no hook of its own went with it: else what the address of its account is told is no verdict. */
  unhooked: boolean
}

type Told = Pick<StatusEvent, 'state' | 'verified'>

/** Counts one verdict for each message that is sent from now on, by its type. A verdict may be read before the result. */
export class VerdictCounter {
  readonly #traffic: Traffic
  /** Messages that were sent; null: the verdict has been counted. */
  readonly #sent = new Map<string, Sent | null>()
  /** Verdicts of messages whose result was not read yet, by whether they are verified: strangers push out none that is. */
  readonly #early = { true: new Map<string, Told>(), false: new Map<string, Told>() }

  constructor(traffic: Traffic) {
    this.#traffic = traffic
  }

  /** @param message names it: id and account */
  sent(message: string, sent: Sent): void {
    this.#sent.set(message, sent)
    forgetOldest(this.#sent, mostSent)
    for (const early of Object.values(this.#early)) {
      const told = early.get(message)
      early.delete(message)
      if (told) this.told(message, told)
    }
  }

  told(message: string, { state, verified }: Told): void {
    const sent = this.#sent.get(message)
    if (sent === null) return
    if (sent === undefined) {
      const early = this.#early[`${verified}`]
      if (!early.has(message)) early.set(message, { state, verified })
      forgetOldest(early, mostEarly)
    } else if (verified || sent.unhooked) {
      this.#sent.set(message, null)
      this.#traffic.add(['verdict', sent.type, state])
    }
  }
}

function forgetOldest(map: Map<string, unknown>, most: number): void {
  if (map.size > most) map.delete(map.keys().next().value!)
}
