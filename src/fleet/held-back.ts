import { partitionsOf } from '../bus/partitions.ts'
import type { Bus } from '../bus/port.ts'
import type { Settings } from '../config/index.ts'
import { type Fleet, type Process, readFleet } from './fleet.ts'
import { type Hold, holdsOf } from './holds.ts'

/** What the processes report, and what that holds back. */
export interface HeldBack {
  fleet: Fleet
  holds: Hold[]
}

/** @throws Error that says why it is unknown */
export async function readHeldBack(bus: Bus, settings: Settings, ending?: AbortSignal): Promise<HeldBack> {
  const partitions = await partitionsOf(bus, settings.topics.commands)
  const fleet = await readFleet(bus, settings, ending)
  return { fleet, holds: holdsOf(fleet, partitions) }
}

/** Number of partitions that a process owns. */
export const partitionsOwned = ({ report }: Process): number =>
  Object.values(report.owned).reduce((sum, rates) => sum + Object.keys(rates).length, 0)
