import { expect, test } from 'vitest'
import { until } from '../support/bus.ts'
import { buildCommand } from '../support/commands.ts'
import { describeOnKafka, hasJava, ownKafka } from '../support/integration.ts'
import { createTopics, openAdmin, openKafkajsProducer } from '../support/kafka.ts'
import { startWorld } from '../support/worker.ts'

describeOnKafka('on brokers that delete expired records at once', ({ registryUrl }) => {
  const kafka = ownKafka(() => ({
    properties: () => ({ 'log.retention.check.interval.ms': '300', 'log.initial.task.delay.ms': '0' }),
  }))

  test.runIf(hasJava)('a command with a timestamp of 1970 is sent', async () => {
    const world = await startWorld({
      brokers: { brokers: kafka.brokers, registryUrl },
      settings: { kafka: { startFrom: 'earliest' } },
    })
    await world.worker.close()
    const witness = 'by-the-producers-clock'
    await createTopics(kafka.brokers, [{ topic: witness, partitions: 1 }])
    const producer = await openKafkajsProducer(kafka.brokers)
    for (const topic of [world.settings.topics.commands.at(-1)!, witness]) {
      await producer.send({
        topic,
        messages: [{ value: world.encode(buildCommand({ id: 1n })), timestamp: '1795814714' }],
      })
    }
    const admin = await openAdmin(kafka.brokers)
    await until(async () => expect(await admin.fetchTopicOffsets(witness)).toMatchObject([{ low: '1', high: '1' }]))
    await world.startWorker()
    expect(await world.finished(1)).toMatchObject([{ outcome: 'SENT', commandOffset: 0 }])
  })
})
