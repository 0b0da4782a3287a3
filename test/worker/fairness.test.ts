import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { commandsFrom } from '../support/commands.ts'
import { alone, type Post, startSendingWorld } from '../support/sending.ts'

const timeoutMs = 10_000
const dead = timeoutMs
const second = 1_000

interface Contest {
  /** Milliseconds until an account's answers; the time-out: none comes. */
  accounts: Record<string, number>
  concurrency?: number
  maxOperations?: number
  /** Settings of `doubts`. */
  doubts?: object
  /** Accounts whose balance is never answered. */
  silent?: readonly string[]
}

/** Starts a worker whose accounts are answered at different speeds. `put` writes an account's commands to its own partition. */
async function startContest({ accounts, concurrency = 16, maxOperations = 2, doubts = {}, silent = [] }: Contest) {
  const names = Object.keys(accounts)
  const takes = ({ auth }: Post) => accounts[auth]!
  const world = await startSendingWorld({
    accounts: Object.fromEntries(names.map(name => [name, undefined])),
    partitions: names.length,
    gateway: { maxOperations, concurrency, timeoutMs },
    settings: { doubts },
    silent,
    takes,
    answer: (_, post) =>
      takes(post) < dead ? null : { kind: 'lost', cause: 'timeout', message: 'no answer within the time-out' },
  })
  let next = 1
  return {
    ...world,
    put(account: string, count: number, topic = 'bulk') {
      world.put(topic, commandsFrom(next, count, { account }), names.indexOf(account))
      next += count
    },
    postsBy: (account: string, type = 'sms') =>
      world.posts.filter(({ auth, operations: [first] }) => auth === account && first!.type === type),
    takes,
  }
}

const between = (posts: readonly Post[], from: number, until: number) =>
  posts.filter(({ at }) => at >= from && at < until).length

describe('a quick account beside a slow and a dead one', () => {
  /** @returns envelopes of the quick account in 20 seconds, in which it always has more to send than it may */
  async function quickEnvelopes(topic: string, quickMs: number, slowMs: number, others: number, headStartMs: number) {
    const accounts = { quick: quickMs, slow: slowMs, dead }
    const { put, pass, clock, postsBy } = await startContest({ accounts })
    if (others > 0) for (const account of ['slow', 'dead']) put(account, others, topic)
    await pass(headStartMs, 100)
    const from = clock.monotonic()
    for (let i = 0; i < 20; i++) {
      put('quick', (2 * 16 * second) / quickMs, topic)
      await pass(second, 50)
    }
    return between(postsBy('quick'), from, clock.monotonic())
  }

  test.each([
    ['urgent', 250, 9_900, 0],
    ['bulk', 250, 9_900, 0],
    ['bulk', 250, 3_000, 0],
    ['bulk', 100, 900, 5_000],
  ])(
    'keeps four fifths of its rate: topic %s, answers after %i and %i ms, %i ms later',
    async (topic, quickMs, slowMs, headStartMs) => {
      const without = await quickEnvelopes(topic, quickMs, slowMs, 0, headStartMs)
      const beside = await quickEnvelopes(topic, quickMs, slowMs, 1_500, headStartMs)
      expect(without).toBeGreaterThan(12 * 20 * (second / quickMs) * 0.9)
      expect(beside).toBeGreaterThanOrEqual(0.8 * without)
    },
  )

  /** @returns envelopes of the quick account in a minute, once every slow account was answered */
  async function quickEnvelopesOfFew(topic: string, concurrency: number, others: number) {
    const slow = Array.from({ length: 5 }, (_, i) => `slow${i}`)
    const accounts = { quick: 250, ...Object.fromEntries(slow.map(name => [name, 9_900])) }
    const { put, pass, clock, postsBy } = await startContest({ accounts, concurrency })
    if (others > 0) for (const account of slow) put(account, others, topic)
    await pass(50 * second, 100)
    const from = clock.monotonic()
    for (let i = 0; i < 60; i++) {
      put('quick', (2 * concurrency * second) / 250, topic)
      await pass(second, 50)
    }
    return between(postsBy('quick'), from, clock.monotonic())
  }

  test.each([
    ['urgent', 3],
    ['bulk', 3],
    ['bulk', 4],
    ['bulk', 7],
  ])(
    'keeps four fifths of its rate beside five slow ones: topic %s, %i requests at a time',
    async (topic, concurrency) => {
      const without = await quickEnvelopesOfFew(topic, concurrency, 0)
      expect(await quickEnvelopesOfFew(topic, concurrency, 300)).toBeGreaterThanOrEqual(0.8 * without)
    },
  )
})

describe('in the first minute of a process, a quick account beside dead ones that answer nothing', () => {
  /** @param commands of each dead account @returns envelopes of the quick account */
  async function quickEnvelopes(topic: string, concurrency: number, deadAccounts: number, commands: number) {
    const silent = Array.from({ length: deadAccounts }, (_, i) => `dead${i}`)
    const accounts = { ...Object.fromEntries(silent.map(name => [name, dead])), quick: 250 }
    const { put, pass, clock, postsBy } = await startContest({ accounts, concurrency, silent })
    const from = clock.monotonic()
    if (commands > 0) for (const account of silent) put(account, commands, topic)
    for (let i = 0; i < 60; i++) {
      put('quick', (2 * concurrency * second) / 250, topic)
      await pass(second, 50)
    }
    return between(postsBy('quick'), from, clock.monotonic())
  }

  test.each([
    ['bulk', 16, 5],
    ['bulk', 16, 20],
    ['urgent', 16, 20],
    ['bulk', 4, 5],
    ['bulk', 4, 20],
    ['urgent', 4, 20],
  ])(
    'keeps four fifths of its rate: topic %s, %i requests at a time, %i dead accounts',
    async (topic, concurrency, count) => {
      const without = await quickEnvelopes(topic, concurrency, count, 0)
      const beside = await quickEnvelopes(topic, concurrency, count, 300)
      expect(beside).toBeGreaterThanOrEqual(0.8 * without)
    },
  )
})

describe('an account that has something to send or to ask', () => {
  test.each([
    ['urgent', 16],
    ['bulk', 16],
    ['urgent', 3],
    ['bulk', 3],
  ])(
    'does not wait for 3,000 %s commands of a slow account, with %i requests at a time',
    async (topic, concurrency) => {
      const { put, pass, clock, postsBy } = await startContest({
        accounts: { slow: 9_900, other: 50 },
        maxOperations: 100,
        concurrency,
      })
      put('slow', 3_000, topic)
      await pass(25 * second, 100)
      put('other', 20, topic)
      const from = clock.monotonic()
      await pass(second)
      const [first] = postsBy('other')
      expect(first!.at - from).toBeLessThan(200)
      expect(first!.operations).toHaveLength(20)
    },
  )

  test('does not wait for commands of a slow account that fill the memory of their partition', async () => {
    const { put, pass, clock, postsBy, broker, encode } = await startContest({
      accounts: { slow: 9_900, other: 50 },
      maxOperations: 100,
    })
    put('slow', 6_000, 'urgent')
    const behind = { topic: 'urgent', partition: 0, key: null, value: encode({ id: 100_000n, account: 'other' }) }
    broker.append([behind], clock.now())
    await pass(8 * second, 100)
    expect(postsBy('other')).toHaveLength(1)
  })

  test('does not wait for more dead accounts than there are slots', async () => {
    const many = Array.from({ length: 40 }, (_, i) => `dead${i}`)
    const { put, pass, clock, postsBy } = await startContest({
      accounts: { quick: 50, ...Object.fromEntries(many.map(name => [name, dead])) },
    })
    put('quick', 2)
    await pass(second)
    for (const account of many) put(account, 20)
    await pass(200 * second, 500)
    put('quick', 2)
    const from = clock.monotonic()
    await pass(second)
    expect(between(postsBy('quick'), from, from + 200)).toBe(1)
  })

  test.each(['urgent', 'bulk'])('does not wait for %s commands of more slow accounts, if it is new', async topic => {
    const slow = Array.from({ length: 7 }, (_, i) => `slow${i}`)
    const accounts = { new: 50, ...Object.fromEntries(slow.map(name => [name, 9_900])) }
    const { put, pass, clock, postsBy } = await startContest({ accounts })
    for (const account of slow) put(account, 800, topic)
    await pass(10.5 * second, 100)
    const from = clock.monotonic()
    put('new', 2, topic)
    await pass(second)
    expect(between(postsBy('new'), from, from + 200)).toBe(1)
  })

  test.each([16, 3])(
    'polls its doubts when they are due, whatever a slow account sends: %i requests at a time',
    async concurrency => {
      const { put, pass, doubted, clock, postsBy } = await startContest({
        accounts: { slow: 9_900, other: 50 },
        maxOperations: 100,
        concurrency,
        doubts: { waitMs: 8_000 },
      })
      for (const topic of ['urgent', 'bulk']) put('slow', 3_000, topic)
      await pass(10 * second, 100)
      const from = clock.monotonic()
      doubted(100_000, { account: 'other' }, { account: 'other' })
      await pass(20 * second, 100)
      expect(postsBy('other', 'status')[0]!.at - from).toBeLessThan(timeoutMs + 8_000 + 500)
    },
  )

  test('waits no longer than one turn of the others, however slow, dead, silent or busy they are', async () => {
    const speed = fc.oneof(fc.constant(dead), fc.integer({ min: 10, max: dead - 1 }))
    const load = fc.record({
      ms: speed,
      isSilent: fc.boolean(),
      bursts: fc.array(
        fc.record({
          at: fc.integer({ min: 0, max: 60 }),
          count: fc.integer({ min: 1, max: 80 }),
          topic: fc.constantFrom('urgent', 'bulk', 'doubts'),
        }),
        { maxLength: 3 },
      ),
    })
    const loads = fc.array(load, { minLength: 2, maxLength: 12 })
    await fc.assert(
      fc.asyncProperty(loads, fc.integer({ min: 3, max: 20 }), async (loads, concurrency) => {
        const accounts = Object.fromEntries(loads.map(({ ms }, i) => [`account${i}`, ms]))
        const silent = loads.flatMap(({ ms, isSilent }, i) => (ms === dead && isSilent && i > 0 ? [`account${i}`] : []))
        const { put, doubted, pass, posts, clock, takes } = await startContest({
          accounts,
          silent,
          concurrency,
          doubts: { waitMs: 100 },
        })
        const start = clock.monotonic()
        const turn = timeoutMs * Math.ceil((3 * loads.length) / (concurrency - 1)) // two lanes and a poll each
        const firsts: { account: string; since: number }[] = []
        let doubt = 1_000_000
        for (let at = 0; at <= 60; at++) {
          for (const [i, { bursts }] of loads.entries()) {
            const account = `account${i}`
            for (const { count, topic } of bursts.filter(burst => burst.at === at)) {
              const isIdle = !posts.some(post => post.auth === account) && !firsts.some(one => one.account === account)
              const dueIn = topic === 'doubts' ? timeoutMs + 100 : 0
              if (isIdle) firsts.push({ account, since: clock.monotonic() + dueIn })
              if (topic === 'doubts') doubted(doubt++, { account }, { account })
              else put(account, count, topic)
            }
          }
          await pass(second, 250)
        }
        await pass(turn + timeoutMs + second, 500)
        for (const { account, since } of firsts.filter(({ account }) => !silent.includes(account))) {
          const first = posts.find(({ auth }) => auth === account)
          expect(first, account).toBeDefined()
          expect(first!.at - since, account).toBeLessThanOrEqual(turn + second)
        }
        expectNoMonopoly(posts, takes, concurrency, start)
      }),
      { numRuns: 10 },
    )
  })

  /** No account holds all slots, unless all others are slow: what these send waits no longer than one quick answer. */
  function expectNoMonopoly(posts: readonly Post[], takes: (post: Post) => number, concurrency: number, from: number) {
    const isQuick = (post: Post) => takes(post) <= timeoutMs / 10
    for (const { auth, at } of posts) {
      const inFlight = posts.filter(post => post.at >= from && post.at <= at && post.at + takes(post) > at)
      expect(inFlight.length).toBeLessThanOrEqual(concurrency)
      const own = inFlight.filter(post => post.auth === auth)
      const isAmongSlow = own.every(isQuick) && posts.every(post => post.auth === auth || !isQuick(post))
      if (!isAmongSlow) expect(own.length).toBeLessThan(concurrency)
    }
  }
})

test('a single account uses all slots, however slow it is', async () => {
  const { pass, put, gauge } = await startSendingWorld({
    accounts: alone,
    gateway: { maxOperations: 2, concurrency: 16, timeoutMs },
    takes: () => 9_900,
  })
  for (const topic of ['urgent', 'bulk']) put(topic, commandsFrom(topic === 'urgent' ? 1 : 1_000, 100))
  await pass(second)
  expect(gauge('requests_in_flight')).toBe(16)
})

describe('requests that a busy account may have in flight', () => {
  /** @returns the most requests of `busy` at once, while the others' requests run */
  async function mostOfBusy(busyMs: number, topic: string, concurrency: number, others: Record<string, number>) {
    const { put, pass, clock, postsBy, takes } = await startContest({
      accounts: { ...others, busy: busyMs },
      concurrency,
    })
    put('busy', 2)
    await pass(timeoutMs, 100)
    for (const account of Object.keys(others)) if (!account.startsWith('idle')) put(account, 200)
    await pass(2 * second, 100)
    const from = clock.monotonic()
    put('busy', 1_000, topic)
    await pass(5 * second, 100)
    const posts = postsBy('busy').filter(({ at }) => at >= from)
    const atOnce = posts.map(({ at }) => posts.filter(post => post.at <= at && post.at + takes(post) > at).length)
    return Math.max(...atOnce)
  }

  test.each([
    [2, 'urgent', { idle: 10 }, 2],
    [3, 'bulk', { idle: 10 }, 1],
    [16, 'bulk', { idle: 10 }, 14],
    [16, 'bulk', { idle: 10, idle2: 10, idle3: 10 }, 13],
    [16, 'bulk', { idle: 10, slow: 9_900, slow2: 9_900 }, 12],
  ])('of %i, if it is quick: topic %s, beside %j, %i', async (concurrency, topic, others, most) => {
    expect(await mostOfBusy(250, topic, concurrency, others)).toBe(most)
  })
  test.each([
    [16, { idle: 10 }, 7],
    [4, { idle: 10 }, 1],
  ])('of %i, if it is slow: beside %j, %i', async (concurrency, others, most) => {
    expect(await mostOfBusy(2_000, 'bulk', concurrency, others)).toBe(most)
  })

  test('of 16, if it is slow: one while another was quick within two time-outs, and seven after that', async () => {
    const { put, pass, gauge } = await startContest({ accounts: { quick: 10, slow: 2_000 } })
    for (const account of ['quick', 'slow']) put(account, 2)
    await pass(3 * second, 100)
    put('slow', 1_000)
    await pass(10 * second, 100)
    expect(gauge('requests_in_flight')).toBe(1)
    await pass(2 * timeoutMs, 100)
    expect(gauge('requests_in_flight')).toBe(7)
  })
})
