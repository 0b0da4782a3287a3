import { type Clock, limited, sleep } from '../../clock.ts'
import type { Telemetry } from '../../telemetry/events.ts'
import { partitionsOf } from '../partitions.ts'
import { type Bus, BusUnavailable, type Follower, type From, type Reader } from '../port.ts'
import { RecordQueue, type Taken } from './record-queue.ts'

/** What reading a topic record by record needs. */
export interface TopicStreamOptions {
  bus: Pick<Bus, 'partitions' | 'follow' | 'readInGroup' | 'closing'>
  topic: string
  clock: Clock
  telemetry: Telemetry
  /** Ends the reading at once. */
  ending: AbortSignal
  /** Told when no broker answers, and null once one does. */
  reached?: (trouble: BusUnavailable | null) => void
}

const retryMs = 1000
const endLimitMs = 3000
/** An added partition is read from its beginning, so noticing it late loses nothing. */
const partitionsAgeMs = 10_000

/**
 * The committed records of all partitions of a topic, later added ones included. Retries while brokers are down.
 * @param from where to begin in each partition that exists at the start
 * @param untilEnd whether to end at the records that exist at the start
 * @throws Error when the topic does not exist, the client may not read it, or the bus is closed
 */
export function topicRecords(
  options: TopicStreamOptions & { from: (partition: number) => From; untilEnd: boolean },
): AsyncGenerator<Taken, void> {
  return whileOpen(options, ending => recordsOfTopic({ ...options, ending }))
}

/** Records until they end, or their reader returns or fails: then `ending` is aborted, whatever the reading still does. */
async function* whileOpen(
  { bus: { closing }, ending }: TopicStreamOptions,
  read: (ending: AbortSignal) => AsyncGenerator<Taken, void>,
): AsyncGenerator<Taken, void> {
  const end = new AbortController()
  try {
    yield* read(AbortSignal.any([ending, closing, end.signal]))
    if (!ending.aborted) closing.throwIfAborted()
  } finally {
    end.abort()
  }
}

async function* recordsOfTopic(options: Parameters<typeof topicRecords>[0]): AsyncGenerator<Taken, void> {
  const { bus, topic, clock, from, untilEnd, ending } = options
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
      await sleep(clock, partitionsAgeMs, ending)
      const now = ending.aborted ? known : await countOf(bus, topic).catch(() => known) // retried at the next check
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
 * Reads a topic's committed records as a member of a group. A record counts as handled when the next one is requested. A
 * record that is not handled when the reading ends, or when its partition is revoked, is delivered again.
 * @param startFrom where to begin if the group has no committed offset
 * @throws Error when the topic does not exist, the group refuses this member, or the bus is closed
 */
export function groupRecords(
  options: TopicStreamOptions & { groupId: string; startFrom: From },
): AsyncGenerator<Taken, void> {
  return whileOpen(options, ending => recordsOfGroup({ ...options, ending }))
}

async function* recordsOfGroup(options: Parameters<typeof groupRecords>[0]): AsyncGenerator<Taken, void> {
  const { bus, topic, groupId, startFrom, ending } = options
  const queue = new RecordQueue(ending)
  let reader: Pick<Reader, 'close'> | null = null
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
    await limited(options.clock, endLimitMs, joining).catch(() => {}) // do not wait for brokers that are down
    await (reader as Pick<Reader, 'close'> | null)?.close()
  }
}

async function countOf(bus: Pick<Bus, 'partitions'>, topic: string): Promise<number> {
  return (await partitionsOf(bus, [topic])).get(topic)!
}

/** Retries until a broker can be reached. */
async function whenReachable<T>(options: TopicStreamOptions, ask: () => Promise<T>): Promise<T> {
  const { clock, telemetry, ending, reached } = options
  for (;;) {
    try {
      const answer = await ask()
      reached?.(null)
      return answer
    } catch (error) {
      if (!(error instanceof BusUnavailable) || ending.aborted) throw error
      reached?.(error)
      telemetry.emit('bus.unavailable', { error })
      await sleep(clock, retryMs, ending)
    }
  }
}
