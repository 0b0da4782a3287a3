import { systemClock } from '../clock.ts'
import { requireBrokers, type Settings, topicsIn } from '../config/index.ts'
import { Telemetry } from '../telemetry/events.ts'
import { securityOf } from './cluster/connecting.ts'
import { KafkaBus } from './kafka-bus.ts'
import { MemoryBroker } from './memory/broker.ts'
import { MemoryBus } from './memory/bus.ts'
import type { Bus } from './port.ts'

/** All embedded busses of this process share one broker. */
const embeddedBroker = new MemoryBroker()
const embeddedPartitions = 4

/** Opens the bus that the settings name. The caller closes it. @throws SettingsError when they name no brokers */
export function openBus(settings: Settings, telemetry = new Telemetry()): Bus {
  requireBrokers(settings)
  const { kafka, topics } = settings
  const { brokers, groupId, clientId, drainMs, startFrom, onDataLoss, sessionTimeoutMs, rebalanceTimeoutMs } = kafka
  const common = { groupId, drainMs, onDataLoss, clock: systemClock, telemetry }
  if (brokers === 'embedded') {
    embeddedBroker.createTopics(topicsIn(topics).map(({ topic }) => ({ topic, partitions: embeddedPartitions })))
    // its committed offsets end with this process, so every group starts anew
    return new MemoryBus({ ...common, startFrom: 'earliest', broker: embeddedBroker, sessionTimeoutMs })
  }
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
