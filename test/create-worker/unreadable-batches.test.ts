import { expect, test } from 'vitest'
import { until } from '../support/bus.ts'
import { buildCommand } from '../support/commands.ts'
import { BrokerWithDamagedBatches, buildDamagedBatch } from '../support/damaged-batches.ts'
import { startWorld, type World } from '../support/worker.ts'

const headersOf = (world: World) =>
  world
    .deadLetters()
    .map(({ headers }) => Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, String(value)])))

async function writeDamagedBatch(world: World, topic: string): Promise<void> {
  const publisher = await world.bus.publisher()
  await publisher.publish([buildDamagedBatch(topic)])
  await publisher.close()
}

test('an unreadable batch of commands becomes a dead letter with its coordinates, and other commands are sent', async () => {
  const world = await startWorld({ broker: new BrokerWithDamagedBatches() })
  const commands = world.settings.topics.commands.at(-1)!
  await world.send([buildCommand({ id: 1n })])
  await writeDamagedBatch(world, commands)
  await world.send([buildCommand({ id: 2n })])
  await world.finished(2)
  await world.quiet()
  expect(world.results().map(({ id, outcome }) => `${id} ${outcome}`)).toEqual(['1 SENT', '2 SENT'])
  expect(world.deadLetters()).toMatchObject([{ key: Buffer.from(`${commands}/0@1`), value: null }])
  expect(headersOf(world)).toEqual([
    {
      'busgate.error.stage': 'decode',
      'busgate.error.code': 'BATCH_CORRUPT',
      'busgate.error.message': expect.stringMatching(/offset 1 cannot be read: .*produced again/),
      'busgate.error.topic': commands,
      'busgate.error.partition': '0',
      'busgate.error.offset': '1',
      'busgate.error.timestamp': expect.stringMatching(/^\d+$/),
      'busgate.error.key': 'none',
    },
  ])
})

test('an unreadable batch of commands becomes only one dead letter, even after a restart', async () => {
  const world = await startWorld({ broker: new BrokerWithDamagedBatches() })
  await world.send([buildCommand({ id: 1n })])
  await writeDamagedBatch(world, world.settings.topics.commands.at(-1)!)
  await world.finished(1)
  await until(() => expect(world.deadLetters()).toHaveLength(1))
  await world.worker.close()
  await world.startWorker()
  await world.send([buildCommand({ id: 1n })])
  await world.finished(2)
  await world.quiet()
  expect(world.results().map(({ outcome }) => outcome)).toEqual(['SENT', 'DUPLICATE'])
  expect(world.deadLetters()).toHaveLength(1)
})

test('an unreadable batch of doubts becomes a dead letter, and is counted', async () => {
  const world = await startWorld({ broker: new BrokerWithDamagedBatches() })
  const { doubts } = world.settings.topics
  await writeDamagedBatch(world, doubts)
  const metrics = `http://127.0.0.1:${world.worker.ports.telemetry}/metrics`
  await until(async () =>
    expect(await (await fetch(metrics)).text()).toContain(
      'busgate_dead_letters_total{stage="decode",code="BATCH_CORRUPT"} 1',
    ),
  )
  await until(() => expect(headersOf(world)).toMatchObject([{ 'busgate.error.topic': doubts }]))
})

test('an unreadable batch of statuses does not prevent callbacks from resolving doubts', async () => {
  const settings = { gateway: { timeoutMs: 300 }, doubts: { waitMs: 60_000 } }
  const world = await startWorld({
    broker: new BrokerWithDamagedBatches(),
    settings,
    sandbox: { callbackDelayMs: 500 },
  })
  world.sandbox.faults.next('reset-after', 1)
  await world.send([buildCommand({ id: 1n })])
  await until(() => expect(world.results()).toMatchObject([{ outcome: 'IN_DOUBT' }]))
  const publisher = await world.bus.publisher()
  await publisher.publish([buildDamagedBatch(world.settings.topics.statuses)])
  await publisher.close()
  await world.finished(1)
  expect(world.results().map(({ outcome }) => outcome)).toEqual(['IN_DOUBT', 'SENT'])
  expect(world.sandbox.stats()).toMatchObject({ executed: 1, billedTwice: 0 })
})
