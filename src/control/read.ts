import type { Bus, RecordsHandler } from '../bus/port.ts'
import { scanTopic } from '../bus/scan.ts'
import { systemClock } from '../clock.ts'
import type { Settings } from '../config/index.ts'
import { type Change, changesIn, isDeletion, keyOf, LastChanges, requireReadable, type Withdrawal } from './change.ts'
import { Controls } from './controls.ts'

/** The content of the control topic. */
export interface ControlTopic {
  /** In the order of its one partition; with several partitions, ordered by time. */
  changes: readonly Change[]
  /** Current pauses and withdrawals, and quiet hours by these settings. */
  inForce: readonly Change[]
  /** Expired withdrawals whose records still exist. */
  over: readonly Withdrawal[]
}

/** @throws Error that says why the topic cannot be read; the signal's reason */
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
