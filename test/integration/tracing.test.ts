import { expect, onTestFinished, test } from 'vitest'
import { traceHeaders } from '../../src/telemetry/trace.ts'
import { until } from '../support/bus.ts'
import { buildCommand } from '../support/commands.ts'
import { describeOnKafka } from '../support/integration.ts'
import { plainKafka } from '../support/kafka.ts'
import { buildTrace } from '../support/traces.ts'
import { startWorld } from '../support/worker.ts'

describeOnKafka('tracing on Kafka', brokers => {
  test('any Kafka client finds the trace of a command on its result and its status', async () => {
    const world = await startWorld({ brokers })
    const { results, statuses } = world.settings.topics
    const found: Record<string, string | undefined> = {}
    const consumer = plainKafka(brokers.brokers).consumer({ groupId: `${results}-plain`, maxWaitTimeInMs: 100 })
    await consumer.connect()
    onTestFinished(() => consumer.disconnect())
    await consumer.subscribe({ topics: [results, statuses], fromBeginning: true })
    await consumer.run({
      eachMessage: async ({ topic, message }) => {
        found[`${topic} ${message.key}`] = message.headers?.traceparent?.toString()
      },
    })
    const headers = { ...traceHeaders(buildTrace(1)) }
    await world.produceRaw(world.encode(buildCommand({ id: 1n })), { key: Buffer.from('1'), headers })
    await world.send([buildCommand({ id: 2n })])
    await until(() =>
      expect(found).toEqual({
        [`${results} 1`]: headers.traceparent,
        [`${statuses} 1`]: headers.traceparent,
        [`${results} 2`]: undefined,
        [`${statuses} 2`]: undefined,
      }),
    )
  })
})
