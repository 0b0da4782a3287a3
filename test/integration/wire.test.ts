import { afterAll, expect, onTestFinished, test, vi } from 'vitest'
import { metadata } from '../../src/bus/cluster/apis.ts'
import { Brokers } from '../../src/bus/cluster/brokers.ts'
import { Coordinator } from '../../src/bus/membership/coordinator.ts'
import type { BusRecord } from '../../src/bus/port.ts'
import { Fetcher } from '../../src/bus/read/fetcher.ts'
import { PartitionOffsets } from '../../src/bus/read/partition-offsets.ts'
import type { Reading } from '../../src/bus/read/reading.ts'
import { committedOffsets } from '../../src/bus/transactions/committed-offsets.ts'
import { systemClock } from '../../src/clock.ts'
import { Telemetry } from '../../src/telemetry/events.ts'
import { TestListener, until } from '../support/bus.ts'
import { describeWithJava, ownKafka } from '../support/integration.ts'
import { createTopics, openKafkajsProducer } from '../support/kafka.ts'
import type { LocalKafka } from '../support/local-kafka/kafka.ts'
import { openWired } from '../support/wires.ts'

const closing = new AbortController()
afterAll(() => closing.abort())
const common = { clock: systemClock, telemetry: new Telemetry(), closing: closing.signal }
let names = 0

function open(seeds: readonly string[]) {
  const brokers = new Brokers({ ...common, clientId: 'wire-test', seeds })
  onTestFinished(() => brokers.close())
  return { brokers, logs: new PartitionOffsets({ ...common, brokers }) }
}

/** A topic with one partition, and a function that writes to it. */
async function buildTopic({ brokers }: LocalKafka) {
  const topic = `wire-${Date.now().toString(36)}-${++names}`
  await createTopics(brokers, [{ topic, partitions: 1 }])
  const producer = await openKafkajsProducer(brokers)
  const write = (key: string) => producer.send({ topic, messages: [{ key, value: 'value' }] })
  return { tp: { topic, partition: 0 }, write }
}

/** Reads from the beginning on. */
function read(brokers: Brokers, tp: Reading['tp'], rack?: string) {
  const keys: string[] = []
  const fetcher = new Fetcher({ ...common, brokers, rack })
  const reading: Reading = {
    tp,
    offset: 0,
    paused: false,
    take: ({ records }) => void keys.push(...records.map(({ key }) => String(key))),
    cut: ({ low }) => {
      reading.offset = low
    },
  }
  fetcher.read(reading)
  return keys
}

describeWithJava('three nodes in three racks', () => {
  const selector = { 'replica.selector.class': 'org.apache.kafka.common.replica.RackAwareReplicaSelector' }
  const kafka = ownKafka(() => ({ nodes: 3, properties: id => ({ ...selector, 'broker.rack': `rack-${id}` }) }))

  test('serve a partition from the replica in the rack of its reader, or from the leader if that is gone', async () => {
    const { tp, write } = await buildTopic(kafka)
    const { brokers } = open(kafka.brokers)
    const leader = await brokers.leader(tp)
    const near = (leader % 3) + 1
    const asked = vi.spyOn(brokers, 'ask')
    const lastAsked = () => asked.mock.calls.findLast(([, { name }]) => name === 'Fetch')?.[0]
    const keys = read(brokers, tp, `rack-${near}`)
    await write('a')
    await until(() => expect(keys).toEqual(['a']))
    await until(() => expect(lastAsked()).toEqual({ node: near }))
    await write('b')
    await until(() => expect(keys).toEqual(['a', 'b']))
    await kafka.killNode(near)
    await write('c')
    await until(() => expect(keys).toEqual(['a', 'b', 'c']))
    await kafka.startNode(near)
  })

  test.each(['killed', 'frozen'] as const)(
    'answer requests to a coordinator that is %s from its successor',
    async how => {
      const { tp, write } = await buildTopic(kafka)
      await write('a')
      const { brokers } = open(kafka.brokers)
      const coordinator = coordinatorOf(brokers, tp)
      await coordinator.hasMembers()
      await committedOffsets(brokers, tp.topic, [tp])
      const { leaderId: leader } = await leaderOf(brokers, '__consumer_offsets')
      const isKilled = how === 'killed'
      if (isKilled) await kafka.killNode(leader)
      else kafka.freezeNode(leader)
      try {
        await until(async () => {
          expect(await coordinator.hasMembers()).toBe(false)
          const [progress] = await committedOffsets(brokers, tp.topic, [tp])
          expect(progress).toMatchObject({ committed: null, error: null })
        }, 60_000)
      } finally {
        if (isKilled) await kafka.startNode(leader)
        else kafka.thawNode(leader)
      }
      await until(() => brokers.refresh().then(() => expect(brokers.nodes()).toHaveLength(3)), 60_000)
    },
    180_000,
  )
})

function coordinatorOf(brokers: Brokers, { topic }: Reading['tp']) {
  return new Coordinator({
    ...common,
    brokers,
    groupId: topic,
    topics: [topic],
    process: 'test',
    protocol: 'busgate:test',
    sessionTimeoutMs: 6000,
  })
}

function leaderOf(brokers: Brokers, topic: string) {
  return brokers.ask('any', metadata, [[topic], false]).then(({ topics }) => topics[0]!.partitions[0]!)
}

describeWithJava('Kafka 3.9.1', () => {
  const kafka = ownKafka(() => ({ version: '3.9.1' }))

  test('can be read, coordinates groups and tells offsets', async () => {
    const { tp, write } = await buildTopic(kafka)
    const { bus } = openWired({ brokers: kafka.brokers, groupId: tp.topic })
    const listener = new TestListener()
    listener.onFresh = (session, records) => {
      for (const { offset } of records) session.settle(offset, [])
    }
    const membership = await bus.join([tp.topic], listener)
    await write('a')
    await until(async () => expect(await bus.progress(tp.topic, [tp])).toMatchObject([{ offset: 1 }]))
    const keys: string[] = []
    const fromTimestamp = 1
    const take = (records: readonly BusRecord[]) => void keys.push(...records.map(({ key }) => String(key)))
    const follower = await bus.follow(tp, fromTimestamp, take)
    await follower.caughtUp()
    expect([listener.freshKeys, keys]).toEqual([['a'], ['a']])
    expect(membership.share()).toEqual({ owned: 1, total: 1 })
    await membership.leave(0)
  })
})
