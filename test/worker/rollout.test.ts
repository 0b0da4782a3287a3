import { expect, test } from 'vitest'
import { startSendingWorld } from '../support/sending.ts'

const both = ['urgent', 'bulk']

test.each([
  ['adds', ['bulk'], both],
  ['removes', both, ['bulk']],
])(
  'while a rolling update %s a command topic, old and new processes send each command once',
  async (_, before, after) => {
    const world = await startSendingWorld({ partitions: 4, settings: { topics: { commands: before.join() } } })
    world.broker.createTopics(both.map(topic => ({ topic, partitions: 4 })))
    const newcomer = await world.startAnother({ commands: after })
    await world.clock.pass(3_000)
    expect([world.sending.reasons(), newcomer.reasons()]).toEqual([[], []])
    for (let id = 1; id <= 20; id++) world.send(id, {}, both[id % 2])
    await world.clock.pass(3_000)
    const sent = world.posts.flatMap(({ operations }) => operations.map(({ id }) => id))
    expect(sent.sort((a, b) => a - b)).toEqual(Array.from({ length: 20 }, (_, i) => i + 1))
  },
)

test("a topic that the group's leader cannot see is reported by the process that consumes it", async () => {
  const world = await startSendingWorld({ settings: { topics: { commands: 'bulk' } } })
  world.broker.createTopics(both.map(topic => ({ topic, partitions: 1 })))
  const newcomer = await world.startAnother({ commands: both })
  const { partitions } = world.broker
  world.broker.partitions = topic => (topic === 'urgent' ? undefined : partitions.call(world.broker, topic))
  await world.clock.pass(3_000)
  expect(newcomer.reasons()).toEqual([expect.stringContaining('urgent is not read')])
})
