import { describe, expect, test } from 'vitest'
import type { Hop } from '../../src/bus/memory/bus.ts'
import { unpackCheckpoint } from '../../src/bus/session/checkpoint.ts'
import { INTENT } from '../../src/bus/session/window.ts'
import { commandsFrom } from '../support/commands.ts'
import { alone, numbersFrom, type SendingOptions, sorted, startSendingWorld } from '../support/sending.ts'

const urgentIds = 1_000_000

/** Starts a worker whose commits take `ms` milliseconds each. */
async function startWithCommitsOf(ms: number, options: SendingOptions) {
  let wait: (ms: number) => Promise<void> = async () => {}
  const isCommit = (step: string) => step.startsWith('commit')
  const hop: Hop = async (step, way) => {
    if (way === 'there' && isCommit(step)) await wait(ms)
  }
  const sending = await startSendingWorld({ accounts: alone, ...options, hop })
  wait = ms => new Promise<void>(resolve => sending.clock.after(ms, resolve))
  const intents = () => {
    const committed = sending.broker.committed('busgate', { topic: 'bulk', partition: 0 })
    const { offset, metadata } = committed ?? { offset: 0, metadata: null }
    const { window } = unpackCheckpoint(offset, metadata)
    return Array.from({ length: window.length }, (_, i) => window.get(offset + i)).filter(one => one === INTENT).length
  }
  return { ...sending, intents }
}

describe('the slots', () => {
  test.each([
    [4, 20],
    [8, 20],
    [2, 200],
    [16, 20],
  ])('do not wait for commits: %i slots, answers after %i ms', async (concurrency, takes) => {
    const { put, pass, posts } = await startWithCommitsOf(15, {
      gateway: { maxOperations: 5, concurrency },
      settings: { commands: { maxInFlight: 4 * concurrency * 5 } },
      takes: () => takes,
    })
    for (let i = 0; i < 40; i++) put('bulk', commandsFrom(1 + 400 * i, 400))
    await pass(1_000, 5)
    const before = posts.length
    await pass(2_000, 5)
    const usable = concurrency - 1 // one is kept for the urgent topic
    expect(posts.length - before).toBeGreaterThan(0.9 * usable * (2_000 / takes))
  })
})

describe('commands.maxInFlight', () => {
  test.each([1, 400])('limits what a kill leaves in doubt, if commits are slow and answers take %i ms', async ms => {
    const { put, pass, intents, gauge, posts } = await startWithCommitsOf(300, {
      gateway: { maxOperations: 5, concurrency: 8 },
      settings: { commands: { maxInFlight: 30 } },
      takes: () => ms,
    })
    put('bulk', commandsFrom(1, 1_000))
    const seen: number[] = []
    for (let i = 0; i < 400; i++) {
      await pass(20, 10)
      seen.push(intents())
      expect(gauge('intents_open')).toBeLessThanOrEqual(30)
    }
    expect(Math.max(...seen)).toBeGreaterThanOrEqual(20)
    expect(Math.max(...seen)).toBeLessThanOrEqual(25) // the room of one envelope is kept for the urgent topic
    expect(posts.length).toBeGreaterThan(25)
  })

  test('leaves room for an urgent envelope', async () => {
    const { put, pass, sent, gauge } = await startWithCommitsOf(10, {
      gateway: { maxOperations: 5, concurrency: 16 },
      settings: { commands: { maxInFlight: 30 } },
      takes: ({ ids }) => (ids[0]! < urgentIds ? 60_000 : 10),
    })
    put('bulk', commandsFrom(1, 1_000))
    await pass(1_000)
    expect(gauge('intents_open')).toBe(25)
    put('urgent', commandsFrom(urgentIds, 3))
    await pass(200)
    expect(sent('default').filter(id => id >= urgentIds)).toEqual(numbersFrom(urgentIds, 3))
  })
})

describe('an envelope that is prepared and waits for a slot', () => {
  /** Both slots are busy for 25 s, with an envelope of each topic. */
  async function startWithBusySlots(more: SendingOptions = {}) {
    const sending = await startWithCommitsOf(5, {
      gateway: { maxOperations: 5, concurrency: 2 },
      takes: ({ ids }) => (ids.includes(1) || ids.includes(urgentIds) ? 25_000 : 10),
      ...more,
    })
    sending.put('urgent', commandsFrom(urgentIds, 5))
    sending.put('bulk', commandsFrom(1, 5))
    await sending.pass(500)
    expect(sending.posts).toHaveLength(2)
    return sending
  }

  test('is taken back when its partition is revoked, and leaves no doubt although the gateway is slow', async () => {
    const { put, pass, sending, intents, posts } = await startWithBusySlots()
    put('bulk', commandsFrom(6, 5))
    await pass(500)
    expect(intents()).toBe(10)
    void sending.stop()
    await pass(1_000)
    expect(intents()).toBe(5)
    await pass(60_000)
    expect(posts).toHaveLength(2)
  })

  test('whose intents are being committed when its process stops is taken back, and leaves no doubt', async () => {
    const { put, pass, sending, intents, posts } = await startWithCommitsOf(300, {})
    put('bulk', commandsFrom(1, 5))
    await pass(200)
    let isOver = false
    void sending.stop().then(() => {
      isOver = true
    })
    await pass(2_000)
    expect([intents(), posts, isOver]).toEqual([0, [], true])
  })

  test('is requeued before everything that came later', async () => {
    const { put, pass, intents, joinIdle, sent } = await startWithBusySlots()
    put('bulk', commandsFrom(6, 50))
    await pass(500)
    expect(intents()).toBeGreaterThanOrEqual(15)
    joinIdle()
    await pass(120_000)
    expect(sent('default').filter(id => id < urgentIds)).toEqual(numbersFrom(1, 55))
  })

  test('is neither sent nor in doubt while its key is denied', async () => {
    const { put, pass, denied, sent, intents, posts } = await startWithBusySlots({
      takes: ({ ids }) => (ids.includes(1) || ids.includes(urgentIds) ? 5_000 : 10),
    })
    put('bulk', commandsFrom(6, 50))
    await pass(500)
    denied.add('default')
    put('urgent', commandsFrom(urgentIds + 10, 1))
    await pass(5_000)
    const probes = posts.slice(2)
    await pass(30_000)
    expect(probes.length).toBeGreaterThan(0)
    const wholeEnvelopes = posts.slice(2).filter(({ ids }) => ids.length > 1)
    expect(wholeEnvelopes.length).toBeLessThanOrEqual(2) // sent together, before the first answer
    expect(intents()).toBeLessThanOrEqual(1)
    denied.clear()
    await pass(60_000)
    expect(sorted(sent('default').filter(id => id > 5 && id < urgentIds))).toEqual(numbersFrom(6, 50))
  })

  test('is sent without the commands whose deadline has passed', async () => {
    const { put, pass, clock, sent, results, posts, telemetry } = await startWithBusySlots()
    const outcomesOfEnvelopes: string[] = []
    telemetry.on('envelope.finished', ({ outcome }) => outcomesOfEnvelopes.push(outcome))
    put('bulk', [...commandsFrom(6, 2, { deadline: clock.now() + 5_000 }), ...commandsFrom(8, 3)])
    await pass(11_000)
    expect(results().map(({ id, outcome }) => `${id} ${outcome}`)).toEqual(['6 EXPIRED', '7 EXPIRED'])
    await pass(29_000)
    expect(posts).toHaveLength(3)
    expect(sent('default').filter(id => id > 5 && id < urgentIds)).toEqual([8, 9, 10])
    expect(outcomesOfEnvelopes).toEqual(['answered', 'answered', 'answered']) // it kept its slot
    const outcomes = results().map(({ id, outcome }) => `${id} ${outcome}`)
    expect(outcomes).toContain('6 EXPIRED')
    expect(outcomes).toContain('7 EXPIRED')
    expect(outcomes).toHaveLength(15)
  })

  test('is sent after a later urgent one', async () => {
    const { put, pass, sent } = await startWithBusySlots()
    put('bulk', commandsFrom(6, 5))
    await pass(5_000)
    put('urgent', commandsFrom(urgentIds + 10, 2))
    await pass(30_000)
    expect(sent('default').slice(10)).toEqual([urgentIds + 10, urgentIds + 11, 6, 7, 8, 9, 10])
  })
})
