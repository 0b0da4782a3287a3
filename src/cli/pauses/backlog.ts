import { allPartitions } from '../../bus/all-partitions.ts'
import { partitionsOf } from '../../bus/partitions-of.ts'
import type { Bus } from '../../bus/port.ts'
import { undoneOf } from '../../bus/undone.ts'
import type { Settings } from '../../config/index.ts'

export interface UndoneCommands {
  topic: string
  /** They wait, or are on their way. */
  commands: number
  /** Those of them whose records are gone from the log: only a worker that runs may have them in memory. */
  deleted: number
}

/** Tells how many commands of each topic are not done, by the group's progress. */
export async function backlogOf(bus: Bus, { kafka, topics }: Settings): Promise<UndoneCommands[]> {
  const counts = await partitionsOf(bus, topics.commands)
  const ending = AbortSignal.timeout(10_000)
  const backlog = async (topic: string) => {
    const tps = allPartitions(topic, counts.get(topic)!)
    const progress = await bus.progress(kafka.groupId, tps)
    const ends = await Promise.all(tps.map(tp => bus.search(tp, { from: 'latest', needles: [], ending })))
    const undone = ends.map(({ until, start }, i) => undoneOf(progress[i] ?? null, { low: start, high: until }))
    const sum = (of: 'offsets' | 'deleted') => undone.reduce((total, one) => total + one[of], 0)
    return { topic, commands: sum('offsets'), deleted: sum('deleted') }
  }
  return Promise.all(topics.commands.map(backlog))
}
