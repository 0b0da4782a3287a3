import { describe, expect, test } from 'vitest'
import { startSendingWorld } from '../support/sending.ts'

const phones = { UA: 380501234567, PL: 48501234567, LK: 94711234567, US: 12125551234, CA: 14165551234 }
/** Of a satellite network, and with digits that no country has. */
const stateless = [883510000123, 999123456789]

describe('with gateway.countries, a command', () => {
  test('to another country, or to none that is known, is INVALID and never POSTed; the others are sent', async () => {
    const world = await startSendingWorld({ gateway: { countries: 'UA,US' } })
    const all = [...Object.values(phones), ...stateless]
    for (const [i, phone] of all.entries()) world.send(i + 1, { phone })
    await world.pass(1_000)
    expect(world.posts.flatMap(({ ids }) => ids)).toEqual([1, 4])
    const refused = world.results().filter(({ outcome }) => outcome !== 'SENT')
    expect(refused.map(({ id, outcome, errorCode, error }) => [id, outcome, errorCode, error])).toEqual([
      [2n, 'INVALID', 'COUNTRY', 'phone must be of a country in gateway.countries; it is of PL'],
      [3n, 'INVALID', 'COUNTRY', 'phone must be of a country in gateway.countries; it is of LK'],
      [5n, 'INVALID', 'COUNTRY', 'phone must be of a country in gateway.countries; it is of CA'],
      [6n, 'INVALID', 'COUNTRY', 'phone must be of a country in gateway.countries; its country is unknown'],
      [7n, 'INVALID', 'COUNTRY', 'phone must be of a country in gateway.countries; its country is unknown'],
    ])
  })

  test('of an account with its own list is judged by that list alone', async () => {
    const world = await startSendingWorld({
      gateway: { countries: 'UA' },
      own: { other: { countries: 'PL' } },
    })
    world.send(1, { phone: phones.UA, account: 'other' })
    world.send(2, { phone: phones.PL, account: 'other' })
    world.send(3, { phone: phones.UA })
    world.send(4, { phone: phones.PL })
    await world.pass(1_000)
    expect([world.sent('other'), world.sent('default')]).toEqual([[2], [3]])
    expect(world.results().find(({ id }) => id === 1n)!.error).toBe(
      'phone must be of a country in gateway.accounts.other.countries; it is of UA',
    )
  })

  test('that is refused does not use its id: with a right phone, the same id is sent', async () => {
    const world = await startSendingWorld({ gateway: { countries: 'UA' } })
    world.send(1, { phone: phones.LK })
    await world.pass(1_000)
    world.send(1)
    await world.pass(1_000)
    expect(world.results().map(({ outcome }) => outcome)).toEqual(['INVALID', 'SENT'])
  })
})

test('without gateway.countries, every number is sent, also one without a country', async () => {
  const world = await startSendingWorld()
  for (const [i, phone] of [...Object.values(phones), ...stateless].entries()) world.send(i + 1, { phone })
  await world.pass(1_000)
  expect(world.sent('default')).toEqual([1, 2, 3, 4, 5, 6, 7])
})

test('refused commands are counted by account and country', async () => {
  const world = await startSendingWorld({ gateway: { countries: 'UA' } })
  const counted: unknown[] = []
  world.telemetry.on('country.refused', ({ account, country, count }) => counted.push([account, country, count]))
  for (const id of [1, 2, 3]) world.send(id, { phone: phones.LK })
  world.send(4, { phone: phones.PL, account: 'other' })
  world.send(5, { phone: stateless[0]! })
  await world.pass(1_000)
  expect(counted).toEqual(
    expect.arrayContaining([
      ['default', 'LK', 3],
      ['other', 'PL', 1],
      ['default', null, 1],
    ]),
  )
})

test('a doubt is never judged by gateway.countries: it is resolved, and sent again if its policy says so', async () => {
  const world = await startSendingWorld({
    settings: { gateway: { timeoutMs: 100, countries: 'UA' }, doubts: { waitMs: 100, polls: 1 } },
  })
  world.doubted(1, {}, { phone: phones.LK, delivery: 'AT_LEAST_ONCE' })
  world.send(2, { phone: phones.LK })
  await world.pass(10_000)
  expect([world.postsOf(1), world.postsOf(2)]).toEqual([1, 0])
  const ends = world.results().map(({ id, outcome, errorCode }) => [id, outcome, errorCode])
  expect(ends).toEqual([
    [2n, 'INVALID', 'COUNTRY'],
    [1n, 'SENT', null],
  ])
})
