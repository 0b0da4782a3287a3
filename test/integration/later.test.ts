import { expect, test } from 'vitest'
import { readLater } from '../../src/records/later.ts'
import { until } from '../support/bus.ts'
import { commandsFrom } from '../support/commands.ts'
import { describeOnKafka } from '../support/integration.ts'
import { openAdmin } from '../support/kafka.ts'
import { startWorld, type World } from '../support/worker.ts'

/** How many commands wait, and how many were ever written to the table. */
async function tableOf({ bus, settings }: World) {
  const states = new Map<string, string>()
  const reader = await bus.read([settings.topics.later], 'earliest', (_, records) => {
    for (const record of records) states.set(String(record.key), readLater(record)!.state)
  })
  await reader.caughtUp()
  await reader.close()
  return { waiting: [...states.values()].filter(state => state === 'waits').length, known: states.size }
}

describeOnKafka('commands that wait for their time', brokers => {
  test('are sent once, though workers change, partitions are added, and offsets are reset', async () => {
    const world = await startWorld({ brokers, partitions: 2 })
    const { topics } = world.settings
    const bulk = topics.commands.at(-1)!
    const due = Date.now() + 20_000
    await world.send(commandsFrom(1, 200, { notBefore: due }))
    await until(async () => expect(await tableOf(world)).toEqual({ waiting: 200, known: 200 }))
    await world.worker.close()
    const admin = await openAdmin(brokers.brokers)
    await admin.createPartitions({
      topicPartitions: [
        { topic: bulk, count: 4 },
        { topic: topics.later, count: 5 },
      ],
    })
    await world.resetOffset(0, bulk)

    const second = await world.startWorker()
    await until(() => expect(second.ready()).toMatchObject({ ready: true, reasons: [] }))
    await world.send(commandsFrom(301, 50, { notBefore: due }))
    await until(async () => expect(await tableOf(world)).toEqual({ waiting: 250, known: 250 }))
    expect(world.sandbox.stats().executed).toBe(0)
    await second.close()
    await world.startWorker()
    await world.finished(250)
    await world.quiet()
    expect(world.results().every(({ outcome, sentAt }) => outcome === 'SENT' && sentAt! >= due)).toBe(true)
    expect(new Set(world.results().map(({ id }) => id)).size).toBe(250)
    expect(world.results()).toHaveLength(250)
    expect(world.sandbox.stats()).toMatchObject({ executed: 250, billedTwice: 0 })
    expect((await tableOf(world)).waiting).toBe(0)
  })
})
