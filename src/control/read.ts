import type { Bus, RecordsHandler } from '../bus/port.ts'
import { scanTopic } from '../bus/scan.ts'
import { systemClock } from '../clock.ts'
import type { Settings } from '../config/index.ts'
import { type Change, changesIn, isDeletion, keyOf, LastChanges, requireReadable, type Withdrawal } from './change.ts'
import { Controls } from './controls.ts'

/** All that the control topic tells. */
export interface ControlTopic {
  /** They are in the order of its one partition; of several, in that of the times that were set. */
  changes: readonly Change[]
  /** What is paused and withdrawn, and the accounts that are in their quiet hours by these settings. */
  inForce: readonly Change[]
  /** Withdrawals that are over, and whose records are still there. */
  over: readonly Withdrawal[]
}

/** @throws Error when the topic cannot be read, and why; the signal's reason */
export async function readControl(bus: Bus, settings: Settings, ending?: AbortSignal): Promise<ControlTopic> {
  const topic = settings.topics.control
  requireReadable(topic, await bus.lookAt(topic))
  const all: { change: Change; partition: number }[] = []
  const take: RecordsHandler = ({ partition }, records) => {
    for (const change of changesIn(records)) all.push({ change, partition })
  }
  await scanTopic(bus, topic, take, ending)
  const last = new LastChanges()
  for (const { change, partition } of all) last.add(change, partition)
  const changes = all.map(({ change }) => change)
  const isOne = all.every(({ partition }) => partition === all[0]!.partition)
  const inForce = inForceOf(last, settings)
  const keys = new Set(inForce.map(keyOf))
  const over = [...last].filter(change => change.effect === 'withdrawn' && !keys.has(keyOf(change)))
  return {
    changes: isOne ? changes : changes.toSorted((a, b) => a.at - b.at),
    inForce,
    over: (over as Withdrawal[]).filter(change => !isDeletion(change)),
  }
}

function inForceOf(last: LastChanges, settings: Settings): Change[] {
  const controls = new Controls(settings, systemClock)
  for (const change of last) controls.apply(change)
  controls.update()
  controls.close()
  return controls.inForce
}
