import { describe, expect, test } from 'vitest'
import { commandsFrom } from '../support/commands.ts'
import { numbersFrom, sorted, startSendingWorld } from '../support/sending.ts'

describe('commands of an account whose key is denied', () => {
  test.each([1, 64])('do not delay another account: %i partitions', async partitions => {
    const { put, pass, denied, sent } = await startSendingWorld({ partitions })
    denied.add('other')
    put('bulk', commandsFrom(1, 8_000, { account: 'other' }))
    put('bulk', commandsFrom(10_001, 100, { account: 'default' }))
    await pass(2_000)
    expect(sent('default')).toEqual(numbersFrom(10_001, 100))
  })

  test.each([
    [1, 10],
    [64, 60],
  ])('are all sent once when the key is accepted again: %i partitions', async (partitions, seconds) => {
    const { put, pass, denied, sent, results, gauge } = await startSendingWorld({ partitions })
    denied.add('other')
    put('bulk', commandsFrom(1, 5_000, { account: 'other' }))
    await pass(6_000)
    expect(gauge('oldest_unsent_command_age_seconds', 'bulk')).toBeGreaterThan(5)
    denied.clear()
    put('bulk', commandsFrom(5_001, 100, { account: 'other' }))
    await pass(seconds * 1_000)
    expect(sorted(sent('other'))).toEqual(numbersFrom(1, 5_100))
    expect(results().map(({ outcome }) => outcome)).toEqual(Array(5_100).fill('SENT'))
    expect(gauge('window_used_ratio', 'bulk')).toBe(0)
    expect(gauge('oldest_unsent_command_age_seconds', 'bulk')).toBe(0)
  })

  test('are sent by the next probe after a key change, however long the key was refused', async () => {
    const { put, pass, denied, keys, sent, posts } = await startSendingWorld()
    denied.add('other')
    put('bulk', commandsFrom(1, 10, { account: 'other' }))
    await pass(120_000)
    expect(posts.length).toBeLessThan(15)
    keys.set('other', 'right')
    await pass(30_000)
    expect(sent('right')).toEqual(numbersFrom(1, 10))
  })

  test('end EXPIRED within ten seconds of their deadline or maximum age, even if they are shelved', async () => {
    const { clock, put, pass, denied, results } = await startSendingWorld({
      settings: { commands: { maxAgeMs: 60_000 } },
    })
    denied.add('other')
    put('bulk', commandsFrom(1, 4_000, { account: 'other' }))
    put('bulk', commandsFrom(4_001, 1_000, { account: 'other', deadline: clock.now() + 30_000 }))
    await pass(30_000)
    expect(results()).toEqual([])
    await pass(10_000)
    expect(results().map(({ errorCode }) => errorCode)).toEqual(Array(1_000).fill('DEADLINE'))
    await pass(30_000)
    expect(results().filter(({ errorCode }) => errorCode === 'MAX_AGE').length).toBeGreaterThanOrEqual(3_000)
  })

  test('do not end DUPLICATE when they are read again from Kafka; repeated commands do', async () => {
    const { put, pass, denied, sent, results } = await startSendingWorld()
    denied.add('other')
    put('bulk', commandsFrom(1, 4_500, { account: 'other' }))
    put('bulk', commandsFrom(4_400, 100, { account: 'other' }))
    await pass(2_000)
    denied.clear()
    await pass(10_000)
    expect(new Set(sent('other')).size).toBe(4_500)
    const outcomes = results().map(({ outcome }) => outcome)
    expect(outcomes.filter(outcome => outcome === 'SENT')).toHaveLength(4_500)
    expect(outcomes.filter(outcome => outcome === 'DUPLICATE')).toHaveLength(100)
  })
})

test('an account with a backlog does not block another account on its partition', async () => {
  const { put, pass, sent } = await startSendingWorld({ gateway: { maxOperations: 10 }, takes: () => 1_000 })
  put('bulk', commandsFrom(1, 3_000, { account: 'other' }))
  put('bulk', commandsFrom(10_001, 100, { account: 'default' }))
  await pass(10_000)
  expect(sent('default')).toEqual(numbersFrom(10_001, 100))
})

describe('an account at its rate', () => {
  test('does not block another one, uses its whole rate, and has few of its commands read again', async () => {
    const fetched: number[] = []
    const accounts = { default: undefined, other: 50 }
    const { put, pass, sent, broker } = await startSendingWorld({ accounts })
    const read = broker.read.bind(broker)
    broker.read = (tp, from, most) => {
      const answer = read(tp, from, most)
      if (tp.topic === 'bulk') fetched.push(answer.records.length)
      return answer
    }
    put('bulk', commandsFrom(1, 6_000, { account: 'other' }))
    put('bulk', commandsFrom(10_001, 100, { account: 'default' }))
    await pass(2_000)
    expect(sent('default')).toEqual(numbersFrom(10_001, 100))
    await pass(130_000)
    expect(sent('other')).toEqual(numbersFrom(1, 6_000))
    expect(fetched.reduce((sum, count) => sum + count, 0)).toBeLessThan(4 * 6_000)
  })
})
