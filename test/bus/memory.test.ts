import { MemoryBroker } from '../../src/bus/memory/broker.ts'
import { MemoryBus } from '../../src/bus/memory/bus.ts'
import { systemClock } from '../../src/clock.ts'
import { Telemetry } from '../../src/telemetry/events.ts'
import type { BusHarness } from '../support/bus.ts'
import { busContract } from './contract.ts'

busContract('the embedded bus', async (): Promise<BusHarness> => {
  const broker = new MemoryBroker()
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
      return { bus, telemetry, crash: () => bus.crash() }
    },
    async fence(groupId, topic, partition) {
      broker.fence(`${groupId}-${topic}-${partition}`)
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
