import { expect, test } from 'vitest'
import type { BusRecord } from '../../src/bus/port.ts'
import { buildRecord, publishAll, until } from '../support/bus.ts'
import { describeOnKafka } from '../support/integration.ts'
import { createTopics, openAdmin } from '../support/kafka.ts'
import { openWired } from '../support/wires.ts'

const run = Date.now().toString(36)
const topicOf = (name: string) => `follower-test-${run}-${name}`
const keysOf = (records: readonly BusRecord[]) => records.map(({ key }) => String(key))

describeOnKafka('a follower on Kafka', ({ brokers }) => {
  test('of many partitions at once leaves no connection behind when its bus is closed', async () => {
    const topic = topicOf('many')
    await createTopics(brokers, [{ topic, partitions: 8 }])
    const { bus, connections } = openWired({ brokers, groupId: 'follower-test' })
    const partitions = Array.from({ length: 8 }, (_, partition) => ({ topic, partition }))
    await Promise.all(partitions.map(tp => bus.follow(tp, 'earliest', () => {})))
    expect(connections()).toBeGreaterThan(0)
    await bus.close()
    await until(() => expect(connections()).toBe(0))
  })

  test('of a deleted topic warns once, delays no other, and continues when the topic is created again', async () => {
    const [gone, other] = [topicOf('gone'), topicOf('other')]
    const topics = [gone, other].map(topic => ({ topic, partitions: 1 }))
    await createTopics(brokers, topics)
    const { bus, warnings } = openWired({ brokers, groupId: 'follower-test' })
    const seen: string[] = []
    const follow = (topic: string) =>
      bus.follow({ topic, partition: 0 }, 'earliest', records => void seen.push(...keysOf(records)))
    const [ofGone, ofOther] = await Promise.all([follow(gone), follow(other)])
    await publishAll(bus, [buildRecord(gone, 'a'), buildRecord(gone, 'b')])
    await ofGone.caughtUp()
    const admin = await openAdmin(brokers)
    await admin.deleteTopics({ topics: [gone] })
    await until(() => expect(warnings.filter(text => text.includes(gone))).not.toEqual([]))
    for (let i = 0; i < 10; i++) {
      await publishAll(bus, [buildRecord(other, String(i))])
      await ofOther.caughtUp()
    }
    expect(seen).toEqual(['a', 'b', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9'])
    const ofGoneTopic = warnings.filter(text => text.includes(gone))
    expect(new Set(ofGoneTopic).size).toBe(ofGoneTopic.length)
    await createTopics(brokers, [{ topic: gone, partitions: 1 }])
    await publishAll(bus, [buildRecord(gone, 'anew')])
    await until(() => expect(seen.at(-1)).toBe('anew'))
  })
})
