import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { connect } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { javaAvailable } from '../../src/cli/local-kafka/index.ts'
import { describeOnKafka } from '../support/integration.ts'
import { createTopics, plainKafka } from '../support/kafka.ts'
import { readKeysOutside } from '../support/outside/consumer.ts'
import { codecs, type OutsideProducerOptions, startOutsideProducer } from '../support/outside/producer.ts'

const java = await javaAvailable()

describeOnKafka("Kafka's own producer and consumer", ({ brokers }) => {
  test.runIf(java.ok).for([...codecs.entries()])(
    'what is written with codec %i, %s, lies so on the broker and is read',
    async ([id, codec]) => {
      const topic = await writeHundred({ brokers, topic: `outside-${randomUUID()}`, codec })
      expect(await codecsOf(brokers[0]!, topic)).toEqual(new Set([id]))
      expect((await readKeysOutside({ brokers, topic, records: 100 })).toSorted()).toEqual(keys.toSorted())
    },
  )

  test.runIf(java.ok)('with mixed codecs every one is used', async () => {
    const topic = await writeHundred({ brokers, topic: `outside-${randomUUID()}`, codec: 'mixed' })
    expect(await codecsOf(brokers[0]!, topic)).toEqual(new Set(codecs.keys()))
  })

  test.runIf(java.ok)('a record that Kafka refuses is told in its own words', async () => {
    const topic = `outside-${randomUUID()}`
    await createTopics(brokers, [{ topic, partitions: 1, config: { 'max.message.bytes': '1000' } }])
    const producer = await startOutsideProducer({ brokers, topic, codec: 'none' })
    onTestFinished(() => producer.close())
    const tooLarge = { key: null, value: Buffer.alloc(2000) }
    await expect(producer.send([tooLarge])).rejects.toThrow('RecordTooLargeException')
  })
})

const keys = Array.from({ length: 100 }, (_, i) => String(i))

async function writeHundred(options: OutsideProducerOptions): Promise<string> {
  const { brokers, topic } = options
  await createTopics([...brokers], [{ topic, partitions: 1 }])
  const producer = await startOutsideProducer(options)
  await producer.send(keys.map(key => ({ key: Buffer.from(key), value: Buffer.from('a value '.repeat(20)) })))
  await producer.close()
  return topic
}

/** The codecs in the attributes of the batches of partition 0: a fetch of version 4 and its answer, by hand. */
async function codecsOf(broker: string, topic: string): Promise<Set<number>> {
  const leader = await leaderOf(broker, topic)
  const [host, port] = leader.split(':')
  const body = Buffer.concat([
    ...[int16(1), int16(4), int32(1), string('test')],
    ...[int32(-1), int32(100), int32(1), int32(10 ** 6), Buffer.of(0)], // replica, wait, least, most, isolation
    ...[int32(1), string(topic), int32(1), int32(0), Buffer.alloc(8), int32(10 ** 6)],
  ])
  const socket = connect(Number(port), host)
  socket.write(Buffer.concat([int32(body.length), body]))
  let answer = Buffer.alloc(0)
  while (answer.length < 4 || answer.length < 4 + answer.readInt32BE()) {
    const [chunk] = (await once(socket, 'data')) as [Buffer]
    answer = Buffer.concat([answer, chunk])
  }
  socket.destroy()
  // Size, correlation, throttle, 1 topic, its name, 1 partition, its number, error, two offsets, no aborted ones, size.
  let at = 4 + 4 + 4 + 4 + 2 + Buffer.byteLength(topic) + 4 + 4 + 2 + 16 + 4 + 4
  const found = new Set<number>()
  for (; at < answer.length; at += 12 + answer.readInt32BE(at + 8)) found.add(answer.readInt16BE(at + 21) & 7)
  return found
}

async function leaderOf(broker: string, topic: string): Promise<string> {
  const admin = plainKafka([broker]).admin()
  await admin.connect()
  const { brokers: nodes } = await admin.describeCluster()
  const { topics } = await admin.fetchTopicMetadata({ topics: [topic] })
  await admin.disconnect()
  const { host, port } = nodes.find(({ nodeId }) => nodeId === topics[0]!.partitions[0]!.leader)!
  return `${host}:${port}`
}

function int32(value: number): Buffer {
  const bytes = Buffer.alloc(4)
  bytes.writeInt32BE(value)
  return bytes
}

function int16(value: number): Buffer {
  const bytes = Buffer.alloc(2)
  bytes.writeInt16BE(value)
  return bytes
}

const string = (text: string) => Buffer.concat([int16(Buffer.byteLength(text)), Buffer.from(text)])
