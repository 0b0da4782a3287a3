import { openBus } from '../bus/open.ts'
import type { Bus } from '../bus/port.ts'
import type { Settings } from '../config/index.ts'
import { Telemetry } from '../telemetry/events.ts'
import { untilSignal } from './framework/terminal.ts'
import { settingsWithBrokers } from './settings.ts'

/**
 * Runs `work` with a bus to the brokers of the settings.
 * @param work its signal aborts at an interruption
 * @returns the exit code; 130 if interrupted
 */
export async function onBus(
  config: string | undefined,
  work: (bus: Bus, settings: Settings, ending: AbortSignal) => Promise<number>,
): Promise<number> {
  const settings = settingsWithBrokers(config)
  await using bus = await openBus(settings, new Telemetry())
  const ending = new AbortController()
  const interrupted = untilSignal().then(() => {
    ending.abort()
    return 130
  })
  return await Promise.race([work(bus, settings, ending.signal), interrupted])
}
