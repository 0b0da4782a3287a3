import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { expect, test, vi } from 'vitest'
import type { Events } from '../../src/telemetry/events.ts'
import { buildCommand } from '../support/commands.ts'
import { allEventsOf } from '../support/events.ts'
import { describeOnKafka } from '../support/integration.ts'
import { openKafkajsProducer } from '../support/kafka.ts'
import { javaCommand, kafkaClassPath } from '../support/local-kafka/maven.ts'
import { startWorld } from '../support/worker.ts'

describeOnKafka('a transaction that another producer leaves open', brokers => {
  test('is reported within a minute, leaves the worker ready, and ends with the reported command', async () => {
    const world = await startWorld({ brokers })
    const [, topic = ''] = world.settings.topics.commands
    const told: Events['transaction.open'][] = []
    allEventsOf(world.worker).on('transaction.open', event => told.push(event))
    const transactionalId = `${topic}-billing`
    const producer = await openKafkajsProducer(brokers.brokers, { transactionalId, transactionTimeout: 600_000 })
    const transaction = await producer.transaction()
    await transaction.send({ topic, messages: [{ key: 'k', value: 'never committed', partition: 0 }] })
    await world.send([buildCommand({ id: 1n })])

    const { warnings } = await vi.waitFor(
      () => {
        expect(told).toHaveLength(1)
        return world.worker.ready()
      },
      { timeout: 60_000, interval: 100 },
    )
    expect(told).toMatchObject([{ topic, partition: 0, offset: 0, transactionalId }])
    expect([world.worker.ready().ready, warnings]).toEqual([true, [expect.stringContaining(transactionalId)]])

    const [, command = ''] = warnings[0]!.split('kafka-transactions.sh ')
    const args = command.replace('BROKER', brokers.brokers.join()).split(' ')
    const classes = await kafkaClassPath(() => {})
    await promisify(execFile)(javaCommand(), ['-cp', classes, 'org.apache.kafka.tools.TransactionsCommand', ...args])
    await world.finished(1)
    await vi.waitFor(() => expect(world.worker.ready().warnings).toEqual([]), { timeout: 60_000 })
  })
})
