import { expect, test } from 'vitest'
import type { Brokers } from '../../src/bus/cluster/brokers.ts'
import { committedOffsets } from '../../src/bus/cluster/committed-offsets.ts'
import { KafkaSharedCommits } from '../../src/bus/group/shared-commits.ts'
import type { TopicPartition } from '../../src/bus/port.ts'
import { RecordLimits } from '../../src/bus/record-limits.ts'
import { Telemetry } from '../../src/telemetry/events.ts'
import { ManualClock } from '../support/clock.ts'
import { type AnsweredOffset, codeOf, ScriptedBrokers } from '../support/scripted-brokers.ts'

const groupId = 'group'
const low = 0
const high = 9

function setUp() {
  const scripted = new ScriptedBrokers()
  const brokers = scripted as unknown as Brokers
  const clock = new ManualClock()
  const commits = new KafkaSharedCommits({
    brokers,
    clock,
    groupId,
    process: 'me',
    compression: 'none',
    logs: {
      ends: async tp => ({ ...tp, low, high }),
      committed: (group, tps) => committedOffsets(brokers, group, tps),
    },
    member: () => ({ synced: { memberId: 'me', generation: 3 }, processes: ['me'], isMember: true }),
    limits: new RecordLimits({ ask: async () => 1_048_588, clock, telemetry: new Telemetry() }),
  })
  return { brokers: scripted, clock, commits }
}

const tps = Array.from({ length: 64 }, (_, partition) => ({ topic: 'commands', partition }))

/** An answer of a coordinator that still ends a transaction on the partition. */
const unstable =
  ({ topic, partition }: TopicPartition) =>
  ({ tps }: { tps: TopicPartition[] }): { partitions: AnsweredOffset[] } => ({
    partitions: tps.map(tp => {
      const isHeld = tp.topic === topic && tp.partition === partition
      return { ...tp, offset: -1, metadata: '', errorCode: isHeld ? codeOf('UNSTABLE_OFFSET_COMMIT') : 0 }
    }),
  })

test('partitions that are taken over together share one barrier write, however slowly the coordinator ends it', async () => {
  const { brokers, clock, commits } = setUp()
  const held = unstable(tps[0]!)
  brokers.next('OffsetFetch', undefined, held, held, held)
  brokers.next('TxnOffsetCommit', { errorCode: 0 }) // and nothing is kept of it: it is aborted
  const acquired = Promise.all(tps.map(tp => commits.acquire(tp)))
  for (let asks = 0; asks < 20; asks++) await clock.pass(50)
  expect(brokers.of('TxnOffsetCommit')).toHaveLength(1)
  expect(await acquired).toEqual(tps.map(tp => ({ ...tp, committed: null, low, high })))
  expect(brokers.of('OffsetFetch')).toHaveLength(5)
})
