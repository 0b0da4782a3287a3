import { onTestFinished } from 'vitest'
import { Brokers } from '../../src/bus/wire/brokers.ts'
import { systemClock } from '../../src/clock.ts'
import { Telemetry } from '../../src/telemetry/events.ts'

/** The wire to these brokers, which is closed when the test has ended. */
export function openBrokers(seeds: readonly string[]): Brokers {
  const brokers = new Brokers({ clientId: 'busgate-test', seeds, clock: systemClock, telemetry: new Telemetry() })
  onTestFinished(() => brokers.close())
  return brokers
}
