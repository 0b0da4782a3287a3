import { allPartitions, partitionsOf } from '../bus/partitions.ts'
import type { Bus, BusRecord, TopicPartition } from '../bus/port.ts'
import { unpackCheckpoint } from '../bus/session/checkpoint.ts'
import { DONE, Window } from '../bus/session/window.ts'
import type { Settings } from '../config/index.ts'

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

/** Counts the records on the topic of doubts that the workers have not finished. */
export async function countOpenDoubts(bus: Bus, settings: Settings, ending: AbortSignal): Promise<number> {
  const { doubts } = settings.topics
  const tps = allPartitions(doubts, (await partitionsOf(bus, [doubts])).get(doubts)!)
  const all = await readOwnProgress(bus, settings, tps)
  let open = 0
  const count = (progress: Progress | undefined) => async (records: readonly BusRecord[]) => {
    open += records.filter(({ offset }) => !isDone(progress, offset)).length
  }
  await Promise.all(tps.map((tp, i) => bus.search(tp, { from: beginningOf(all[i]), ending, take: count(all[i]) })))
  return open
}

/** Where the unfinished records begin. */
export const beginningOf = (progress: Progress | undefined) =>
  progress ? { offset: progress.window.base } : ('earliest' as const)
