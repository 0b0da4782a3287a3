import type { Bus } from '../../bus/port.ts'
import { type Change, readChange } from '../../pauses/change.ts'

/** All that the control topic tells, in order; what is no change is passed over. @throws Error when there is no such topic */
export async function readChanges(bus: Bus, topic: string): Promise<Change[]> {
  if (!(await bus.partitions([topic])).has(topic)) {
    throw new Error(`there is no topic ${topic}: busgate topics create makes it`)
  }
  const changes: Change[] = []
  const reader = await bus.read([topic], 'earliest', (_, records) => {
    for (const record of records) {
      try {
        changes.push(readChange(record))
      } catch {}
    }
  })
  await reader.caughtUp()
  await reader.close()
  return changes
}
