import { describe, expect, test } from 'vitest'
import { partitionOf } from '../../src/bus/murmur2.ts'
import type { SendCommand } from '../../src/records/generated.ts'
import { answered, refusal } from '../support/answers.ts'
import { buildCommandOf, commandsFrom } from '../support/commands.ts'
import { alone, numbersFrom, sorted, startSendingWorld } from '../support/sending.ts'

const second = 1000

const codes = (from: number, count: number) =>
  numbersFrom(from, count).map(id => buildCommandOf('call/otp', { id: BigInt(id) }))

describe('an envelope', () => {
  test('holds the waiting commands in order, and at most gateway.maxOperations', async () => {
    const { put, pass, posts, sent } = await startSendingWorld({ gateway: { maxOperations: 7 } })
    put('bulk', commandsFrom(1, 30))
    await pass(second)
    expect(posts.map(({ ids }) => ids.length)).toEqual([7, 7, 7, 7, 2])
    expect(sent('default')).toEqual(numbersFrom(1, 30))
  })

  test.each([
    ['letters', 'x'],
    ['characters of several bytes', 'Замовлення готове 🎉'],
  ])('is at most gateway.maxBytes long, and as full as that allows: %s', async (_, text) => {
    const { put, pass, posts } = await startSendingWorld({ gateway: { maxBytes: 4096 } })
    const sms = (id: number) => buildCommandOf('sms', { id: BigInt(id) }, { sms_message: text.repeat(id % 10) || text })
    put('bulk', numbersFrom(1, 60).map(sms))
    await pass(second)
    expect(posts.flatMap(({ ids }) => ids)).toHaveLength(60)
    const longest = Math.max(
      ...posts.flatMap(({ operations }) => operations.map(one => Buffer.byteLength(JSON.stringify(one)))),
    )
    for (const { bytes } of posts) expect(bytes).toBeLessThanOrEqual(4096)
    for (const { bytes } of posts.slice(0, -1)) expect(bytes + 1 + longest).toBeGreaterThan(4096)
  })

  test('holds a call/otp alone', async () => {
    const { put, pass, posts } = await startSendingWorld()
    put('bulk', [...commandsFrom(1, 3), ...codes(11, 3), ...commandsFrom(21, 3)])
    await pass(second)
    const envelopes = posts.map(({ ids }) => ids)
    for (const id of [11, 12, 13]) expect(envelopes).toContainEqual([id])
    expect(sorted(envelopes.flat())).toEqual([1, 2, 3, 11, 12, 13, 21, 22, 23])
  })
})

test('codes use the whole rate, although each is in a request of its own', async () => {
  const sentAtOnce = async (commands: SendCommand[]) => {
    const { put, pass, sent } = await startSendingWorld({ accounts: { default: 8 } })
    put('bulk', commands)
    await pass(500)
    return sent('default')
  }
  expect(await sentAtOnce(codes(1, 20))).toEqual(await sentAtOnce(commandsFrom(1, 20)))
})

describe('a command', () => {
  test('waits for gateway.lingerMs, and is sent with those that come meanwhile', async () => {
    const { put, pass, posts } = await startSendingWorld({ gateway: { lingerMs: 1_000 } })
    put('bulk', commandsFrom(1, 1))
    await pass(500)
    put('bulk', commandsFrom(2, 1))
    await pass(second)
    expect(posts.map(({ ids }) => ids)).toEqual([[1, 2]])
  })

  test.each([
    ['the envelope is full', commandsFrom(1, 3), [1, 2, 3]],
    ['it is a call/otp', codes(1, 1), [1]],
  ])('does not wait if %s', async (_, commands, envelope) => {
    const { put, pass, posts } = await startSendingWorld({ gateway: { lingerMs: 60_000, maxOperations: 3 } })
    put('bulk', commands)
    await pass(second)
    expect(posts.map(({ ids }) => ids)).toEqual([envelope])
  })
})

describe('under a backlog', () => {
  test('urgent commands are sent first', async () => {
    const { put, pass, sent } = await startSendingWorld({ accounts: { default: 20 }, gateway: { maxOperations: 5 } })
    put('bulk', commandsFrom(101, 10))
    put('urgent', commandsFrom(1, 10))
    await pass(5 * second)
    expect(sorted(sent('default').slice(0, 10))).toEqual(numbersFrom(1, 10))
    expect(sent('default')).toHaveLength(20)
  })

  test('all partitions take turns', async () => {
    const { put, pass, sent } = await startSendingWorld({
      partitions: 3,
      gateway: { maxOperations: 1, concurrency: 1 },
      takes: () => 40,
    })
    for (const partition of [0, 1, 2]) put('bulk', commandsFrom(10 * partition, 8), partition)
    await pass(2 * second)
    const partitions = sent('default').map(id => Math.floor(id / 10))
    expect(new Set(partitions.slice(0, 6))).toEqual(new Set([0, 1, 2]))
  })

  test('at most gateway.concurrency requests are in flight, and one slot is kept for the urgent topic', async () => {
    const { put, pass, posts } = await startSendingWorld({
      accounts: alone,
      gateway: { maxOperations: 1, concurrency: 3 },
      takes: () => 10 * second,
    })
    put('bulk', commandsFrom(1, 12))
    await pass(second)
    expect(posts).toHaveLength(2)
    put('urgent', commandsFrom(101, 4))
    await pass(second)
    expect(posts.map(({ ids }) => ids)).toEqual([[1], [2], [101]])
  })
})

test('single commands of many partitions are sent in one envelope', async () => {
  const { put, pass, posts, sent } = await startSendingWorld({ partitions: 16 })
  await pass(second) // all partitions are open
  for (let partition = 0; partition < 16; partition++) put('bulk', commandsFrom(1 + partition, 1), partition)
  await pass(500, 10)
  expect(sorted(sent('default'))).toEqual(numbersFrom(1, 16))
  expect(posts).toHaveLength(1)
})

test('a command lingers at most gateway.lingerMs, including its time at the broker', async () => {
  const { put, pass, posts, clock } = await startSendingWorld({ gateway: { lingerMs: 500 } })
  await pass(second)
  const begun = clock.monotonic()
  put('bulk', commandsFrom(1, 1), 0, clock.now() - 300)
  await pass(second, 1)
  const lingered = posts[0]!.at - begun
  expect(lingered).toBeGreaterThanOrEqual(200)
  expect(lingered).toBeLessThan(250)
})

test('a command with a timestamp in the future lingers at most gateway.lingerMs, too', async () => {
  const { put, pass, posts, clock } = await startSendingWorld({ gateway: { lingerMs: 500 } })
  await pass(second)
  const begun = clock.monotonic()
  put('bulk', commandsFrom(1, 1), 0, clock.now() + 60_000)
  await pass(second, 1)
  expect(posts[0]!.at - begun).toBeLessThan(550)
})

test('intents are freed at once, so that a low commands.maxInFlight does not slow sending down much', async () => {
  const { put, pass, sent } = await startSendingWorld({
    settings: { commands: { maxInFlight: 20 } },
    gateway: { maxOperations: 10 },
  })
  await pass(second)
  put('bulk', commandsFrom(1, 3_000))
  await pass(2 * second, 1)
  expect(sent('default').length).toBeGreaterThanOrEqual(500)
})

test('an urgent backlog on one partition does not block other partitions', async () => {
  const { put, pass, posts } = await startSendingWorld({
    partitions: 4,
    gateway: { maxOperations: 10, concurrency: 2 },
    takes: () => 100,
  })
  put('urgent', commandsFrom(1, 3_000), 0)
  await pass(second)
  put('urgent', commandsFrom(10_001, 1), 1)
  const before = posts.length
  await pass(second)
  const envelopes = posts.slice(before).map(({ ids }) => ids.includes(10_001))
  expect(envelopes.indexOf(true)).toBeGreaterThanOrEqual(0)
  expect(envelopes.indexOf(true)).toBeLessThanOrEqual(5) // two were in flight, and three prepared
})

test('an envelope that waits for a connection is not POSTed while its key is denied, and once afterwards', async () => {
  const connected = Promise.withResolvers<void>()
  let denies = true
  const { clock, send, postsOf, results } = await startSendingWorld({
    accounts: alone,
    connected: async ([first]) => {
      if (first!.id === 1) await connected.promise
    },
    answer: () => (denies ? refusal('Access denied') : null),
  })
  send(1)
  await clock.pass(second)
  send(2)
  await clock.pass(100)
  expect(postsOf(2)).toBe(1)
  connected.resolve()
  await clock.pass(100)
  expect(postsOf(1)).toBe(0)
  denies = false
  await clock.pass(5 * second)
  expect(postsOf(1)).toBe(1)
  expect(results().map(({ outcome }) => outcome)).toEqual(['SENT', 'SENT'])
})

describe('an envelope whose partitions are lost between its intent and the first byte', () => {
  const partitions = 3
  const idOn = (partition: number) =>
    numbersFrom(1, 100).find(id => partitionOf(Buffer.from(String(id)), partitions) === partition)!
  const ids = numbersFrom(0, partitions).map(idOn)

  test('is not POSTed, and later each of its commands is POSTed once', async () => {
    const connected = Promise.withResolvers<void>()
    let fails = false
    const { clock, append, send, posts, postsOf, results } = await startSendingWorld({
      partitions,
      connected: () => connected.promise,
      hop: async step => {
        if (fails && step.startsWith('commit ')) throw new Error('the broker is away')
      },
    })
    for (const id of ids) send(id)
    await clock.pass(second)
    fails = true
    append({ partition: 1, key: null, value: null }) // a dead letter: its commit fails
    await clock.pass(100)
    connected.resolve()
    await clock.pass(1)
    expect(posts).toEqual([])
    fails = false
    await clock.pass(5 * second)
    expect(ids.map(postsOf)).toEqual([1, 1, 1])
    expect(results().map(({ outcome }) => outcome)).toEqual(['SENT', 'SENT', 'SENT'])
  })
})

test('a lost answer to the commit of intents leaves no command in doubt', async () => {
  const partitions = 2
  const onEach = [0, 1].map(
    partition => numbersFrom(1, 100).find(id => partitionOf(Buffer.from(String(id)), partitions) === partition)!,
  )
  const [one, other] = onEach as [number, number]
  const committed = Promise.withResolvers<void>()
  let loses = false
  const { clock, send, postsOf, results, takeOver } = await startSendingWorld({
    accounts: alone,
    partitions,
    hop: async (step, way) => {
      if (!loses || way !== 'back' || !step.startsWith('commit end')) return
      loses = false
      committed.resolve() // the account pauses for ten minutes before the partitions are open again
      throw new Error('the answer is lost')
    },
    answer: async () => {
      await committed.promise
      return answered('', { status: 429, retryAfterMs: 600 * second })
    },
  })
  send(one)
  await clock.pass(second)
  loses = true
  send(other)
  await clock.pass(10 * second)
  expect([loses, postsOf(one), postsOf(other)]).toEqual([false, 1, 0])
  await takeOver()
  await clock.pass(10 * second)
  expect(results()).toEqual([])
})
