import type net from 'node:net'
import { onTestFinished } from 'vitest'
import { addressOf, type Sasl } from '../../src/bus/cluster/connecting.ts'
import { KafkaBus } from '../../src/bus/kafka-bus.ts'
import { systemClock } from '../../src/clock.ts'
import { Telemetry } from '../../src/telemetry/events.ts'

/** Opens a Kafka bus, whose connections the test can break, until the end of the test. */
export function openWired({
  brokers,
  groupId,
  telemetry = new Telemetry(),
  sasl,
  instanceId,
  through = address => address,
}: {
  brokers: string[]
  groupId: string
  telemetry?: Telemetry
  sasl?: Sasl | undefined
  instanceId?: string | undefined
  /** Redirects connections to a broker to another address. */
  through?: ((address: string) => string) | undefined
}) {
  const wires = new Set<net.Socket>()
  let cut = false
  /** Breaks every connection; new ones may be opened. */
  const breakAll = (error?: Error) => {
    for (const wire of wires) wire.destroy(error)
  }
  const held = (socket: net.Socket) => {
    if (cut) socket.destroy(new Error('the wire is cut'))
    wires.add(socket)
    socket.once('close', () => wires.delete(socket))
    return socket
  }
  const bus = new KafkaBus({
    brokers,
    ...(sasl && { sasl }),
    instanceId,
    clientId: 'busgate-test',
    groupId,
    sessionTimeoutMs: 6000,
    drainMs: 2000,
    startFrom: 'earliest',
    compression: 'zstd',
    clock: systemClock,
    telemetry,
    async connect(connection, { host, port }) {
      const target = addressOf(through(`${host}:${port}`))
      const connected = connection.connect(target.host, target.port)
      held(connection.socket)
      await connected
    },
  })
  onTestFinished(() => bus.close().catch(() => {}))
  const warnings: string[] = []
  telemetry.on('bus.log', ({ level, message }) => level === 'warn' && warnings.push(message))
  return {
    bus,
    telemetry,
    warnings,
    /** The number of open connections. */
    connections: () => wires.size,
    breakAll,
    /** Breaks every connection, and each one opened later. */
    cut() {
      cut = true
      breakAll()
    },
  }
}
