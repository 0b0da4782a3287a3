import { expect, test } from 'vitest'
import type { Brokers } from '../../src/bus/cluster/brokers.ts'
import { committedOffsets } from '../../src/bus/cluster/committed-offsets.ts'
import { KafkaSharedCommits } from '../../src/bus/group/shared-commits.ts'
import { RecordLimits } from '../../src/bus/record-limits.ts'
import { Telemetry } from '../../src/telemetry/events.ts'
import { FakeCluster } from '../support/fake-cluster.ts'

const groupId = 'group'
const high = 9

test('partitions that are taken over together share one barrier write, however slowly the coordinator ends it', async () => {
  const cluster = new FakeCluster()
  const { clock } = cluster
  const commits = new KafkaSharedCommits({
    ...{ brokers: cluster as unknown as Brokers, clock, groupId, process: 'me', compression: 'none' },
    logs: {
      ends: async tp => ({ ...tp, low: 0, high }),
      committed: (group, tps) => committedOffsets(cluster, group, tps),
    },
    member: () => ({ synced: { memberId: 'me', generation: 3 }, processes: ['me'], isMember: true }),
    limits: new RecordLimits({ ask: async () => 1_048_588, clock, telemetry: new Telemetry() }),
  })
  const tps = Array.from({ length: 64 }, (_, partition) => ({ topic: 'commands', partition }))
  const held = (fields: unknown[]) => cluster.offsets(fields, 'commands/0')
  cluster.next('OffsetFetch', undefined, held, held, held)
  const acquired = Promise.all(tps.map(tp => commits.acquire(tp)))
  for (let asks = 0; asks < 20; asks++) await clock.pass(50)
  expect(cluster.of('TxnOffsetCommit')).toHaveLength(1)
  expect(await acquired).toEqual(tps.map(tp => ({ ...tp, committed: null, low: 0, high, topicId: 'first' })))
  expect(cluster.of('OffsetFetch')).toHaveLength(5)
})
