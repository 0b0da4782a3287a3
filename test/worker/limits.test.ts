import { describe, expect, test } from 'vitest'
import type { SendType } from '../../src/protocol/index.ts'
import { buildCommandOf } from '../support/commands.ts'
import { startSendingWorld } from '../support/sending.ts'

const phones = { UA: 380501234567, PL: 48501234567, LK: 94711234567, US: 12125551234, CA: 14165551234 }
/** Of a satellite network, and with digits that no country has. */
const stateless = [883510000123, 999123456789]

test('a command with a time further ahead than commands.horizonMs is INVALID, and does not use its id', async () => {
  const day = 24 * 3_600_000
  const world = await startSendingWorld({ settings: { commands: { horizonMs: 2 * day } } })
  world.send(1, { notBefore: world.clock.now() + 3 * day })
  await world.pass(1_000)
  world.send(1)
  await world.pass(1_000)
  expect(world.results().map(({ outcome, error }) => [outcome, error])).toEqual([
    ['INVALID', 'notBefore must be at most 2 days ahead (commands.horizonMs)'],
    ['SENT', null],
  ])
})

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

/** Two parts, because of one character. */
const curly = `${'a'.repeat(89)}’${'b'.repeat(10)}`
const straight = curly.replace('’', "'")
const why =
  'must fit into 1 SMS part (gateway.maxParts); it needs 2, because its character 90 (U+2019) is not in GSM-7, so a part holds less than half as much'

/** Fields with a text, of each type that sends SMS. */
const texts: [SendType, (text: string) => Record<string, unknown>, string][] = [
  ['sms', sms_message => ({ sms_message }), 'sms_message'],
  ['viber+sms', sms_message => ({ sms_message }), 'sms_message'],
  ['rcs+sms', sms_message => ({ sms_message }), 'sms_message'],
  ['rcs+viber+sms', sms_message => ({ sms_message }), 'sms_message'],
  ['pipeline', message => ({ pipeline: ['viber', 'sms'], sms: { message, signature: 'Shop' } }), 'sms.message'],
]

describe('with gateway.maxParts', () => {
  test.each(texts)('%s whose SMS needs more is INVALID and says why, without its text', async (type, fields, field) => {
    const world = await startSendingWorld({ gateway: { maxParts: 1 } })
    const of = (id: bigint, text: string) => buildCommandOf(type, { id }, fields(text))
    world.put('bulk', [of(1n, curly), of(2n, straight), of(3n, 'a'.repeat(161)), of(4n, 'a'.repeat(160))])
    await world.pass(1_000)
    expect(world.posts.flatMap(({ ids }) => ids)).toEqual([2, 4])
    expect(world.results().filter(({ outcome }) => outcome === 'INVALID')).toMatchObject([
      { id: 1n, errorCode: 'PARTS', error: `${field} ${why}` },
      { id: 3n, errorCode: 'PARTS', error: `${field} must fit into 1 SMS part (gateway.maxParts); it needs 2` },
    ])
  })

  test('a message that no SMS stage sends is as long as it likes', async () => {
    const world = await startSendingWorld({ gateway: { maxParts: 1 } })
    const unlisted = { pipeline: ['viber'], sms: { message: curly, signature: 'Shop' } }
    world.put('bulk', [
      buildCommandOf('viber', { id: 1n }, { viber_message: curly }),
      buildCommandOf('rcs+sms', { id: 2n }, { rcs_message: curly }),
      buildCommandOf('telegram', { id: 3n }),
      buildCommandOf('call/otp', { id: 4n }),
      buildCommandOf('hlr', { id: 5n }),
      buildCommandOf('voice', { id: 6n }),
      buildCommandOf('pipeline', { id: 7n }, unlisted),
    ])
    await world.pass(2_000)
    expect(world.results().map(({ outcome }) => outcome)).toEqual(Array(7).fill('SENT'))
  })

  test('an SMS stage that extra adds to a pipeline counts, too', async () => {
    const world = await startSendingWorld({ gateway: { maxParts: 1 } })
    const sms = JSON.stringify({ message: curly, signature: 'Shop' })
    world.put('bulk', [
      buildCommandOf('pipeline', { id: 1n, extra: { sms } }, { pipeline: ['viber', 'sms'], sms: null }),
    ])
    await world.pass(1_000)
    expect(world.results()).toMatchObject([{ outcome: 'INVALID', errorCode: 'PARTS' }])
  })

  test('the limit of an account replaces the general one', async () => {
    const world = await startSendingWorld({ gateway: { maxParts: 1 }, own: { other: { maxParts: 2 } } })
    const of = (id: bigint, account: string, length: number) =>
      buildCommandOf('sms', { id, account }, { sms_message: 'я'.repeat(length) })
    world.put('bulk', [of(1n, 'default', 71), of(2n, 'other', 134), of(3n, 'other', 135)])
    await world.pass(1_000)
    expect(world.posts.flatMap(({ ids }) => ids)).toEqual([2])
    expect(world.results().find(({ id }) => id === 3n)!.error).toContain(
      'must fit into 2 SMS parts (gateway.accounts.other.maxParts); it needs 3, because its character 1 (U+044F) is not',
    )
  })

  test('a doubt is never judged: it is sent again if its policy says so', async () => {
    const world = await startSendingWorld({
      settings: { gateway: { timeoutMs: 100, maxParts: 1 }, doubts: { waitMs: 100, polls: 1 } },
    })
    const { message } = buildCommandOf('sms', {}, { sms_message: curly })
    world.doubted(1, {}, { message, delivery: 'AT_LEAST_ONCE' })
    await world.pass(10_000)
    expect(world.results()).toMatchObject([{ id: 1n, outcome: 'SENT' }])
    expect(world.postsOf(1)).toBe(1)
  })
})

test('without gateway.maxParts, an SMS of any length is sent', async () => {
  const world = await startSendingWorld()
  world.put('bulk', [buildCommandOf('sms', { id: 1n }, { sms_message: 'я'.repeat(5_000) })])
  await world.pass(1_000)
  expect(world.sent('default')).toEqual([1])
})
