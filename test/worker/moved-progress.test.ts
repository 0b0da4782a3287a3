import { describe, expect, test } from 'vitest'
import { startSendingWorld } from '../support/sending.ts'

const ids = Array.from({ length: 50 }, (_, i) => i + 1)

/** Sends fifty commands and stops the worker. Then a tool commits another offset with the same metadata. */
async function startWithMovedProgress(by: number) {
  const world = await startSendingWorld()
  const tp = { topic: world.settings.topics.commands.at(-1)!, partition: 0 }
  for (const id of ids) world.send(id)
  await world.clock.pass(5000)
  await world.stop()
  const { broker, clock } = world
  const { offset, metadata } = broker.committed('busgate', tp)!
  const tool = { id: 'mirror', epoch: broker.fence('mirror') }
  const offsets = [{ ...tp, offset: offset + by, metadata }]
  broker.write(tool, { groupId: 'busgate', records: [], offsets }, clock.now())
  broker.endTransaction(tool)
  const refusals = new Set<string>()
  world.telemetry.on('session.openFailed', ({ error }) => refusals.add(error.message))
  return { world, tp, refusals, another: await world.startAnother({}) }
}

describe('an offset that a tool has committed with the metadata of another one', () => {
  test.each([-10, 10])('is not trusted (moved by %d): nothing is sent, and the reason is logged', async by => {
    const { world, tp, refusals, another } = await startWithMovedProgress(by)
    for (const id of [101, 102]) world.send(id)
    await world.clock.pass(60_000)
    expect([...refusals]).toEqual([
      expect.stringMatching(/carries the checkpoint of offset 50.*reset the offset without/),
    ])
    expect(another.reasons()).toEqual([`${tp.topic}/0 is not open`])
    expect([...ids, 101, 102].map(id => world.postsOf(id))).toEqual([...ids.map(() => 1), 0, 0])
  })

  test('can be reset without metadata: the worker looks up the results, and sends nothing twice', async () => {
    const { world, tp } = await startWithMovedProgress(-10)
    for (const id of [101, 102]) world.send(id)
    world.broker.resetOffset('busgate', tp, 20)
    await world.clock.pass(300_000) // a dead worker might have sent them: their status is polled first
    expect([...ids, 101, 102].map(id => world.postsOf(id))).toEqual([...ids.map(() => 1), 1, 1])
  })
})
