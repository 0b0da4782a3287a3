import type { Bus, BusRecord } from '../bus/port.ts'
import type { Settings } from '../config/index.ts'
import { decodeAll } from '../inspect/scan.ts'
import { typeOfMessage } from '../records/command.ts'
import { createDecoder } from '../records/decoder.ts'
import type { SendCommand, SendResult, StatusEvent } from '../records/generated.ts'
import type { SchemaRegistry } from '../records/registry.ts'
import { isUnhooked } from '../records/result.ts'
import { schemas } from '../records/schemas.ts'
import { FollowedTopic } from './followed-topic.ts'
import type { Traffic } from './traffic.ts'
import { VerdictCounter } from './verdicts.ts'

const now = async (tps: readonly unknown[]) => tps.map(() => 'latest' as const)

export interface TopicTraffic {
  commands: FollowedTopic[]
  others: FollowedTopic[]
  verdicts: VerdictCounter
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
    for (const [i, one] of decoded.entries()) {
      if (!one.ok) continue
      const { type, outcome, errorCode, account, attempts, final } = one.value
      traffic.add(['result', type, outcome, errorCode ?? ''])
      if (attempts > 0 && final) traffic.add(['use', account])
      if (outcome === 'SENT') verdicts.sent(nameOf(one.value), { type, unhooked: isUnhooked(records[i]!.headers) })
    }
  }

  async function countVerdicts(records: readonly BusRecord[]): Promise<void> {
    for (const one of await decodeAll(decoders.status, records)) {
      if (one.ok && one.value.final) verdicts.told(nameOf(one.value), one.value)
    }
  }

  return {
    verdicts,
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
