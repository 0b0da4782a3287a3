import { expect, test } from 'vitest'
import type { TopicLook } from '../../src/bus/port.ts'
import { watchWrites } from '../../src/callbacks/write-watch.ts'
import { anHour, ManualClock } from '../support/clock.ts'

/** Watches two topics, whose state a test may change. */
function setUp() {
  const clock = new ManualClock(anHour)
  const topic = { id: '', partitions: 1, leaderless: [] as number[] }
  const topics = new Map<string, () => TopicLook | null | Promise<TopicLook>>([
    ['statuses', () => topic],
    ['letters', () => topic],
  ])
  const watch = watchWrites({ lookAt: async name => topics.get(name)!() }, [...topics.keys()], clock)
  return { clock, topic, topics, watch }
}

test.each([
  ['does not exist', () => null, 'letters does not exist: create it with busgate topics create'],
  [
    'has a partition without a leader',
    () => ({ id: '', partitions: 2, leaderless: [1] }),
    'letters has partitions without a leader: start their brokers',
  ],
  ['cannot be looked at', () => Promise.reject(new Error('no broker answers')), 'no broker answers'],
])('a topic that %s is in the way within two seconds, until it is well again', async (_, look, trouble) => {
  const { clock, topics, topic, watch } = setUp()
  topics.set('letters', look)
  expect(watch.trouble()).toBe(null)
  await clock.pass(2_000)
  expect(watch.trouble()).toBe(trouble)
  topics.set('letters', () => topic)
  await clock.pass(2_000)
  expect(watch.trouble()).toBe(null)
})

test('a publish that fails is in the way for ten seconds, even if all topics look well, or until one succeeds', async () => {
  const { clock, watch } = setUp()
  watch.published(new Error('not enough replicas'))
  await clock.pass(9_000)
  expect(watch.trouble()).toBe('not enough replicas')
  await clock.pass(1_000)
  expect(watch.trouble()).toBe(null)
  watch.published(new Error('not enough replicas'))
  expect(watch.trouble()).toBe('not enough replicas')
  watch.published(null)
  expect(watch.trouble()).toBe(null)
})

test('a publish that succeeds leaves no doubt about topics that are well again', async () => {
  const { clock, topic, watch } = setUp()
  topic.leaderless = [0]
  await clock.pass(2_000)
  watch.published(null)
  await clock.pass(2_000)
  expect(watch.trouble()).toContain('without a leader')
  topic.leaderless = []
  await clock.pass(2_000)
  expect(watch.trouble()).toBe(null)
})

test('topics are no longer looked at once the watch is closed', async () => {
  for (const isLooking of [false, true]) {
    const { clock, topics, topic, watch } = setUp()
    const answered = Promise.withResolvers<TopicLook>()
    topics.set('letters', () => answered.promise)
    if (isLooking) await clock.pass(2_000)
    watch.close()
    answered.resolve(topic)
    await clock.pass(10_000)
    expect(clock.pending).toBe(0)
  }
})
