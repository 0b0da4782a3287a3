import { systemClock } from '../clock.ts'
import { requireBrokers, type Settings, topicsIn } from '../config/index.ts'
import { Telemetry } from '../telemetry/events.ts'
import type { MemoryBroker } from './memory/broker.ts'
import type { Bus } from './port.ts'

/** All embedded busses of this process share one broker. */
let embeddedBroker: MemoryBroker | null = null
const embeddedPartitions = 4

/**
 * Opens the bus that the settings name, and loads its client. The caller closes it.
 * @throws SettingsError when they name no brokers
 */
export async function openBus(settings: Settings, telemetry = new Telemetry()): Promise<Bus> {
  requireBrokers(settings)
  const { kafka, topics } = settings
  const { brokers, groupId, clientId, drainMs, startFrom, onDataLoss, sessionTimeoutMs, rebalanceTimeoutMs } = kafka
  const common = { groupId, drainMs, onDataLoss, clock: systemClock, telemetry }
  if (brokers === 'embedded') {
    const [{ MemoryBroker }, { MemoryBus }] = await Promise.all([
      import('./memory/broker.ts'),
      import('./memory/bus.ts'),
    ])
    embeddedBroker ??= new MemoryBroker()
    embeddedBroker.createTopics(topicsIn(topics).map(({ topic }) => ({ topic, partitions: embeddedPartitions })))
    // its committed offsets end with this process, so every group starts anew
    return new MemoryBus({ ...common, startFrom: 'earliest', broker: embeddedBroker, sessionTimeoutMs })
  }
  const [{ KafkaBus }, { securityOf }] = await Promise.all([
    import('./kafka-bus.ts'),
    import('./cluster/connecting.ts'),
  ])
  return new KafkaBus({
    ...common,
    startFrom,
    brokers,
    clientId,
    sessionTimeoutMs,
    rebalanceTimeoutMs,
    compression: kafka.compression,
    ...securityOf(kafka, systemClock),
    instanceId: kafka.instanceId,
    rack: kafka.rack,
  })
}
