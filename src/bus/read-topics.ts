import { allPartitions, partitionsOf } from './partitions.ts'
import type { Bus, From, Isolation, Reader, RecordsHandler } from './port.ts'

/** Follows all partitions of the topics. @throws Error when one of the topics does not exist */
export async function readTopics(
  bus: Pick<Bus, 'partitions' | 'follow'>,
  topics: readonly string[],
  from: From,
  onRecords: RecordsHandler,
  isolation?: Isolation,
): Promise<Reader> {
  const counts = await partitionsOf(bus, topics)
  const places = [...counts].flatMap(([topic, count]) => allPartitions(topic, count))
  const begun = await Promise.allSettled(
    places.map(tp => bus.follow(tp, from, records => onRecords(tp, records), isolation)),
  )
  const followers = begun.flatMap(one => (one.status === 'fulfilled' ? [one.value] : []))
  const close = async () => {
    await Promise.all(followers.map(follower => follower.close()))
  }
  const failed = begun.find(one => one.status === 'rejected')
  if (failed) {
    await close()
    throw failed.reason
  }
  const caughtUp: Reader['caughtUp'] = async behindOpen => {
    await Promise.all(followers.map(follower => follower.caughtUp(behindOpen)))
  }
  return {
    caughtUp,
    close,
    get position() {
      return followers.reduce((sum, { position }) => sum + position, 0)
    },
  }
}
