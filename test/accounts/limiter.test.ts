import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type Grant, RateLimiter } from '../../src/accounts/limiter.ts'

/** A limiter whose share took effect long ago. */
function limiterOf(rate: number, share = 1): RateLimiter {
  const limiter = new RateLimiter(rate)
  limiter.setShare(share, -1_000_000)
  return limiter
}

/** Gets a grant, sends, and gets the answer, all at the same time. */
function send(limiter: RateLimiter, operations: number, now: number): Grant {
  const grant = limiter.grant(operations)
  grant.sentAt = now
  limiter.answered(grant, now)
  return grant
}

interface Sent {
  grantedAt: number
  at: number
  operations: number
}

/** The largest number of operations sent in any second. */
const mostInASecond = (sent: readonly Sent[]) =>
  Math.max(
    0,
    ...sent.map(({ at }) =>
      sent.reduce((sum, other) => (other.at > at - 1000 && other.at <= at ? sum + other.operations : sum), 0),
    ),
  )

describe('a rate', () => {
  test('is used up by the operations sent in the last second', () => {
    const limiter = limiterOf(10)
    send(limiter, 4, 0)
    send(limiter, 6, 300)
    expect(limiter.available(300)).toBe(0)
    expect(limiter.wait(300)).toBe(720)
    expect(limiter.available(1019)).toBe(0)
    expect(limiter.available(1020)).toBe(4)
    expect(limiter.wait(1020)).toBe(0)
    expect(limiter.available(1320)).toBe(10)
  })

  test('is given back at once, and once only, for a request that was not sent', () => {
    const limiter = limiterOf(10)
    const grant = limiter.grant(7)
    limiter.giveBack(grant)
    limiter.giveBack(grant)
    expect(limiter.available(0)).toBe(10)
  })

  test('is given back later if the answer was late, because the gateway may have counted the request later', () => {
    const limiter = limiterOf(10)
    const sendFor = (took: number, sentAt: number) => {
      const grant = limiter.grant(10)
      grant.sentAt = sentAt
      limiter.answered(grant, sentAt + took)
    }
    for (let sentAt = -600_000; sentAt < 0; sentAt += 2_000) sendFor(50, sentAt)
    expect(limiter.available(0)).toBe(10)
    sendFor(450, 0)
    expect(limiter.available(1_020 + 350)).toBe(0)
    expect(limiter.available(1_020 + 400)).toBe(10)
  })

  test.each([
    [2.5, 1, 2],
    [10, 0.25, 2],
    [100, 0.29, 29],
    [0.3, 10 / 3, 1],
    [100, 0, 0],
  ])('of %d with a share of %d allows a burst of %d', (rate, share, most) => {
    expect(limiterOf(rate, share).available(0)).toBe(most)
  })

  test('below one a second allows one request every 1/rate seconds', () => {
    const limiter = limiterOf(1, 0.25)
    send(limiter, 1, 0)
    expect(limiter.available(4_019)).toBe(0)
    expect(limiter.wait(0)).toBe(4_020)
    expect(limiter.available(4_020)).toBe(1)
  })

  test('reports its headroom, from 1 to 0', () => {
    const limiter = limiterOf(8)
    expect(limiter.headroom(0)).toBe(1)
    send(limiter, 6, 0)
    expect(limiter.headroom(0)).toBe(0.25)
    expect(limiterOf(8, 0).headroom(0)).toBe(0)
  })
})

describe('a share of the rate', () => {
  test('that is set again takes effect after one second, not later', () => {
    const limiter = limiterOf(100, 0.25)
    for (let now = 0; now <= 1_000; now += 100) limiter.setShare(0.5, now)
    expect(limiter.available(1_020)).toBe(50)
  })

  test('of zero says after which time it will allow a request', () => {
    const limiter = new RateLimiter(10)
    limiter.setShare(1, 0)
    expect([limiter.available(0), limiter.wait(0), limiter.available(1_020)]).toEqual([0, 1_020, 10])
  })

  test('wakes its sender when it grows', () => {
    const limiter = limiterOf(1, 0.1)
    send(limiter, 1, 0)
    limiter.setShare(1, 100)
    expect(limiter.wait(100)).toBe(1_020)
    expect(limiter.available(1_120)).toBe(1)
  })
})

describe('for any pattern of requests', () => {
  const step = fc.record({
    dt: fc.oneof(fc.nat({ max: 30 }), fc.nat({ max: 1_200 })),
    act: fc.constantFrom('grant', 'grant', 'grant', 'begin', 'begin', 'answer', 'give back', 'share'),
    part: fc.double({ min: 0, max: 1, noNaN: true }),
  })

  test('no second exceeds the rate times the share', () => {
    const rates = fc.oneof(fc.integer({ min: 1, max: 200 }), fc.double({ min: 0.2, max: 20, noNaN: true }))
    fc.assert(
      fc.property(rates, fc.array(step, { maxLength: 120 }), (rate, steps) => {
        const limiter = limiterOf(rate)
        const open: { grant: Grant; grantedAt: number }[] = []
        const answering: Grant[] = []
        const sent: Sent[] = []
        const shares = [{ at: Number.NEGATIVE_INFINITY, share: 1 }]
        let now = 0
        for (const { dt, act, part } of steps) {
          now += dt
          const one = Math.floor(part * open.length)
          if (act === 'grant') {
            const operations = Math.ceil(part * limiter.available(now))
            if (operations > 0) open.push({ grant: limiter.grant(operations), grantedAt: now })
          } else if (act === 'begin' && open[one]) {
            const [{ grant, grantedAt }] = open.splice(one, 1) as [(typeof open)[0]]
            grant.sentAt = now
            answering.push(grant)
            sent.push({ grantedAt, at: now, operations: grant.operations })
          } else if (act === 'give back' && open[one]) {
            limiter.giveBack(open.splice(one, 1)[0]!.grant)
          } else if (act === 'answer') {
            const grant = answering.shift()
            if (grant) limiter.answered(grant, now)
          } else if (act === 'share') {
            limiter.setShare(part, now)
            shares.push({ at: now, share: part })
          }
        }
        for (const { at } of sent) {
          const inTheSecond = sent.filter(other => other.at > at - 1000 && other.at <= at)
          const from = Math.min(...inTheSecond.map(({ grantedAt }) => grantedAt))
          const before = shares.findLast(share => share.at < from)!
          const inForce = shares.filter(share => share === before || (share.at >= from && share.at <= at))
          const most = Math.max(...inForce.map(({ share }) => share * rate))
          const sum = inTheSecond.reduce((sum, { operations }) => sum + operations, 0)
          expect(sum).toBeLessThanOrEqual(Math.max(1, most + 1e-6))
        }
      }),
      { numRuns: 500 },
    )
  })

  test('a fleet whose partitions move between its workers stays below the rate', () => {
    const partitions = 4
    const fleetStep = fc.record({
      dt: fc.nat({ max: 400 }),
      act: fc.constantFrom('send', 'send', 'send', 'send', 'rebalance'),
      worker: fc.nat({ max: 2 }),
      part: fc.double({ min: 0.1, max: 1, noNaN: true }),
      owners: fc.tuple(...Array.from({ length: partitions }, () => fc.nat({ max: 2 }))),
    })
    const rates = fc.integer({ min: partitions, max: 100 })
    fc.assert(
      fc.property(rates, fc.array(fleetStep, { maxLength: 100 }), (rate, steps) => {
        const fleet = [new RateLimiter(rate), new RateLimiter(rate), new RateLimiter(rate)]
        const sent: Sent[] = []
        let now = 0
        for (const { dt, act, worker, part, owners } of steps) {
          now += dt
          const limiter = fleet[worker]!
          if (act === 'rebalance') {
            for (const [i, of] of fleet.entries()) {
              of.setShare(owners.filter(owner => owner === i).length / partitions, now)
            }
          } else {
            const operations = Math.ceil(part * limiter.available(now))
            if (operations === 0) continue
            send(limiter, operations, now)
            sent.push({ grantedAt: now, at: now, operations })
          }
        }
        expect(mostInASecond(sent)).toBeLessThanOrEqual(rate)
      }),
      { numRuns: 500 },
    )
  })

  test('a backlog gets nearly the whole rate', () => {
    const delays = fc.record({ intent: fc.nat({ max: 30 }), answer: fc.nat({ max: 100 }) })
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 500 }), fc.integer({ min: 1, max: 100 }), delays, (rate, most, delays) => {
        const limiter = limiterOf(rate)
        const due: { at: number; act: () => void }[] = []
        const sent: Sent[] = []
        const total = 20_000
        for (let now = 0, wakes = 0; now < total; wakes++) {
          expect(wakes).toBeLessThan(total) // it does not busy-poll
          for (const { act } of due.filter(({ at }) => at <= now)) act()
          due.splice(0, due.length, ...due.filter(({ at }) => at > now))
          const operations = Math.min(most, limiter.available(now))
          if (operations > 0) {
            const grant = limiter.grant(operations)
            const at = now + delays.intent
            due.push({
              at,
              act: () => {
                grant.sentAt = at
                sent.push({ grantedAt: now, at, operations })
              },
            })
            due.push({ at: at + delays.answer, act: () => limiter.answered(grant, at + delays.answer) })
          }
          now += operations > 0 ? 1 : Math.ceil(limiter.wait(now))
        }
        for (const { at, act } of due) if (at <= total) act()
        const sum = sent.reduce((sum, { operations }) => sum + operations, 0)
        expect(sum).toBeGreaterThanOrEqual(0.9 * rate * (total / 1000 - 1))
        expect(mostInASecond(sent)).toBeLessThanOrEqual(rate)
      }),
      { numRuns: 30 },
    )
  })
})
