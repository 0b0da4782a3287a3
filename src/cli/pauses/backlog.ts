import { allPartitions } from '../../bus/all-partitions.ts'
import { partitionsOf } from '../../bus/partitions-of.ts'
import type { Bus } from '../../bus/port.ts'
import type { Settings } from '../../config/index.ts'

/** Tells how many commands of each topic stand behind the group's progress: they wait, or are on their way. */
export async function backlogOf(bus: Bus, { kafka, topics }: Settings): Promise<{ topic: string; commands: number }[]> {
  const counts = await partitionsOf(bus, topics.commands)
  const ending = AbortSignal.timeout(10_000)
  const backlog = async (topic: string) => {
    const tps = allPartitions(topic, counts.get(topic)!)
    const progress = await bus.progress(kafka.groupId, tps)
    const ends = await Promise.all(tps.map(tp => bus.search(tp, { from: 'latest', needles: [], ending })))
    const left = ends.map(({ until, start }, i) => until - Math.max(start, progress[i]?.offset ?? start))
    return { topic, commands: left.reduce((sum, count) => sum + Math.max(0, count), 0) }
  }
  return Promise.all(topics.commands.map(backlog))
}
