import { expect, onTestFinished, test } from 'vitest'
import { groupRecords, topicRecords } from '../../src/bus/streams/topic-stream.ts'
import { systemClock } from '../../src/clock.ts'
import { readResults } from '../../src/consumer/index.ts'
import { Telemetry } from '../../src/telemetry/events.ts'
import { buildRecord, publishAll, until } from '../support/bus.ts'
import { buildCommand } from '../support/commands.ts'
import { describeOnKafka } from '../support/integration.ts'
import { createTopics, openAdmin } from '../support/kafka.ts'
import { openWired } from '../support/wires.ts'
import { startWorld } from '../support/worker.ts'

const run = Date.now().toString(36)

describeOnKafka('busgate/consumer on a real Kafka', ({ brokers, registryUrl }) => {
  test('what a group has worked on is what every tool of Kafka sees, up to behind the last transaction', async () => {
    const world = await startWorld({ brokers: { brokers, registryUrl } })
    const group = `consumer-test-${run}-billing`
    const ids: bigint[] = []
    const end = new AbortController()
    const reading = (async () => {
      for await (const { value } of readResults(world.settings, { from: { group }, signal: end.signal }))
        ids.push(value.id)
    })()
    const wanted = Array.from({ length: 200 }, (_, i) => BigInt(i + 1))
    await world.send(wanted.map(id => buildCommand({ id })))
    await until(() => expect(ids.toSorted((a, b) => Number(a - b))).toEqual(wanted))
    const admin = await openAdmin(brokers)
    const topic = world.settings.topics.results
    await until(async () => {
      const [progress] = await admin.fetchOffsets({ groupId: group, topics: [topic] })
      const [log] = await admin.fetchTopicOffsets(topic)
      expect(progress!.partitions[0]!.offset).toBe(log!.high)
    })
    end.abort()
    await reading
    const { groups } = await admin.describeGroups([group])
    expect(groups[0]!.members).toEqual([])
  })

  test('nothing is lost when connections break, in a group and without one', async () => {
    const topic = `consumer-test-${run}-breaks`
    await createTopics(brokers, [{ topic, partitions: 2 }])
    const { bus, breakAll } = openWired({ brokers, groupId: `${topic}-workers`, telemetry: new Telemetry() })
    const { bus: writer } = openWired({ brokers, groupId: `${topic}-workers`, telemetry: new Telemetry() })
    onTestFinished(() => Promise.all([bus.close(), writer.close()]).then(() => {}))
    const end = new AbortController()
    const options = { bus, topic, clock: systemClock, telemetry: new Telemetry(), ending: end.signal }
    const readers = [
      groupRecords({ ...options, groupId: `${topic}-readers`, startFrom: 'earliest' }),
      topicRecords({ ...options, from: () => 'earliest', untilEnd: false }),
    ]
    const seen = readers.map(() => [] as string[])
    const reading = readers.map(async (records, i) => {
      for await (const { record } of records) seen[i]!.push(String(record.key))
    })
    const published: string[] = []
    for (let round = 0; round < 20; round++) {
      const keys = Array.from({ length: 50 }, (_, i) => String(round * 50 + i))
      await publishAll(
        writer,
        keys.map((key, i) => buildRecord(topic, key, { partition: i % 2 })),
      )
      published.push(...keys)
      if (round % 4 === 3) breakAll(new Error('the connection broke'))
      await until(() => expect(seen[0]!.length).toBeGreaterThan(round * 25))
    }
    for (const keys of seen) await until(() => expect(new Set(keys)).toEqual(new Set(published)))
    expect(seen[1]).toHaveLength(published.length)
    end.abort()
    await Promise.all(reading)
  })
})
