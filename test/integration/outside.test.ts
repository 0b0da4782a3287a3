import { randomUUID } from 'node:crypto'
import { expect, onTestFinished, test } from 'vitest'
import { javaAvailable } from '../../src/cli/local-kafka/index.ts'
import { describeOnKafka } from '../support/integration.ts'
import { createTopics } from '../support/kafka.ts'
import { codecsOf } from '../support/outside/codecs-of.ts'
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
