import { expect, onTestFinished, test } from 'vitest'
import { MemoryBroker } from '../../src/bus/memory/broker.ts'
import { MemoryBus } from '../../src/bus/memory/bus.ts'
import { systemClock } from '../../src/clock.ts'
import { Telemetry } from '../../src/telemetry/events.ts'
import type { BusHarness } from '../support/bus.ts'
import { busContract } from './contract.ts'

/** Keeps the transactional ids of all producers that were initialised. */
class Broker extends MemoryBroker {
  readonly ids = new Set<string>()

  override fence(id: string): number {
    this.ids.add(id)
    return super.fence(id)
  }
}

busContract('the embedded bus', async (): Promise<BusHarness> => {
  const broker = new Broker()
  let topics = 0
  return {
    async topic(name, partitions, maxMessageBytes) {
      const topic = `${name}-${++topics}`
      broker.createTopics([{ topic, partitions }])
      if (maxMessageBytes) broker.limit(topic, maxMessageBytes)
      return topic
    },
    limit: async (topic, maxMessageBytes) => broker.limit(topic, maxMessageBytes),
    async process(groupId) {
      const telemetry = new Telemetry()
      const bus = new MemoryBus({
        broker,
        groupId,
        clock: systemClock,
        telemetry,
        drainMs: 2000,
        startFrom: 'earliest',
      })
      onTestFinished(() => void bus.close()) // closing a crashed bus never ends
      return { bus, telemetry, crash: () => bus.crash() }
    },
    async fence(groupId) {
      for (const id of broker.ids) if (id.startsWith(`${groupId}-process/`)) broker.fence(id)
    },
    async transactions(groups) {
      for (const { records, abort } of groups) if (!abort) broker.append(records, Date.now())
    },
    openTransaction: async records => ({ commit: async () => broker.append(records, Date.now()) }),
    deleteRecords: async (topic, partition, before) => broker.cut({ topic, partition }, { start: before }),
    addPartitions: async (topic, count) => broker.addPartitions(topic, count),
    close: async () => {},
  }
})

test('a refusal of the embedded broker takes the way there and back, as an answer does', async () => {
  const broker = new MemoryBroker()
  broker.createTopics([{ topic: 'results', partitions: 1, config: { 'max.message.bytes': '4096' } }])
  const hops: string[] = []
  const bus = new MemoryBus({
    broker,
    groupId: 'group',
    clock: systemClock,
    telemetry: new Telemetry(),
    drainMs: 2000,
    startFrom: 'earliest',
    hop: async (step, way, answer) => {
      if (step === 'publish') hops.push(answer ? `${way}: ${answer.status}` : way)
    },
  })
  const { publish } = await bus.publisher()
  const large = { topic: 'results', key: null, value: Buffer.alloc(5000) }
  await expect(publish([large])).rejects.toMatchObject({ type: 'MESSAGE_TOO_LARGE' })
  expect(hops).toEqual(['there', 'back: rejected'])
})
