import { BusUnavailable } from '../bus/errors.ts'
import type { TopicLook } from '../bus/port.ts'
import { count } from '../words.ts'

/**
 * @throws BusUnavailable when a partition of the control topic cannot be read for want of a leader
 * @throws Error when there is no such topic
 */
export function requireReadable(topic: string, look: TopicLook | null): asserts look {
  if (look === null) throw new Error(`there is no topic ${topic}: busgate topics create makes it`)
  const { leaderless } = look
  if (leaderless.length === 0) return
  const partitions = `${count(leaderless.length, 'partition')} of ${topic} (${leaderless.join(', ')})`
  throw new BusUnavailable(`${partitions} without a leader: what is paused is not known until there is one`)
}
