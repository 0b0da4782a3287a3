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
