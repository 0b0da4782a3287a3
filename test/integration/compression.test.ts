import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import kafkajs from 'kafkajs'
import { expect, onTestFinished, test } from 'vitest'
import type { BusRecord } from '../../src/bus/port.ts'
import { produce } from '../../src/bus/write/produce-api.ts'
import { buildRecord, publishAll, until } from '../support/bus.ts'
import { busgate } from '../support/cli.ts'
import { buildCommand, commandsFrom } from '../support/commands.ts'
import { buildEnvironment } from '../support/environment.ts'
import { hostileBatches } from '../support/hostile-batches.ts'
import { describeOnKafka, describeWithJava, hasJava } from '../support/integration.ts'
import { createTopics, openKafkajsProducer } from '../support/kafka.ts'
import { startKafka } from '../support/local-kafka/kafka.ts'
import { codecs, startOutsideProducer } from '../support/outside/producer.ts'
import { codecsOf, openBrokers } from '../support/wire.ts'
import { openWired } from '../support/wires.ts'
import { startWorld } from '../support/worker.ts'

const MiB = 1024 * 1024
const openBus = (brokers: string[]) => openWired({ brokers, groupId: 'compression-test' }).bus

/** Writes a record that is small for the broker, and unpacks to more than busgate allows. */
async function sendBomb(brokers: string[], topic: string): Promise<void> {
  const producer = await openKafkajsProducer(brokers)
  const messages = [{ value: Buffer.alloc(65 * MiB) }]
  await producer.send({ topic, messages, compression: kafkajs.CompressionTypes.GZIP })
}

describeOnKafka('on Kafka', brokers => {
  test.runIf(hasJava)('commands of Java producers with every codec are sent, each once', async () => {
    const world = await startWorld({ brokers })
    const topic = world.settings.topics.commands.at(-1)!
    const producer = await startOutsideProducer({ brokers: brokers.brokers, topic, codec: 'mixed' })
    const commands = commandsFrom(1, 1000)
    await producer.send(commands.map(one => ({ key: Buffer.from(String(one.id)), value: world.encode(one) })))
    await producer.close()
    await world.finished(commands.length)
    await world.quiet()
    expect(await codecsOf(brokers.brokers[0]!, topic)).toEqual(new Set(codecs.keys()))
    expect(new Set(world.results().map(({ outcome }) => outcome))).toEqual(new Set(['SENT']))
    expect(world.results()).toHaveLength(commands.length)
    expect(world.sandbox.stats()).toMatchObject({ executed: commands.length, billedTwice: 0 })
    expect(world.deadLetters()).toEqual([])
  })

  test.for(['none', 'gzip', 'zstd'] as const)('results are written with kafka.compression %s', async compression => {
    const world = await startWorld({ brokers, settings: { kafka: { compression } } })
    await world.send(commandsFrom(1, 200))
    await world.finished(200)
    await world.quiet()
    expect(await codecsOf(brokers.brokers[0]!, world.settings.topics.results)).toContain(codecs.indexOf(compression))
    expect(world.sandbox.stats()).toMatchObject({ executed: 200, billedTwice: 0 })
  })

  test('hostile batches are skipped, and the commands behind them are sent', async () => {
    const world = await startWorld({ brokers })
    const topic = world.settings.topics.commands.at(-1)!
    const wire = openBrokers(brokers.brokers)
    const names = [
      'zstd, 113,000 empty frames',
      'zstd, 125,000 frames to skip',
      'Snappy, 200,000 empty blocks',
      'zstd, a value of 60 MiB in 2 KB',
    ] as const
    for (const name of names) {
      const batches = [{ topic, partition: 0, bytes: hostileBatches[name]() }]
      const request = { transactionalId: null, timeoutMs: 10_000, batches }
      expect(await wire.ask({ leader: batches[0]! }, produce, [request])).toMatchObject({
        partitions: [{ errorCode: 0 }],
      })
    }
    await world.send([buildCommand({ id: 1n })])
    await world.finished(1)
    const codes = () => world.deadLetters().map(({ headers }) => String(headers['busgate.error.code']))
    await until(() => expect(codes()).toHaveLength(names.length))
    expect(codes()[0]).toBe('BATCH_CORRUPT')
    expect(world.worker.ready().ready).toBe(true)
  })

  test('tail says in one line why it cannot read a batch, and shows the other records', async () => {
    const env = buildEnvironment(brokers)
    await busgate(['topics', 'create', '--partitions', '1'], { env })
    const topic = env.BUSGATE_TOPICS_DEAD_LETTERS
    await sendBomb(brokers.brokers, topic)
    await publishAll(openBus(brokers.brokers), [buildRecord(topic, 'behind')])
    const { code, stdout, stderr } = await busgate(
      ['tail', 'dead-letters', '--from-beginning', '--limit', '1', '--json'],
      {
        env,
      },
    )
    expect([code, JSON.parse(stdout)]).toMatchObject([0, { key: 'behind' }])
    expect(stderr.split('\n').filter(line => line.includes('cannot be read'))).toEqual([
      expect.stringMatching(
        /dead-letters\/0@0: The batch at offset 0 cannot be read: .*67108864 bytes\. .*batch\.size/,
      ),
    ])
  })
})

describeWithJava("a batch that is damaged on the broker's disk", () => {
  test('is skipped, and the other records are read', async () => {
    const dataDir = await mkdtemp(join(tmpdir(), 'busgate-damage-'))
    onTestFinished(() => rm(dataDir, { recursive: true, force: true }))
    const { brokers, stop } = await startKafka({ dataDir })
    onTestFinished(stop)
    const topic = 'damaged'
    await createTopics(brokers, [{ topic, partitions: 1 }])
    const bus = openBus(brokers)
    const values = ['a', 'b', 'c'].map(key => Buffer.alloc(3000, `value of ${key} `))
    for (const value of values) await publishAll(bus, [buildRecord(topic, String(value), { value })])
    const log = join(dataDir, 'node-1/data', `${topic}-0`, `${'0'.repeat(20)}.log`)
    const bytes = await readFile(log)
    const second = 12 + bytes.readInt32BE(8)
    bytes[second + 70]! ^= 0xff
    await writeFile(log, bytes, { flag: 'r+' })
    const records: BusRecord[] = []
    await bus.follow({ topic, partition: 0 }, 'earliest', some => void records.push(...some))
    await until(() => expect(records).toHaveLength(3))
    expect(records.map(({ value, unreadable }) => unreadable?.code ?? String(value))).toEqual([
      String(values[0]),
      'BATCH_CORRUPT',
      String(values[2]),
    ])
    expect(records[1]!.unreadable!.message).toContain('its checksum is wrong')
  })
})
