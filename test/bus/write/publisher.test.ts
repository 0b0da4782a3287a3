import { describe, expect, it } from 'vitest'
import { Unanswered } from '../../../src/bus/cluster/errors.ts'
import type { OutgoingRecord } from '../../../src/bus/port.ts'
import { RecordLimits } from '../../../src/bus/record-limits.ts'
import type { ProduceRequest } from '../../../src/bus/write/produce-api.ts'
import { IdempotentPublisher } from '../../../src/bus/write/publisher.ts'
import { Telemetry } from '../../../src/telemetry/events.ts'
import { describeBatch } from '../../support/batches.ts'
import { settled } from '../../support/clock.ts'
import { FakeCluster, refusing } from '../../support/fake-cluster.ts'

const buildRecord = (key: string, overrides: Partial<OutgoingRecord> = {}): OutgoingRecord => ({
  ...{ topic: 'statuses', partition: 0 },
  ...{ key: Buffer.from(key), value: Buffer.from(`value of ${key}`) },
  ...overrides,
})

async function setUp() {
  const brokers = new FakeCluster()
  const { clock } = brokers
  const limits = new RecordLimits({ ask: async () => 1_048_588, telemetry: new Telemetry() })
  const publisher = new IdempotentPublisher({ brokers, clock, limits, compression: 'none' })
  const looks = () =>
    brokers.of('Produce').map(({ fields: [request] }) => (request as ProduceRequest).batches.map(describeBatch))
  const keys = () => looks().map(batches => batches.flatMap(one => one.keys))
  const sequences = () => looks().map(batches => batches.map(one => [one.epoch, one.sequence]))
  await publisher.publish([buildRecord('first')])
  return { brokers, publisher, keys, sequences }
}

describe('a publisher', () => {
  it('has one request in flight, and sends the records that come meanwhile in the next', async () => {
    const { brokers, publisher, keys, sequences } = await setUp()
    const gate = Promise.withResolvers<void>()
    brokers.next('Produce', () => gate.promise)
    const published = ['a', 'b'].map(key => publisher.publish([buildRecord(key)]))
    await settled()
    published.push(...['c', 'd'].map(key => publisher.publish([buildRecord(key)])))
    await settled()
    expect(keys()).toEqual([['first'], ['a', 'b']])
    gate.resolve()
    await Promise.all(published)
    expect(keys()).toEqual([['first'], ['a', 'b'], ['c', 'd']])
    expect(sequences()).toEqual([[[10, 0]], [[10, 1]], [[10, 3]]])
  })

  it('reports a failure only to the owners of its records, and continues as a new producer', async () => {
    const { brokers, publisher, sequences } = await setUp()
    brokers.next('Produce', refusing({ 'statuses/1': 'TOPIC_AUTHORIZATION_FAILED' }))
    const outcomes = await Promise.allSettled([
      publisher.publish([buildRecord('a')]),
      publisher.publish([buildRecord('b', { partition: 1 }), buildRecord('c')]),
    ])
    expect(outcomes).toMatchObject([
      { status: 'fulfilled' },
      { reason: { type: 'TOPIC_AUTHORIZATION_FAILED', message: expect.stringMatching(/^statuses\/1: /) } },
    ])
    await publisher.publish([buildRecord('d')])
    expect(sequences().at(-1)).toEqual([[20, 0]])
  })

  it('fails only the records of a missing topic', async () => {
    const { brokers, publisher } = await setUp()
    brokers.counts.set('missing', 0)
    const outcomes = await Promise.allSettled([
      publisher.publish([buildRecord('a', { topic: 'missing' })]),
      publisher.publish([buildRecord('b')]),
    ])
    expect(outcomes).toMatchObject([
      { reason: { message: expect.stringMatching(/^missing: no such topic/) } },
      { status: 'fulfilled' },
    ])
  })

  it('fails all waiting records if it gets no producer id, and tries again with the next ones', async () => {
    const { brokers, publisher } = await setUp()
    brokers.next('Produce', refusing({ 'statuses/0': 'INVALID_RECORD' }))
    await expect(publisher.publish([buildRecord('a')])).rejects.toMatchObject({ type: 'INVALID_RECORD' })
    brokers.next('InitProducerId', new Unanswered('no answer'))
    await expect(publisher.publish([buildRecord('a')])).rejects.toThrow('no answer')
    await publisher.publish([buildRecord('a')])
  })

  it('finishes its request when it is closed, and accepts nothing more', async () => {
    const { brokers, publisher } = await setUp()
    const gate = Promise.withResolvers<void>()
    brokers.next('Produce', () => gate.promise)
    const published = publisher.publish([buildRecord('a')])
    await settled()
    let closed = false
    const closing = publisher.close().then(() => {
      closed = true
    })
    await settled()
    expect(closed).toBe(false)
    await expect(publisher.publish([buildRecord('b')])).rejects.toThrow(/closed/)
    gate.resolve()
    await Promise.all([published, closing])
  })
})
