import { afterAll, expect, onTestFinished, test, vi } from 'vitest'
import { metadata } from '../../src/bus/cluster/apis.ts'
import { Brokers } from '../../src/bus/cluster/brokers.ts'
import { committedOffsets } from '../../src/bus/cluster/committed-offsets.ts'
import { Coordinator } from '../../src/bus/group/coordinator.ts'
import { Fetcher } from '../../src/bus/read/fetcher.ts'
import { PartitionOffsets } from '../../src/bus/read/partition-offsets.ts'
import type { Reading } from '../../src/bus/read/reading.ts'
import { systemClock } from '../../src/clock.ts'
import { Telemetry } from '../../src/telemetry/events.ts'
import { until } from '../support/bus.ts'
import { describeWithJava, ownKafka } from '../support/integration.ts'
import { createTopics, plainKafka } from '../support/kafka.ts'
import type { LocalKafka } from '../support/local-kafka/kafka.ts'

const closing = new AbortController()
afterAll(() => closing.abort())
const common = { clock: systemClock, telemetry: new Telemetry(), closing: closing.signal }
let names = 0

function open(seeds: readonly string[]) {
  const brokers = new Brokers({ ...common, clientId: 'wire-test', seeds })
  onTestFinished(() => brokers.close())
  return { brokers, logs: new PartitionOffsets({ ...common, brokers }) }
}

/** A topic of one partition, and what writes to it. */
async function buildTopic({ brokers }: LocalKafka) {
  const topic = `wire-${Date.now().toString(36)}-${++names}`
  await createTopics(brokers, [{ topic, partitions: 1 }])
  const producer = plainKafka(brokers).producer()
  await producer.connect()
  onTestFinished(() => producer.disconnect())
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

  test('a partition is read from the replica of the own rack, and from its leader when that is gone', async () => {
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
  }, 120_000)

  test.each(['killed', 'frozen'] as const)(
    'what a coordinator that is %s was asked, its successor answers',
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
    protocol: 'busgate',
    sessionTimeoutMs: 6000,
    rebalanceTimeoutMs: 15_000,
  })
}

function leaderOf(brokers: Brokers, topic: string) {
  return brokers.ask('any', metadata, [[topic], false]).then(({ topics }) => topics[0]!.partitions[0]!)
}

describeWithJava('Kafka 3.9.1', () => {
  const kafka = ownKafka(() => ({ version: '3.9.1' }))

  test('is read, coordinates and tells offsets', async () => {
    const { tp, write } = await buildTopic(kafka)
    const { brokers, logs } = open(kafka.brokers)
    const keys = read(brokers, tp)
    await write('a')
    await until(() => expect(keys).toEqual(['a']))
    expect(await logs.ends(tp)).toEqual({ ...tp, low: 0, high: 1 })
    expect(await logs.offsetAt(tp, 0)).toBe(0)
    const group = coordinatorOf(brokers, tp)
    const named: string[] = []
    const joined = await group.join('', { generation: -1, partitions: [] }, memberId => void named.push(memberId))
    expect(joined).toMatchObject({ generation: 1, leaderId: named[0], memberId: named[0] })
    const shares = new Map([[joined.memberId, [tp]]])
    const given = await group.sync(joined, { shares, counts: new Map([[tp.topic, 1]]), processes: ['test'] })
    expect(given).toEqual({ partitions: [tp], counts: new Map([[tp.topic, 1]]), processes: ['test'] })
    await group.heartbeat(joined)
    expect(await group.hasMembers()).toBe(true)
    await group.leave(joined.memberId)
    await until(async () => expect(await group.hasMembers()).toBe(false))
  }, 60_000)
})
