import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { Admin } from 'kafkajs'
import { pino } from 'pino'
import { expect, test } from 'vitest'
import { until } from '../support/bus.ts'
import { commandsFrom } from '../support/commands.ts'
import { type Brokers, describeOnKafka } from '../support/integration.ts'
import { openAdmin } from '../support/kafka.ts'
import { javaCommand, kafkaVersion } from '../support/local-kafka/maven.ts'
import { scrape } from '../support/metrics.ts'
import { finalOf, startWorld, type World } from '../support/worker.ts'

const jars = join(import.meta.dirname, `../../.cache/kafka-${kafkaVersion}`)
const tools = join(jars, `kafka-tools-${kafkaVersion}.jar`)

/** Sends 200 commands and an unreadable record, and stops the worker. */
async function startFinished(brokers: Brokers): Promise<World> {
  const world = await startWorld({ brokers })
  await world.send(commandsFrom(1, 200))
  await world.produceRaw(Buffer.from('no command'))
  await world.finished(200)
  await until(() => expect(world.deadLetters()).toHaveLength(1))
  await world.worker.close()
  return world
}

/** Starts a worker, and expects that it sends and answers nothing a second time. */
async function expectNothingAgain(world: World): Promise<void> {
  const worker = await world.startWorker()
  await until(() => expect(worker.ready()).toMatchObject({ ready: true, reasons: [] }))
  await world.send(commandsFrom(201, 10))
  await world.finished(210)
  await world.quiet()
  expect(new Set(world.results().map(({ id }) => id)).size).toBe(210)
  expect(world.results()).toHaveLength(210)
  expect(world.deadLetters()).toHaveLength(1)
  expect(world.sandbox.stats()).toMatchObject({ executed: 210, billedTwice: 0 })
}

const createAgain = (admin: Admin, topic: string) =>
  until(async () => {
    await admin.createTopics({ topics: [{ topic, numPartitions: 1 }] }) // it may exist although the answer was lost
    expect(await admin.listTopics()).toContain(topic)
  })

describeOnKafka('a command topic that is deleted and recreated while a worker runs', brokers => {
  test('is read from its beginning, even if it holds more records than the old one', async () => {
    const world = await startWorld({ brokers })
    await world.send(commandsFrom(1, 50))
    await world.finished(50)
    const topic = world.settings.topics.commands.at(-1)!
    const admin = await openAdmin(brokers.brokers)
    await admin.deleteTopics({ topics: [topic] })
    await until(() => expect(world.worker.ready().ready).toBe(false))
    await createAgain(admin, topic)
    await until(() => world.send(commandsFrom(1001, 1)))
    await world.send(commandsFrom(1002, 69))
    await world.finished(120)
    await world.quiet()
    expect(new Set(world.results().map(({ id }) => id)).size).toBe(120)
    expect(world.sandbox.stats()).toMatchObject({ executed: 120, billedTwice: 0 })
  })
})

describeOnKafka('a doubts topic that is deleted while commands are in doubt', brokers => {
  test('keeps the worker unready until it is created again, and then they end UNRESOLVED, with their number', async () => {
    const told: string[] = []
    const logger = pino({ base: null }, { write: line => void told.push(line) })
    const world = await startWorld({ brokers, logger, settings: { doubts: { waitMs: 3_600_000 } } })
    const { doubts } = world.settings.topics
    world.sandbox.faults.next('reset-before')
    await world.send(commandsFrom(1, 1))
    await until(() => expect(world.results()).toMatchObject([{ outcome: 'IN_DOUBT' }]))
    const admin = await openAdmin(brokers.brokers)
    await until(async () => expect((await scrape(world.worker.ports.telemetry!)).get('busgate_doubts_open')).toBe(1))
    await admin.deleteTopics({ topics: [doubts] })
    await until(() => expect(world.worker.ready().reasons).toContainEqual(expect.stringContaining(doubts)))
    await createAgain(admin, doubts)
    await until(() => expect(world.worker.ready()).toMatchObject({ ready: true, reasons: [] }))
    await world.send(commandsFrom(2, 1))
    await world.finished(2)
    expect(world.resultOf(2n)).toMatchObject({ outcome: 'SENT' })
    expect(finalOf(world, 1n)).toMatchObject({ outcome: 'UNRESOLVED' })
    await until(() => expect(told.filter(line => line.includes('"doubts.lost"'))).toHaveLength(1))
  })
})

describeOnKafka('after a reset of the offsets', brokers => {
  test.runIf(existsSync(tools))("with Kafka's own tool, no command with a result is sent again", async () => {
    const world = await startFinished(brokers)
    const { stdout } = await promisify(execFile)(javaCommand(), [
      ...['-cp', join(jars, '*'), 'org.apache.kafka.tools.consumer.group.ConsumerGroupCommand'],
      ...['--bootstrap-server', brokers.brokers.join(), '--group', world.settings.kafka.groupId],
      ...['--all-topics', '--reset-offsets', '--to-earliest', '--execute'],
    ])
    expect(stdout).toContain(world.settings.topics.commands.at(-1))
    await expectNothingAgain(world)
  })
})
