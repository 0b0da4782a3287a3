import { describe, expect, test } from 'vitest'
import type { Answer } from '../../src/gateway/connection.ts'
import { answered, itemsAnswer, refusedItem, sentItem } from '../support/answers.ts'
import { buildCommand, buildCommandOf, commandsFrom } from '../support/commands.ts'
import { buildPause } from '../support/control.ts'
import { type Post, type SendingOptions, startSendingWorld } from '../support/sending.ts'

const tooFast = answered('', { status: 429 })

/** An answer that throttles some operations and accepts the others. */
const throttle = (ids: readonly number[], isThrottled: (id: number, i: number) => boolean): Answer =>
  itemsAnswer(...ids.map((id, i) => (isThrottled(id, i) ? refusedItem(id, 'Too many requests') : sentItem(id))))

const aSecondBefore = (at: number) => at - 1_000
const startOfMinute = (at: number) => Math.floor(at / 60_000) * 60_000 - 1

/**
 * Starts a gateway that accepts `limit` operations in a period, and throttles the rest item by item or with HTTP 429.
 * @param since the beginning of the period that ends at a time
 */
async function startThrottling(
  limit: number,
  how: 'items' | 'HTTP 429',
  options: SendingOptions = {},
  since = aSecondBefore,
) {
  const passed: { at: number; count: number }[] = []
  let throttled = 0
  const answer = (_: unknown, { ids, at }: Post): Answer => {
    const used = passed.filter(one => one.at > since(at)).reduce((sum, { count }) => sum + count, 0)
    const room = Math.max(0, limit - used)
    const whole = how === 'HTTP 429' && room < ids.length
    const count = whole ? 0 : Math.min(ids.length, room)
    passed.push({ at, count })
    throttled += ids.length - count
    return whole ? tooFast : throttle(ids, (_, i) => i >= count)
  }
  const sending = await startSendingWorld({ answer, ...options })
  return {
    ...sending,
    passedIn: (from: number, to: number) =>
      passed.filter(({ at }) => at >= from && at < to).reduce((sum, { count }) => sum + count, 0),
    takeThrottled: () => {
      const before = throttled
      throttled = 0
      return before
    },
  }
}

/** Sends commands for 30 s, and counts those that pass and those that are throttled in the last 20 s. */
async function measureSteadyState(sending: Awaited<ReturnType<typeof startThrottling>>, count: number) {
  const { clock, put, pass, passedIn, takeThrottled } = sending
  put('bulk', commandsFrom(1, count))
  await pass(10_000)
  takeThrottled()
  const from = clock.monotonic()
  await pass(20_000)
  return { passed: passedIn(from, clock.monotonic()), throttled: takeThrottled() }
}

describe('an account that the gateway throttles', () => {
  test.each([
    [200, 'items', 'no configured rate', undefined],
    [200, 'HTTP 429', 'no configured rate', undefined],
    [50, 'items', 'a higher configured rate', 400],
  ] as const)(
    'sends at about the rate that passes: %d a second, throttled by %s, with %s',
    async (limit, how, _, rate) => {
      const sending = await startThrottling(limit, how, { accounts: { default: rate } })
      const { passed, throttled } = await measureSteadyState(sending, 40 * limit)
      expect(passed / 20).toBeGreaterThan(0.6 * limit)
      expect(throttled).toBeLessThan(0.15 * passed)
      const learnt = sending.gauge('rate_learnt_per_second')
      expect(learnt).toBeGreaterThan(0.25 * limit)
      expect(learnt).toBeLessThan(2 * limit)
    },
  )

  test.each(['items', 'HTTP 429'] as const)(
    'sends what passes in a minute if the gateway counts by the minute: throttled by %s',
    async how => {
      const sending = await startThrottling(3_000, how, {}, startOfMinute)
      const { clock, put, pass, passedIn, takeThrottled } = sending
      put('bulk', commandsFrom(1, 8_000))
      await pass(2 * 60_000, 250)
      takeThrottled()
      const from = clock.monotonic()
      for (let minute = 1; minute <= 4; minute++) {
        put('bulk', commandsFrom(8_000 * minute + 1, 3_000))
        await pass(60_000, 250)
      }
      expect(passedIn(from, clock.monotonic())).toBeGreaterThan(0.9 * 4 * 3_000)
      expect(takeThrottled()).toBeLessThan(0.25 * 4 * 3_000)
    },
  )

  test('sends at its configured rate if that is lower, and learns no other', async () => {
    const { put, pass, takeThrottled, gauge, sent } = await startThrottling(200, 'items', {
      accounts: { default: 100 },
    })
    put('bulk', commandsFrom(1, 1_000))
    await pass(15_000)
    expect(sent('default')).toHaveLength(1_000)
    expect(takeThrottled()).toBe(0)
    expect(gauge('rate_learnt_per_second')).toBe(0)
  })

  test('sends at full speed two minutes after the gateway has stopped throttling', async () => {
    let limit = 50
    const sending = await startThrottling(0, 'items', {
      answer: (_, { ids }) => {
        if (limit === 0) return null
        limit--
        return throttle(ids, () => true)
      },
    })
    const { put, pass, gauge, posts } = sending
    put('bulk', commandsFrom(1, 300))
    await pass(2_000)
    expect([...sending.sending.state().learnt]).toEqual([['default', gauge('rate_learnt_per_second')]])
    limit = 0
    await pass(150_000, 50)
    expect(gauge('rate_learnt_per_second')).toBe(0)
    expect([...sending.sending.state().learnt]).toEqual([])
    const before = posts.length
    put('bulk', commandsFrom(10_001, 2_000))
    await pass(2_000)
    expect(posts.slice(before).flatMap(({ ids }) => ids)).toHaveLength(2_000)
  })
})

test.each([2, 10, 50])(
  'a gateway that refuses envelopes larger than its rate gets smaller ones: %i a second',
  async limit => {
    const { put, pass, passedIn } = await startThrottling(limit, 'HTTP 429')
    put('bulk', commandsFrom(1, 2_000))
    await pass(3 * 60_000, 100)
    expect(passedIn(0, 3 * 60_000)).toBeGreaterThan(30 * limit)
  },
)

test('a single refusal while few commands come does not slow an account down', async () => {
  let isStray = false
  const { put, pass, posts } = await startSendingWorld({
    answer: (_, { ids }) => {
      const answer = isStray ? tooFast : itemsAnswer(...ids.map(id => sentItem(id)))
      isStray = false
      return answer
    },
  })
  isStray = true
  put('bulk', commandsFrom(1, 1))
  await pass(2_000)
  put('bulk', commandsFrom(2, 3_000))
  await pass(2_000)
  expect(posts.flatMap(({ ids }) => ids)).toHaveLength(3_002)
})

test('a gateway that limits requests instead of operations gets full envelopes', async () => {
  const requests: number[] = []
  const { put, pass, posts } = await startSendingWorld({
    answer: (_, { ids, at }) => {
      if (requests.filter(one => one > at - 1_000).length >= 5) return tooFast
      requests.push(at)
      return itemsAnswer(...ids.map(id => sentItem(id)))
    },
  })
  put('bulk', commandsFrom(1, 6_000))
  await pass(20_000, 50)
  const sizes = posts.slice(-20).map(({ ids }) => ids.length)
  expect(sizes.reduce((sum, size) => sum + size, 0) / sizes.length).toBeGreaterThan(50)
})

describe('a recipient that the gateway throttles at any rate of the account', () => {
  test('does not stop other recipients, although it is retried alone', async () => {
    const answer = (_: unknown, { ids }: Post) => throttle(ids, id => id === 7)
    const { put, pass, results } = await startSendingWorld({ answer, partitions: 2 })
    put('bulk', [buildCommandOf('call/otp', { id: 7n })], 0)
    await pass(1_000)
    for (let i = 0; i < 60; i++) {
      put('bulk', commandsFrom(1_000 + i * 100, 100), 1)
      await pass(1_000, 50)
    }
    expect(results().length).toBeGreaterThan(5_800)
  })

  test('does not slow the others down, even if a tenth of all recipients is throttled', async () => {
    const part = 0.1
    const answer = (_: unknown, { ids }: Post) => throttle(ids, id => id % 100 < part * 100)
    const { put, pass, results } = await startSendingWorld({ answer })
    put('bulk', commandsFrom(1, 4_000))
    await pass(20_000, 50)
    expect(results()).toHaveLength(4_000 * (1 - part))
  })

  /** Starts a gateway that throttles each id that is divisible by 100, `times` times. */
  async function startThrottlingSome(times: number) {
    const tries = new Map<number, number[]>()
    const answer = (_: unknown, { ids, at }: Post) => {
      for (const id of ids) tries.set(id, [...(tries.get(id) ?? []), at])
      return throttle(ids, id => id % 100 === 0 && tries.get(id)!.length <= times)
    }
    return { ...(await startSendingWorld({ answer })), tries }
  }

  test('does not slow the others down, and gets its message a second later', async () => {
    const { put, pass, results, tries, gauge } = await startThrottlingSome(1)
    put('bulk', commandsFrom(1, 3_000))
    await pass(3_000)
    const sent = results().filter(({ outcome }) => outcome === 'SENT')
    expect(sent).toHaveLength(3_000)
    expect(gauge('rate_learnt_per_second')).toBe(0)
    for (let id = 100; id <= 3_000; id += 100) {
      const [first, second] = tries.get(id)!
      expect(second! - first!).toBeGreaterThanOrEqual(1_000)
    }
  })

  test('is retried less and less often', async () => {
    const { put, pass, results, tries } = await startThrottlingSome(Number.POSITIVE_INFINITY)
    put('bulk', commandsFrom(1, 200))
    await pass(5 * 60_000, 500)
    expect(results()).toHaveLength(198)
    expect(tries.get(100)!.length).toBeGreaterThan(10)
    expect(tries.get(100)!.length).toBeLessThan(25)
  })

  test('is not retried during a pause, and its command expires in time', async () => {
    const { clock, put, pass, control, results, tries } = await startThrottlingSome(Number.POSITIVE_INFINITY)
    put('bulk', commandsFrom(1, 99))
    put('bulk', [buildCommand({ id: 100n, deadline: clock.now() + 20_000 })])
    await pass(3_000)
    const before = tries.get(100)!.length
    control(buildPause())
    await pass(15_000)
    expect(tries.get(100)).toHaveLength(before)
    await pass(10_000)
    expect(results().filter(({ id }) => id === 100n)).toMatchObject([{ outcome: 'EXPIRED' }])
  })
})
