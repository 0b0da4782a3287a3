import type { Bus, RecordsHandler } from '../bus/port.ts'
import { scanTopic } from '../bus/scan.ts'
import { systemClock } from '../clock.ts'
import type { Settings } from '../config/index.ts'
import {
  type Change,
  type CommandLife,
  changesIn,
  isDeletion,
  isOver,
  keyOf,
  requireReadable,
  type Withdrawn,
} from './change.ts'
import { Controls } from './controls.ts'
import { LastChanges } from './last-changes.ts'

/** The content of the control topic. */
export interface ControlTopic {
  /** Current pauses and withdrawals, and quiet hours by these settings. */
  inForce: readonly Change[]
  /** Used share of the room for pauses and withdrawals, 0 to 1. */
  used: number
  /** Why workers send nothing; null if there is room for all that is in force. */
  overfull: string | null
  /** Expired withdrawals whose records still exist, at most 10,000. */
  over: readonly Withdrawn[]
  /** By these settings, how long withdrawals outlast their ends. */
  life: CommandLife
}

const mostOver = 10_000

/** Reads the topic as workers do, in bounded memory. @throws Error that says why it cannot be read; the signal's reason */
export async function readControl(bus: Bus, settings: Settings, ending?: AbortSignal): Promise<ControlTopic> {
  const topic = settings.topics.control
  const look = await bus.lookAt(topic)
  requireReadable(topic, look)
  const now = Date.now()
  const isPast = (change: Change) => isOver(change, settings.commands, now)
  const last = new LastChanges(look.partitions, isPast)
  const over = new Map<string, Withdrawn>()
  const take: RecordsHandler = ({ partition }, records) => {
    for (const change of changesIn(records).changes) {
      if (!last.add(change, partition)) continue
      const { effect, kind, name } = change
      const key = keyOf(change)
      if (effect === 'paused' || !isPast(change) || isDeletion(change)) over.delete(key)
      else if (over.size < mostOver) over.set(key, { effect, kind, name })
    }
  }
  const scan = (take: RecordsHandler) =>
    scanTopic(bus, topic, take, { isolation: 'uncommitted', ...(ending && { ending }) })
  await scan(take)
  await last.complete(add =>
    scan(({ partition }, records) => changesIn(records).changes.forEach(change => void add(change, partition))),
  )
  return {
    ...inForceOf(last, settings),
    over: [...over.values()],
    life: settings.commands,
  }
}

function inForceOf(last: LastChanges, settings: Settings): Pick<ControlTopic, 'inForce' | 'used' | 'overfull'> {
  const controls = new Controls(settings, systemClock)
  controls.replaceWith(last)
  controls.update()
  controls.close()
  const { inForce, used, overfull } = controls
  return { inForce, used, overfull }
}
