import type { Admin } from 'kafkajs'
import { type Clock, sleep } from '../../clock.ts'
import { passing } from './reachable.ts'

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
