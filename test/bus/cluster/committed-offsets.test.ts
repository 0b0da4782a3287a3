import { expect, test } from 'vitest'
import { allPartitions } from '../../../src/bus/partitions.ts'
import { committedOffsets, stableOffsets, untilSettled } from '../../../src/bus/transactions/committed-offsets.ts'
import { FakeCluster, refusal } from '../../support/fake-cluster.ts'

/** Asks for a group's offsets while transactions of its workers are open. */
function askFor(count: number) {
  const cluster = new FakeCluster()
  const tps = allPartitions('t', count)
  for (let partition = 0; partition < count; partition++)
    cluster.progress.set(`t/${partition}`, { offset: 5, metadata: '' })
  const offsets = () => stableOffsets(cluster, 'group', tps, cluster.clock)
  const settled = () => untilSettled(() => committedOffsets(cluster, 'group', tps), cluster.clock)
  const askedAt = () => cluster.of('OffsetFetch').map(({ at }) => at)
  return { cluster, offsets, settled, askedAt }
}

/** The times of requests that are repeated each ten milliseconds. */
const repeatedUntil = (ms: number) => Array.from({ length: ms / 10 + 1 }, (_, i) => 10 * i)

test('an offset that an open transaction is about to change is waited for, and never taken for missing', async () => {
  const { cluster, offsets } = askFor(3)
  for (const name of ['t/0', 't/0']) cluster.next('OffsetFetch', (fields: unknown[]) => cluster.offsets(fields, name))
  cluster.progress.set('t/1', { offset: 0, metadata: 'window' })
  cluster.progress.delete('t/2')
  const asked = offsets()
  await cluster.clock.pass(10)
  cluster.progress.set('t/0', { offset: 6, metadata: '' })
  await cluster.clock.pass(100)
  expect(await asked).toEqual([{ offset: 6, metadata: '' }, { offset: 0, metadata: 'window' }, null])
})

test('offsets of a group that commits all the time are found, each when it is stable', async () => {
  const { cluster, offsets } = askFor(2)
  let asks = 0
  cluster.always('OffsetFetch', (fields: unknown[]) => cluster.offsets(fields, `t/${asks++ % 2}`))
  const asked = offsets()
  await cluster.clock.pass(100)
  expect(await asked).toEqual(Array(2).fill({ offset: 5, metadata: '' }))
})

test('a transaction that stays open for three seconds is an error', async () => {
  const { cluster, offsets, askedAt } = askFor(2)
  cluster.always('OffsetFetch', (fields: unknown[]) => cluster.offsets(fields, 't/1'))
  const refused = expect(offsets()).rejects.toMatchObject({ type: 'UNSTABLE_OFFSET_COMMIT' })
  await cluster.clock.pass(5_000)
  await refused
  expect(askedAt()).toEqual(repeatedUntil(3_000))
})

test('an offset that the coordinator refuses to tell is an error at once, even if another may still change', async () => {
  const { cluster, offsets, askedAt } = askFor(2)
  const partitions = ['UNSTABLE_OFFSET_COMMIT', 'TOPIC_AUTHORIZATION_FAILED'].map((type, partitionIndex) => {
    return { partitionIndex, committedOffset: -1n, metadata: '', errorCode: refusal(type).code }
  })
  cluster.next('OffsetFetch', { groups: [{ topics: [{ name: 't', partitions }] }] })
  await expect(offsets()).rejects.toMatchObject({ type: expect.any(String) })
  expect(askedAt()).toEqual([0])
})

test('an offset that the answer leaves out is an error, not a group without progress', async () => {
  const { cluster, offsets } = askFor(2)
  cluster.next('OffsetFetch', { groups: [{ topics: [{ name: 't', partitions: [] }] }] })
  await expect(offsets()).rejects.toThrow("the coordinator's answer left out t/0")
})

test('a take-over waits for half a second until the last commit has settled, and goes on with what is there', async () => {
  const { cluster, settled, askedAt } = askFor(2)
  cluster.always('OffsetFetch', (fields: unknown[]) => cluster.offsets(fields, 't/1'))
  const asked = settled()
  await cluster.clock.pass(5_000)
  expect(await asked).toMatchObject([{ error: null }, { error: { type: 'UNSTABLE_OFFSET_COMMIT' } }])
  expect(askedAt()).toEqual(repeatedUntil(500))
})
