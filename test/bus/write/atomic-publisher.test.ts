import { expect, test } from 'vitest'
import { RecordLimits } from '../../../src/bus/record-limits.ts'
import { AtomicPublisher } from '../../../src/bus/transactions/atomic-publisher.ts'
import type { ProduceRequest } from '../../../src/bus/write/produce-api.ts'
import { Telemetry } from '../../../src/telemetry/events.ts'
import { describeBatch } from '../../support/batches.ts'
import { buildRecords } from '../../support/bus.ts'
import { FakeCluster, refusal } from '../../support/fake-cluster.ts'

async function open() {
  const brokers = new FakeCluster()
  const limits = new RecordLimits({ ask: async () => 1_048_588, telemetry: new Telemetry() })
  const publisher = await AtomicPublisher.open({
    ...{ brokers, clock: brokers.clock, limits, compression: 'none' },
    ...{ transactionalId: 'replay', groupId: 'group' },
  })
  const sent = () =>
    brokers
      .of('Produce')
      .flatMap(({ fields: [{ batches }] }) => (batches as ProduceRequest['batches']).map(describeBatch))
  return { brokers, publisher, sent }
}

test('an atomic publisher writes the records of a call in one transaction, without progress of a group', async () => {
  const { brokers, publisher, sent } = await open()
  await publisher.publish([
    ...buildRecords('first', ['a', 'b'], { partition: 0 }),
    ...buildRecords('second', ['c'], { partition: 0 }),
  ])
  expect(sent()).toMatchObject([
    { to: 'first/0', keys: ['a', 'b'] },
    { to: 'second/0', keys: ['c'] },
  ])
  expect(brokers.asked.map(({ api }) => api)).toEqual(['InitProducerId', 'AddPartitionsToTxn', 'Produce', 'EndTxn'])
  expect(brokers.of('EndTxn').map(({ fields: [id, , , isCommitted] }) => [id, isCommitted])).toEqual([['replay', true]])
})

test('an atomic publisher tells that a later one of its name has fenced it, and does not begin anew', async () => {
  const { brokers, publisher } = await open()
  const fenced = refusal('PRODUCER_FENCED')
  brokers.next('EndTxn', fenced)
  await expect(publisher.publish(buildRecords('first', ['a']))).rejects.toBe(fenced)
  brokers.next('AddPartitionsToTxn', fenced)
  await expect(publisher.publish(buildRecords('first', ['b']))).rejects.toBe(fenced)
  expect(brokers.of('InitProducerId')).toHaveLength(1)
})
