import { hostname, userInfo } from 'node:os'
import { openBus } from '../../bus/open.ts'
import type { Bus, OutgoingRecord } from '../../bus/port.ts'
import type { Settings } from '../../config/index.ts'
import { type ControlTopic, readControl } from '../../control/read.ts'
import { Telemetry } from '../../telemetry/events.ts'
import { textFlag } from '../framework/command.ts'
import { printable } from '../framework/terminal.ts'
import { settingsWithBrokers } from '../settings.ts'

export interface Control extends ControlTopic {
  settings: Settings
  bus: Bus
  write(records: OutgoingRecord[]): Promise<void>
}

/** Does some work with what the control topic tells. @returns the exit code */
export async function onControl(
  config: string | undefined,
  work: (control: Control) => Promise<number>,
): Promise<number> {
  const settings = settingsWithBrokers(config)
  const bus = openBus(settings, new Telemetry())
  const write = async (records: OutgoingRecord[]) => {
    const publisher = await bus.publisher()
    await publisher.publish(records)
    await publisher.close()
  }
  try {
    return await work({ settings, bus, ...(await readControl(bus, settings)), write })
  } finally {
    await bus.close()
  }
}

export const byFlag = textFlag('NAME', 'Who does it; shown with the change. Default: the user of this machine.')

/** A container may run as a user that has no name. */
export function ourselves(): string {
  try {
    return `${userInfo().username}@${hostname()}`
  } catch {
    return `user ${process.getuid?.() ?? 'unknown'}@${hostname()}`
  }
}

export const say = (sentence: string) => process.stderr.write(`${printable(sentence)}\n`)
