import { expect, test } from 'vitest'
import { until } from '../support/bus.ts'
import { buildCommand } from '../support/commands.ts'
import { describeOnKafka } from '../support/integration.ts'
import { configure } from '../support/kafka.ts'
import { startWorld } from '../support/worker.ts'

describeOnKafka('a topic that somebody sets to be compacted', brokers => {
  test('of dead letters, while a worker runs: a record without a key is buried, and its partition goes on', async () => {
    const world = await startWorld({ brokers })
    await configure(brokers.brokers, world.settings.topics.deadLetters, 'cleanup.policy', 'compact')
    await world.produceRaw(Buffer.from('no command'))
    await world.send([buildCommand({ id: 1n })])
    await world.finished(1)
    await until(() => expect(world.deadLetters()).toMatchObject([{ value: Buffer.from('no command') }]))
  })

  test('of results: the next worker does not start, and says what to set', async () => {
    const world = await startWorld({ brokers })
    await configure(brokers.brokers, world.settings.topics.results, 'cleanup.policy', 'compact')
    await expect(world.startWorker()).rejects.toThrow(/results must not be compacted.*set cleanup.policy=delete/)
  })
})
