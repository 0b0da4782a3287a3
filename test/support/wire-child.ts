import { writeSync } from 'node:fs'
import { Brokers } from '../../src/bus/cluster/brokers.ts'
import { committedOffsets } from '../../src/bus/cluster/committed-offsets.ts'
import { RecordLimits } from '../../src/bus/record-limits.ts'
import { TransactionalProducer } from '../../src/bus/write/transactional-producer.ts'
import { systemClock as clock, sleep } from '../../src/clock.ts'
import { Telemetry } from '../../src/telemetry/events.ts'

/*
 * A process that takes over, and then commits cycle after cycle: number n on each partition of its results, and n + 1 as
 * its progress. Says 'committed' after each, 'inside' where it ends no transaction, and why it could not go on.
 */

export interface ChildPlan {
  seeds: string[]
  groupId: string
  results: string
  partitions: number
  commands: string
  /** It stays inside its first transaction. */
  stays?: boolean
}

const plan = JSON.parse(process.argv[2]!) as ChildPlan
const { seeds, groupId, results, commands } = plan
const telemetry = new Telemetry()
const brokers = new Brokers({ clientId: 'busgate-child', seeds, clock, telemetry })
const tp = { topic: commands, partition: 0 }
const say = (line: string) => void writeSync(1, `${line}\n`)

const ask: Brokers['ask'] = async (target, api, request, how) => {
  if (!plan.stays || api.name !== 'EndTxn') return brokers.ask(target, api, request, how)
  say('inside')
  return new Promise(() => {})
}

async function takeOver(): Promise<number> {
  for (;;) {
    const [progress] = await committedOffsets(brokers, groupId, [tp])
    if (!progress!.error) return progress!.committed?.offset ?? 0
    await sleep(clock, 5)
  }
}

try {
  const producer = new TransactionalProducer({
    brokers: {
      ask,
      leader: of => brokers.leader(of),
      refresh: topics => brokers.refresh(topics),
      partitions: topic => brokers.partitions(topic),
      nodes: () => brokers.nodes(),
    },
    ...{ clock, groupId, transactionalId: `${groupId}-slot-0`, compression: 'none' },
    limits: new RecordLimits({ ask: async () => 1_048_588, clock, telemetry }),
  })
  await producer.init()
  for (let number = await takeOver(); ; number++) {
    const records = Array.from({ length: plan.partitions }, (_, partition) => ({
      ...{ topic: results, partition, key: null },
      value: Buffer.from(String(number)),
    }))
    const offsets = [{ ...tp, offset: number + 1, metadata: 'x'.repeat(2000) }]
    await producer.commit({ records, offsets, member: { memberId: '', generation: -1, instanceId: null } })
    say('committed')
    await sleep(clock, 3)
  }
} catch (error) {
  say((error as Error).message)
  process.exit(3)
}
