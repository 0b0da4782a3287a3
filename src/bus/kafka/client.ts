import type { Telemetry } from '../../telemetry/events.ts'
import type { Connect, Security } from '../wire/connecting.ts'

export interface KafkaConnection extends Security {
  brokers: readonly string[]
  clientId: string
  /** How a connection is opened. Tests that cut the wire set it. */
  connect?: Connect
  telemetry: Telemetry
}
