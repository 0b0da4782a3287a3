import { setTimeout } from 'node:timers/promises'
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import type { BusRecord, OutgoingRecord, Publisher } from '../../src/bus/port.ts'
import { Telemetry } from '../../src/telemetry/events.ts'
import { buildRecord, publishAll, until } from '../support/bus.ts'
import { describeOnKafka } from '../support/integration.ts'
import { createTopics, plainKafka } from '../support/kafka.ts'
import { type LocalKafka, startKafka } from '../support/local-kafka/kafka.ts'
import { javaAvailable } from '../support/local-kafka/maven.ts'
import { openWired, type Wired } from '../support/wires.ts'

function openBus(brokers: string[]) {
  const telemetry = new Telemetry()
  const warnings: string[] = []
  telemetry.on('bus.log', ({ message }) => warnings.push(message))
  const { bus, connections } = openWired({ brokers, groupId: 'follower-test', telemetry })
  onTestFinished(() => bus.close())
  return { bus, warnings, connections }
}

const run = Date.now().toString(36)
const topicOf = (name: string) => `follower-test-${run}-${name}`
const keysOf = (records: readonly BusRecord[]) => records.map(({ key }) => String(key))

/** Publishes keys to partition 0, a few at a time, until it is told to stop; those that were not confirmed once more. */
function keepPublishing(publisher: Publisher, topic: string) {
  const confirmed: string[] = []
  let going = true
  const ended = (async () => {
    for (let next = 0; going; next += 5) {
      const keys = Array.from({ length: 5 }, (_, i) => String(next + i))
      const records: OutgoingRecord[] = keys.map(key => buildRecord(topic, key, { partition: 0 }))
      for (let done = false; !done; ) {
        done = await publisher.publish(records).then(
          () => true,
          () => false,
        )
      }
      confirmed.push(...keys)
      await setTimeout(5) // a load that three nodes on one machine bear
    }
  })()
  return {
    confirmed,
    more: (count: number) => {
      const wanted = confirmed.length + count
      return until(() => expect(confirmed.length).toBeGreaterThanOrEqual(wanted), 90_000)
    },
    stop: () => {
      going = false
      return ended
    },
  }
}

/** Follows partition 0 while trouble is made; at the end it must have seen what a reader of the whole log sees. */
async function followThrough(
  { bus }: Pick<Wired, 'bus'>,
  topic: string,
  trouble: (more: (count: number) => Promise<void>) => Promise<void>,
) {
  const tp = { topic, partition: 0 }
  const publisher = await bus.publisher()
  const seen: BusRecord[] = []
  const follower = await bus.follow(tp, 'earliest', records => void seen.push(...records))
  const publishing = keepPublishing(publisher, topic)
  await trouble(publishing.more)
  await publishing.stop()
  await publisher.close()
  await follower.caughtUp()
  const whole: BusRecord[] = []
  const reader = await bus.follow(tp, 'earliest', records => void whole.push(...records))
  await reader.caughtUp()
  expect(seen.map(({ offset }) => offset)).toEqual(whole.map(({ offset }) => offset))
  expect(new Set(keysOf(seen))).toEqual(new Set(publishing.confirmed))
}

describeOnKafka('a follower on Kafka', ({ brokers }) => {
  test('of many partitions at once leaves no connection behind when its bus is closed', async () => {
    const topic = topicOf('many')
    await createTopics(brokers, [{ topic, partitions: 8 }])
    const { bus, connections } = openBus(brokers)
    const partitions = Array.from({ length: 8 }, (_, partition) => ({ topic, partition }))
    await Promise.all(partitions.map(tp => bus.follow(tp, 'earliest', () => {})))
    expect(connections()).toBeGreaterThan(0)
    await bus.close()
    await until(() => expect(connections()).toBe(0))
  })

  test('goes on with what is left when records that it has not read are deleted', async () => {
    const topic = topicOf('deleted')
    await createTopics(brokers, [{ topic, partitions: 1 }])
    const { bus } = openBus(brokers)
    const publish = (keys: string[]) =>
      publishAll(
        bus,
        keys.map(key => buildRecord(topic, key)),
      )
    await publish(['a'])
    const seen: BusRecord[] = []
    const { promise, resolve: release } = Promise.withResolvers<void>()
    const follower = await bus.follow({ topic, partition: 0 }, 'earliest', async records => {
      seen.push(...records)
      await promise
    })
    await until(() => expect(keysOf(seen)).toEqual(['a']))
    await publish(['b', 'c', 'd'])
    const admin = plainKafka(brokers).admin()
    await admin.connect()
    await admin.fetchTopicOffsets(topic) // it looks for no leaders itself
    await admin.deleteTopicRecords({ topic, partitions: [{ partition: 0, offset: '3' }] })
    await admin.disconnect()
    release()
    await follower.caughtUp()
    expect(keysOf(seen)).toEqual(['a', 'd'])
  })

  test('of a topic that is gone says so once, holds nobody up, and goes on when it is there again', async () => {
    const [gone, other] = [topicOf('gone'), topicOf('other')]
    const topics = [gone, other].map(topic => ({ topic, partitions: 1 }))
    await createTopics(brokers, topics)
    const { bus, warnings } = openBus(brokers)
    const seen: string[] = []
    const follow = (topic: string) =>
      bus.follow({ topic, partition: 0 }, 'earliest', records => void seen.push(...keysOf(records)))
    const [ofGone, ofOther] = await Promise.all([follow(gone), follow(other)])
    await publishAll(bus, [buildRecord(gone, 'a'), buildRecord(gone, 'b')])
    await ofGone.caughtUp()
    const admin = plainKafka(brokers).admin()
    await admin.connect()
    await admin.deleteTopics({ topics: [gone] })
    await until(() => expect(warnings.filter(text => text.includes(gone))).not.toEqual([]))
    for (let i = 0; i < 10; i++) {
      await publishAll(bus, [buildRecord(other, String(i))])
      await ofOther.caughtUp()
    }
    expect(seen).toEqual(['a', 'b', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9'])
    const told = warnings.filter(text => text.includes(gone))
    expect(new Set(told).size).toBe(told.length)
    await createTopics(brokers, [{ topic: gone, partitions: 1 }])
    await admin.disconnect()
    await publishAll(bus, [buildRecord(gone, 'anew')])
    await until(() => expect(seen.at(-1)).toBe('anew'))
  })
})

const java = await javaAvailable()

describe.skipIf(!java.ok)('a follower on three nodes', () => {
  let kafka: LocalKafka
  beforeAll(async () => {
    kafka = await startKafka({ nodes: 3 })
    return () => kafka.stop()
  })

  async function leaderOf(topic: string): Promise<number> {
    const admin = plainKafka(kafka.brokers).admin()
    await admin.connect()
    const { topics } = await admin.fetchTopicMetadata({ topics: [topic] })
    await admin.disconnect()
    return topics[0]!.partitions[0]!.leader
  }

  test("loses and doubles nothing when its partition's leader is killed or frozen", {
    timeout: 240_000,
  }, async () => {
    const topic = topicOf('nodes')
    await createTopics(kafka.brokers, [{ topic, partitions: 1, config: { 'min.insync.replicas': '2' } }])
    await followThrough(openBus(kafka.brokers), topic, async more => {
      for (const trouble of ['kill', 'freeze'] as const) {
        await more(20)
        const leader = await leaderOf(topic)
        if (trouble === 'freeze') kafka.freezeNode(leader)
        else await kafka.killNode(leader)
        await more(20)
        if (trouble === 'freeze') kafka.thawNode(leader)
        else await kafka.startNode(leader)
      }
      await more(20)
    })
  })
})
