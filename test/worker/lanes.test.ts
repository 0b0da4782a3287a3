import { expect, test } from 'vitest'
import { itemsAnswer } from '../support/answers.ts'
import { commandsFrom } from '../support/commands.ts'
import { alone, startSendingWorld } from '../support/sending.ts'

const urgentIds = 1_000_000

/** A worker. `overload` fills its urgent topic with twice as many commands as its slots can send. */
async function startOverloadable(concurrency: number) {
  const sending = await startSendingWorld({
    accounts: alone,
    gateway: { maxOperations: 5, concurrency },
    takes: () => 1_000,
  })
  let next = urgentIds
  const overload = async (seconds: number) => {
    for (let second = 0; second < seconds; second++) {
      sending.put('urgent', commandsFrom(next, 2 * 5 * concurrency))
      next += 2 * 5 * concurrency
      await sending.pass(1_000, 250)
    }
  }
  return { ...sending, overload }
}

test.each([1, 2, 8])(
  'while the urgent topic is overloaded, every eighth envelope is a bulk one: concurrency %i',
  async concurrency => {
    const { put, overload, posts } = await startOverloadable(concurrency)
    await overload(5)
    put('bulk', commandsFrom(1, 2_000))
    await overload(2)
    const before = posts.length
    await overload(80)
    const during = posts.slice(before)
    const bulk = during.filter(({ ids }) => ids[0]! < urgentIds)
    expect(Math.abs(bulk.length - during.length / 8)).toBeLessThanOrEqual(1)
  },
)

test('bulk keeps its turns although small urgent envelopes use nearly the whole rate', async () => {
  const { put, pass, sent } = await startSendingWorld({ accounts: { default: 200 } })
  put('bulk', commandsFrom(1, 500))
  for (let i = 0; i < 500; i++) {
    put('urgent', commandsFrom(urgentIds + i * 2, 2))
    await pass(10, 10)
  }
  expect(sent('default').filter(id => id < urgentIds).length).toBeGreaterThan(25)
})

test('a single urgent command does not wait for bulk: a slot is reserved for it', async () => {
  const { put, pass, posts, clock } = await startSendingWorld({ gateway: { maxOperations: 10 }, takes: () => 5_000 })
  put('bulk', commandsFrom(1, 1_000))
  await pass(7_000)
  put('urgent', commandsFrom(urgentIds, 1))
  const at = clock.monotonic()
  await pass(1_000)
  expect(posts.find(({ ids }) => ids[0] === urgentIds)!.at - at).toBeLessThan(200)
})

test('an urgent command does not wait for status polls', async () => {
  const { clock, send, doubted, posts, postsOf, settings } = await startSendingWorld({
    settings: { gateway: { concurrency: 2, timeoutMs: 1_000 }, doubts: { waitMs: 100 } },
    async answer(operations) {
      if (operations[0]!.id !== urgentIds) await new Promise<void>(resolve => clock.after(20_000, resolve))
      return null
    },
  })
  send(1)
  doubted(2)
  await clock.pass(5_000)
  send(urgentIds, {}, settings.topics.commands[0]!)
  await clock.pass(1_000)
  expect(postsOf(urgentIds)).toBe(1)
  expect(posts.some(({ operations }) => operations[0]!.type === 'status')).toBe(false)
  await clock.pass(40_000)
  expect(posts.some(({ operations }) => operations[0]!.type === 'status')).toBe(true)
})

test.each([1, 2])('a bulk command waits for at most one status poll: concurrency %i', async concurrency => {
  const { clock, send, doubted, postsOf } = await startSendingWorld({
    settings: {
      gateway: { concurrency, timeoutMs: 1_000, maxOperations: 10 },
      doubts: { waitMs: 300, polls: 5 },
    },
    async answer(operations) {
      await new Promise<void>(resolve => clock.after(1_000, resolve))
      if (operations[0]!.type !== 'status') return null
      return itemsAnswer(...operations.map(({ id }) => ({ success: true, data: { id, status: 'UNKNOWN' } })))
    },
  })
  for (let id = 1; id <= 200; id++) {
    const account = id % 2 === 0 ? 'default' : 'other'
    doubted(id, { account }, { account, delivery: 'AT_MOST_ONCE' })
  }
  await clock.pass(5_000)
  send(1_000)
  await clock.pass(2_000)
  expect(postsOf(1_000)).toBe(1)
})

test.each([1, 8])('accounts take turns, whichever has more commands: %i beside a busy one', async count => {
  const others = Array.from({ length: count }, (_, i) => `other${i}`)
  const { put, pass, posts } = await startSendingWorld({
    accounts: Object.fromEntries(['default', ...others].map(name => [name, undefined])),
    gateway: { concurrency: 1, maxOperations: 1, lingerMs: 0 },
    takes: () => 10,
  })
  put('bulk', commandsFrom(1, 40))
  for (const [i, account] of others.entries()) put('bulk', commandsFrom(101 + 5 * i, 5, { account }))
  await pass(5_000)
  const turns = posts.slice(0, 5 * (count + 1) + 2).map(({ auth }) => auth)
  expect(turns.filter(account => account !== 'default')).toHaveLength(5 * count)
})
