import { allPartitions, partitionsOf } from '../bus/partitions.ts'
import type { Bus, BusRecord, TopicPartition } from '../bus/port.ts'
import { unpackCheckpoint } from '../bus/session/checkpoint.ts'
import { DONE, Window } from '../bus/session/window.ts'
import type { Settings } from '../config/index.ts'
import { finishedBy } from '../records/doubt.ts'

/** What the workers' group has committed on a partition; null: no worker has opened it. */
export type Progress = {
  /** Its base is the committed offset. Empty if `foreign`. */
  window: Window
  /** Why the committed metadata cannot be read: another program or version wrote it. */
  foreign: Error | null
} | null

type Tps = readonly TopicPartition[]

export async function readProgress(bus: Bus, { kafka }: Settings, tps: Tps): Promise<Progress[]> {
  const committed = await bus.progress(kafka.groupId, tps)
  return committed.map(one => one && progressOf(one))
}

/** @throws Error where the metadata is foreign */
export async function readOwnProgress(bus: Bus, settings: Settings, tps: Tps): Promise<Progress[]> {
  const all = await readProgress(bus, settings, tps)
  const foreign = all.find(one => one?.foreign)?.foreign
  if (foreign) throw foreign
  return all
}

function progressOf({ offset, metadata }: { offset: number; metadata: string | null }): Progress {
  try {
    return { window: unpackCheckpoint(offset, metadata).window, foreign: null }
  } catch (error) {
    return { window: new Window(offset), foreign: error as Error }
  }
}

/** Whether the workers have finished the record. */
export const isDone = (progress: Progress | undefined, offset: number) => progress?.window.get(offset) === DONE

/** Passes on the records of the topics from the first unfinished one of each partition. */
export async function searchUnfinished(
  bus: Bus,
  settings: Settings,
  topics: readonly string[],
  take: (tp: TopicPartition, records: readonly BusRecord[], progress: Progress | undefined) => Promise<void> | void,
): Promise<void> {
  const counts = await partitionsOf(bus, topics)
  const tps = topics.flatMap(topic => allPartitions(topic, counts.get(topic)!))
  const all = await readOwnProgress(bus, settings, tps)
  const { signal: ending } = new AbortController()
  const search = (tp: TopicPartition, progress: Progress | undefined) =>
    bus.search(tp, { from: beginningOf(progress), ending, take: async records => take(tp, records, progress) })
  await Promise.all(tps.map((tp, i) => search(tp, all[i])))
}

/** Counts the messages in doubt: the unfinished records on the topic of doubts. */
export async function countOpenDoubts(bus: Bus, settings: Settings): Promise<number> {
  let open = 0
  await searchUnfinished(bus, settings, [settings.topics.doubts], (_, records, progress) => {
    open += records.filter(record => finishedBy(record) === null && !isDone(progress, record.offset)).length
  })
  return open
}

/** Where the unfinished records begin. */
export const beginningOf = (progress: Progress | undefined) =>
  progress ? { offset: progress.window.base } : ('earliest' as const)
