import type { Admin } from 'kafkajs'
import { type Clock, sleep } from '../../clock.ts'

/** What says no more than that the group's coordinator is being found, or still reads what it has to know. */
const passing = new Set(['NOT_COORDINATOR_FOR_GROUP', 'GROUP_COORDINATOR_NOT_AVAILABLE', 'GROUP_LOAD_IN_PROGRESS'])
const retryMs = 200
const retries = 50

/** The group's progress on a topic, `-1` where there is none. kafkajs asks once, and a new cluster needs some seconds. */
export async function committedOffsets(admin: Admin, clock: Clock, groupId: string, topic: string) {
  for (let retry = 0; ; retry++) {
    try {
      const [found] = await admin.fetchOffsets({ groupId, topics: [topic] })
      return found?.partitions ?? []
    } catch (error) {
      if (!passing.has((error as { type?: string }).type ?? '') || retry >= retries) throw error
      await sleep(clock, retryMs)
    }
  }
}
