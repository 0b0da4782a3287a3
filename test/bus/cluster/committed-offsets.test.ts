import { expect, test } from 'vitest'
import { allPartitions } from '../../../src/bus/partitions.ts'
import { stableOffsets } from '../../../src/bus/transactions/committed-offsets.ts'
import { FakeCluster } from '../../support/fake-cluster.ts'

/** Asks for a group's offsets while transactions of its workers are open. */
function askFor(count: number) {
  const cluster = new FakeCluster()
  for (let partition = 0; partition < count; partition++)
    cluster.progress.set(`t/${partition}`, { offset: 5, metadata: '' })
  const offsets = () => stableOffsets(cluster, 'group', allPartitions('t', count), cluster.clock)
  return { cluster, offsets }
}

test('an offset that an open transaction is about to change is waited for, and never taken for missing', async () => {
  const { cluster, offsets } = askFor(3)
  for (const name of ['t/0', 't/0']) cluster.next('OffsetFetch', (fields: unknown[]) => cluster.offsets(fields, name))
  cluster.progress.delete('t/2')
  const asked = offsets()
  await cluster.clock.pass(10)
  cluster.progress.set('t/0', { offset: 6, metadata: '' })
  await cluster.clock.pass(100)
  expect(await asked).toEqual([{ offset: 6, metadata: '' }, { offset: 5, metadata: '' }, null])
})

test('a transaction that stays open is an error', async () => {
  const { cluster, offsets } = askFor(2)
  cluster.always('OffsetFetch', (fields: unknown[]) => cluster.offsets(fields, 't/1'))
  const refused = expect(offsets()).rejects.toMatchObject({ type: 'UNSTABLE_OFFSET_COMMIT' })
  await cluster.clock.pass(5_000)
  await refused
})
