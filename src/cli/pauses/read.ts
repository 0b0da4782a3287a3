import type { Bus } from '../../bus/port.ts'
import { scanTopic } from '../../inspect/scan.ts'
import { type Change, changesIn } from '../../pauses/change.ts'

/** All that the control topic tells, in order. @throws Error when there is no such topic */
export async function readChanges(bus: Bus, topic: string): Promise<Change[]> {
  const changes: Change[] = []
  await scanTopic(bus, topic, (_, records) => void changes.push(...changesIn(records)))
  return changes
}
