import { systemClock } from '../clock.ts'
import { requireBrokers, type Settings, topicsIn } from '../config/index.ts'
import { sharedByCopies } from '../package.ts'
import { Telemetry } from '../telemetry/events.ts'
import type { Bus as OpenedBus } from './opened.ts'
import type { Bus } from './port.ts'

const embeddedPartitions = 4

/**
 * Opens the bus that the settings name, and loads its client. The caller closes it.
 * @param isOwn whether an embedded bus is a new one, instead of the one that the process shares
 * @throws SettingsError when they name no brokers
 */
export async function openBus(settings: Settings, telemetry = new Telemetry(), isOwn = false): Promise<Bus> {
  requireBrokers(settings)
  const { kafka, topics } = settings
  const { brokers, groupId, clientId, drainMs, startFrom, sessionTimeoutMs } = kafka
  const common = { groupId, drainMs, clock: systemClock, telemetry }
  if (brokers === 'embedded') {
    const [{ MemoryBroker }, { MemoryBus }] = await Promise.all([
      import('./memory/broker.ts'),
      import('./memory/bus.ts'),
    ])
    const broker = isOwn ? new MemoryBroker() : sharedByCopies('embedded broker', () => new MemoryBroker())
    broker.createTopics(topicsIn(topics).map(({ topic }) => ({ topic, partitions: embeddedPartitions })))
    // committed offsets end with this process, so every group starts anew
    return new MemoryBus({ ...common, startFrom: 'earliest', broker, sessionTimeoutMs })
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
    compression: kafka.compression,
    ...securityOf(kafka, systemClock),
    instanceId: kafka.instanceId,
    rack: kafka.rack,
  })
}

/** The bus that the caller opened, or else a new one. @throws Error when it is no open bus; SettingsError as `openBus` */
export async function busOf(settings: Settings, given: OpenedBus | undefined, telemetry: Telemetry): Promise<Bus> {
  if (given === undefined) return openBus(settings, telemetry)
  if (given?.kind !== 'busgate.Bus') throw new Error('bus must be one that openBus has opened')
  const bus = given as Bus
  bus.closing.throwIfAborted()
  return bus
}
