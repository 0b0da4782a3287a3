import { describe, expect, test } from 'vitest'
import { unpackCheckpoint } from '../../src/bus/session/checkpoint.ts'
import { INTENT } from '../../src/bus/session/window.ts'
import { commandsFrom } from '../support/commands.ts'
import { buildPause, buildResume, buildWithdrawal } from '../support/control.ts'
import { numbersFrom, type SendingOptions, sorted, startSendingWorld } from '../support/sending.ts'

/** A command whose envelope has a slot and waits for its connection. */
async function connecting(options: SendingOptions = {}) {
  const connected = Promise.withResolvers<void>()
  const world = await startSendingWorld({ ...options, connected: () => connected.promise })
  world.send(1, { deadline: world.clock.now() + 60_000, campaign: 'spring' })
  await world.pass(500)
  /** The connection is there at last. */
  const connect = async () => {
    connected.resolve()
    await world.pass(100)
  }
  return { ...world, connect }
}

describe('an envelope that waits for its connection', () => {
  test('is not POSTed if the group stops answering meanwhile, and once afterwards', async () => {
    let isDown = false
    const { pass, connect, postsOf } = await connecting({
      hop: async step => {
        if (isDown && step === 'heartbeat') throw new Error('connect ECONNREFUSED')
      },
    })
    isDown = true
    await pass(15_000)
    await connect()
    expect(postsOf(1)).toBe(0)
    isDown = false
    await pass(2_000)
    expect(postsOf(1)).toBe(1)
  })

  test('was sent at its first byte, says its result, however long the connection and the answer take', async () => {
    const { pass, connect, results, posts, clock } = await connecting({ takes: () => 9_000 })
    await pass(9_000)
    await connect()
    await pass(10_000)
    const sentAt = clock.now() - clock.monotonic() + posts[0]!.at
    expect(results()).toMatchObject([{ outcome: 'SENT', sentAt }])
  })

  test.each([
    { kind: 'topic', name: 'bulk' },
    { kind: 'account', name: 'default' },
  ] as const)('is not POSTed if its $kind is paused meanwhile, and once when it is resumed', async scope => {
    const { pass, control, connect, postsOf } = await connecting()
    control(buildPause(scope))
    await pass(100)
    await connect()
    expect(postsOf(1)).toBe(0)
    control(buildResume(scope))
    await pass(2_000)
    expect(postsOf(1)).toBe(1)
  })

  test('is never POSTed if its command is withdrawn meanwhile, or its deadline passes', async () => {
    const withdrawn = await connecting()
    withdrawn.control(buildWithdrawal())
    const late = await connecting()
    for (const { pass, connect, results, posts } of [withdrawn, late]) {
      await pass(61_000)
      await connect()
      await pass(10_000)
      expect([posts, results().map(({ outcome }) => outcome)]).toEqual([[], ['EXPIRED']])
    }
  })
})

test('the intents of an envelope are one commit, from however many partitions its commands come', async () => {
  let commits = 0
  const commitsBefore: number[] = []
  const { pass, put, sent } = await startSendingWorld({
    partitions: 8,
    hop: async (step, way) => {
      if (way === 'there' && step.startsWith('commit end')) commits++
    },
    takes: () => {
      commitsBefore.push(commits)
      return 10
    },
  })
  await pass(1_000)
  const before = commits
  for (let partition = 0; partition < 8; partition++) put('bulk', commandsFrom(1 + partition, 1), partition)
  await pass(1_000, 10)
  expect([sent('default').length, commitsBefore.map(count => count - before)]).toEqual([8, [1]])
})

test('every command of an envelope has a committed intent, also if a rebalance takes some of them back', async () => {
  let [commitMs, wait] = [0, async (_ms: number) => {}]
  const unintended: number[] = []
  const { broker, clock, pass, put, joinIdle, sent } = await startSendingWorld({
    gateway: { maxOperations: 5, lingerMs: 0 },
    hop: async (step, way) => {
      if (way === 'there' && step.startsWith('commit')) await wait(commitMs)
    },
    takes: ({ ids }) => {
      const { offset, metadata } = broker.committed('busgate', { topic: 'bulk', partition: 0 })!
      const { window } = unpackCheckpoint(offset, metadata)
      unintended.push(...ids.filter(id => window.get(id - 1) !== INTENT)) // ids follow the offsets
      return 10
    },
  })
  wait = ms => new Promise(resolve => clock.after(ms, resolve))
  commitMs = 300
  joinIdle()
  for (let id = 1; id < 100; id += 5) {
    put('bulk', commandsFrom(id, 5))
    await pass(100, 10)
  }
  await pass(60_000)
  expect(unintended).toEqual([])
  expect(sorted(sent('default'))).toEqual(numbersFrom(1, 100))
})
