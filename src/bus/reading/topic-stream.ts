import { type Clock, limited } from '../../clock.ts'
import type { Telemetry } from '../../telemetry/events.ts'
import { partitionsOf } from '../partitions.ts'
import { type Bus, BusUnavailable, type Follower, type From, type GroupReader } from '../port.ts'
import { RecordQueue, type Taken } from './record-queue.ts'

/** TopicStreamOptions is what it takes to read a topic record by record. */
export interface TopicStreamOptions {
  bus: Pick<Bus, 'partitions' | 'follow' | 'readInGroup'>
  topic: string
  clock: Clock
  telemetry: Telemetry
  /** Ends the reading at once, whatever it waits for. */
  ending: AbortSignal
}

const retryMs = 1000
const endLimitMs = 3000
/** A partition that was added is read from its beginning, so nothing is missed if it is seen late. */
const partitionsAgeMs = 10_000

/**
 * The committed records of all partitions of a topic, also of those that are added later. Brokers that are away are waited
 * for.
 * @param from where to begin in a partition that was there when the reading began
 * @param untilEnd whether it ends behind what was there then
 * @throws Error when there is no such topic, or no right to read it
 */
export async function* topicRecords(
  options: TopicStreamOptions & { from: (partition: number) => From; untilEnd: boolean },
): AsyncGenerator<Taken, void> {
  const { bus, topic, from, untilEnd, ending } = options
  const queue = new RecordQueue(ending)
  const followers: Follower[] = []
  const follow = async (partition: number, begin: From) => {
    const tp = { topic, partition }
    const place = { ...tp, owned: true, done() {} }
    const follower = await bus.follow(tp, begin, records => queue.put(place, records))
    if (ending.aborted) await follower.close()
    else followers.push(follower)
  }
  const readAll = async () => {
    const count = await whenReachable(options, () => countOf(bus, topic))
    await Promise.all(Array.from({ length: count }, (_, partition) => follow(partition, from(partition))))
    if (untilEnd) {
      await Promise.all(followers.map(follower => follower.caughtUp()))
      queue.finish()
      return
    }
    for (let known = count; !ending.aborted; ) {
      await pause(options, partitionsAgeMs)
      const now = ending.aborted ? known : await countOf(bus, topic).catch(() => known) // asked again in a while
      for (; known < now; known++) await follow(known, 'earliest')
    }
  }
  void readAll().catch(error => queue.fail(error))
  try {
    yield* queue.records()
  } finally {
    await Promise.all(followers.map(follower => follower.close()))
  }
}

/**
 * Reads a topic's committed records as a member of a group, which shares them. A record counts as worked on when the next
 * one is asked for; what does not count yet when the reading ends, or the partition is given to another member, is handed
 * over again.
 * @param startFrom where to begin where the group has no progress
 * @throws Error when there is no such topic, or the group refuses this member
 */
export async function* groupRecords(
  options: TopicStreamOptions & { groupId: string; startFrom: From },
): AsyncGenerator<Taken, void> {
  const { bus, topic, groupId, startFrom, ending } = options
  const queue = new RecordQueue(ending)
  let reader: GroupReader | null = null
  const handler = {
    onRecords: queue.put.bind(queue),
    pause: () => queue.pause(),
    resume: () => queue.resume(),
    failed: (error: Error) => queue.fail(error),
  }
  const join = async () => {
    await whenReachable(options, () => countOf(bus, topic))
    reader = await whenReachable(options, () => bus.readInGroup([topic], { groupId, startFrom, ending, ...handler }))
    if (ending.aborted) await reader.close()
  }
  const joining = join().catch(error => queue.fail(error))
  try {
    yield* queue.records()
  } finally {
    await limited(options.clock, endLimitMs, joining).catch(() => {}) // brokers that are away are not waited for
    await (reader as GroupReader | null)?.close()
  }
}

async function countOf(bus: Pick<Bus, 'partitions'>, topic: string): Promise<number> {
  return (await partitionsOf(bus, [topic])).get(topic)!
}

/** Tries until the brokers can be reached. */
async function whenReachable<T>(options: TopicStreamOptions, ask: () => Promise<T>): Promise<T> {
  const { telemetry, ending } = options
  for (;;) {
    try {
      return await ask()
    } catch (error) {
      if (!(error instanceof BusUnavailable) || ending.aborted) throw error
      telemetry.emit('bus.unavailable', { error })
      await pause(options, retryMs)
    }
  }
}

/** Resolves earlier when the reading ends. */
function pause({ clock, ending }: Pick<TopicStreamOptions, 'clock' | 'ending'>, ms: number): Promise<void> {
  if (ending.aborted) return Promise.resolve()
  return new Promise(resolve => {
    const end = () => {
      cancel()
      ending.removeEventListener('abort', end)
      resolve()
    }
    const cancel = clock.after(ms, end)
    ending.addEventListener('abort', end)
  })
}
