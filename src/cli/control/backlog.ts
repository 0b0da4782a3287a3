import { allPartitions, partitionsOf } from '../../bus/partitions.ts'
import type { Bus } from '../../bus/port.ts'
import { unpackCheckpoint } from '../../bus/session/checkpoint.ts'
import type { Committed } from '../../bus/session/driver.ts'
import { DONE, windowSize } from '../../bus/session/window.ts'
import type { Settings } from '../../config/index.ts'
import { count } from '../../words.ts'

/** How many offsets of a partition are not done yet, by what the group has committed. */
interface Undone {
  offsets: number
  /** Those of them that are gone from the log: only a worker that runs may have them in memory. */
  deleted: number
}

/** @param log the first offset that the log holds, and the one after its last. @throws Error where the progress is not busgate's */
function undoneOf(committed: Committed | null, { low, high }: { low: number; high: number }): Undone {
  if (!committed) return { offsets: high - low, deleted: 0 }
  const { window } = unpackCheckpoint(committed.offset, committed.metadata)
  const known = Math.min(Math.max(window.base + window.length, low), window.base + windowSize)
  let offsets = Math.max(0, high - Math.max(low, known))
  let deleted = 0
  for (let offset = window.base; offset < known; offset++) {
    if (window.get(offset) === DONE) continue
    offsets++
    if (offset < low) deleted++
  }
  return { offsets, deleted }
}

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

export function backlogText({ topic, commands, deleted }: UndoneCommands): string {
  const gone = `, ${deleted} of them deleted from the log: only a worker that has them in memory can still send them`
  return `${topic}: ${count(commands, 'command')} unfinished${deleted > 0 ? gone : ''}`
}
