import type { Bus, BusRecord } from '../bus/port.ts'
import type { Settings } from '../config/index.ts'
import { decodeAll } from '../inspect/decode-all.ts'
import { typeOfMessage } from '../records/command.ts'
import { createDecoder } from '../records/decoder.ts'
import type { SendCommand, SendResult, StatusEvent } from '../records/generated.ts'
import type { SchemaRegistry } from '../records/registry.ts'
import { schemas } from '../records/schemas.ts'
import { FollowedTopic } from './followed-topic.ts'
import type { Traffic } from './traffic.ts'

/** Messages whose verdict is awaited; the oldest are forgotten. */
const mostAwaited = 100_000

const now = async (tps: readonly unknown[]) => tps.map(() => 'latest' as const)

/** Counts what comes onto the topics of commands, results and statuses from now on. */
export function followTraffic(
  bus: Bus,
  registry: SchemaRegistry,
  { topics }: Settings,
  traffic: Traffic,
): { commands: FollowedTopic[]; others: FollowedTopic[] } {
  const decoders = {
    command: createDecoder<SendCommand>(schemas.command, registry),
    result: createDecoder<SendResult>(schemas.result, registry),
    status: createDecoder<StatusEvent>(schemas.status, registry),
  }
  /** Types of sent messages without a verdict. */
  const awaited = new Map<string, string>()

  async function countCommands(topic: string, records: readonly BusRecord[]): Promise<void> {
    for (const one of await decodeAll(decoders.command, records)) {
      traffic.add(['command', topic, one.ok ? typeOfMessage(one.value) : 'unreadable'])
    }
  }

  async function countResults(records: readonly BusRecord[]): Promise<void> {
    for (const one of await decodeAll(decoders.result, records)) {
      if (!one.ok) continue
      const { type, outcome, errorCode, account, attempts, final } = one.value
      traffic.add(['result', type, outcome, errorCode ?? ''])
      if (attempts > 0 && final) traffic.add(['use', account])
      if (outcome !== 'SENT') continue
      awaited.set(nameOf(one.value), type)
      if (awaited.size > mostAwaited) awaited.delete(awaited.keys().next().value!)
    }
  }

  /** A message has one verdict, however many events tell it; one that was sent earlier counts by its first words. */
  async function countVerdicts(records: readonly BusRecord[]): Promise<void> {
    for (const one of await decodeAll(decoders.status, records)) {
      if (!one.ok || !one.value.final) continue
      const { type, state, status } = one.value
      const name = nameOf(one.value)
      const sentAs = awaited.get(name)
      if (sentAs === undefined && /^(READ|REPLIED)$/i.test(status)) continue
      awaited.delete(name)
      traffic.add(['verdict', sentAs ?? type, state])
    }
  }

  return {
    commands: topics.commands.map(
      topic => new FollowedTopic(bus, topic, now, (_, records) => countCommands(topic, records)),
    ),
    others: [
      new FollowedTopic(bus, topics.results, now, (_, records) => countResults(records)),
      new FollowedTopic(bus, topics.statuses, now, (_, records) => countVerdicts(records)),
    ],
  }
}

const nameOf = ({ account, id }: { account: string; id: bigint }) => `${account}/${id}`
