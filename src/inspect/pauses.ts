import type { Bus, RecordsHandler } from '../bus/port.ts'
import { systemClock } from '../clock.ts'
import { type Change, changesIn, LastChanges, requireReadable } from '../pauses/change.ts'
import { Pauses } from '../pauses/pauses.ts'
import { scanTopic } from './scan.ts'

/** All that the control topic tells. */
export interface ControlTopic {
  /** They are in the order of its one partition; of several, in that of the times that were set. */
  changes: readonly Change[]
  inForce: readonly Change[]
}

/** @throws Error when the topic cannot be read, and why; the signal's reason */
export async function readChanges(bus: Bus, topic: string, ending?: AbortSignal): Promise<ControlTopic> {
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
  return { changes: isOne ? changes : changes.toSorted((a, b) => a.at - b.at), inForce: inForce(last) }
}

function inForce(last: LastChanges): Change[] {
  const pauses = new Pauses(systemClock)
  for (const change of last) pauses.apply(change)
  pauses.close()
  return [...pauses.inForce]
}
