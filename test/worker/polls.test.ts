import { describe, expect, test } from 'vitest'
import type { Answer } from '../../src/gateway/connection.ts'
import { answered, itemsAnswer, refusal, refusedItem, sentItem } from '../support/answers.ts'
import { buildCommandOf } from '../support/commands.ts'
import { numbersFrom, type Operation, type SendingOptions, startSendingWorld } from '../support/sending.ts'

const minute = 60_000
const doubts = numbersFrom(1, 20)

type PollAnswers = (polled: Operation[]) => Answer

/** A gateway that accepts all commands, and answers polls so, after a moment in which others come together. */
const answering = (polls: PollAnswers): SendingOptions => ({
  takes: ({ operations }) => (operations[0]!.type === 'status' ? 200 : 0),
  settings: { doubts: { policy: 'AT_LEAST_ONCE' } },
  answer: operations => (operations[0]!.type === 'status' ? polls(operations) : null),
})

const foreign = (one: Operation) => ({ success: true, data: { id: `gw-${one.id}`, status: 'ROUTING' } })
/** Names ids that other messages have here. */
const shifted = (one: Operation) => ({ success: true, data: { id: one.id + 1, status: 'ROUTING' } })
const timeout: Answer = { kind: 'lost', cause: 'timeout', message: 'no answer' }

async function worldWithDoubts(polls: PollAnswers) {
  const world = await startSendingWorld(answering(polls))
  for (const id of doubts) world.doubted(id)
  return world
}

describe('doubts are resolved in their time', () => {
  test.each<[string, PollAnswers, number]>([
    ["puts the gateway's own identifiers into data.id", polled => itemsAnswer(...polled.map(foreign)), 0],
    ['puts identifiers there that other messages have here', polled => itemsAnswer(...polled.map(shifted)), 0],
    [
      'does so, and does not know one of them',
      polled => itemsAnswer(...polled.map(one => (one.id === 20 ? { success: false, error: 'No' } : shifted(one)))),
      1,
    ],
    [
      'answers one status only, whatever was asked',
      ([first]) => itemsAnswer(sentItem(first!.id, { status: 'READ' })),
      0,
    ],
    [
      'refuses an envelope with several of them',
      polled => (polled.length > 1 ? refusal('No') : itemsAnswer(foreign(polled[0]!))),
      0,
    ],
    [
      'fails on an envelope with several of them',
      polled => (polled.length > 1 ? answered('<h1>500</h1>', { status: 500 }) : itemsAnswer(foreign(polled[0]!))),
      0,
    ],
    [
      'refuses the envelope because of one unknown id',
      polled =>
        polled.some(({ id }) => id === 7)
          ? refusal('Kaput')
          : itemsAnswer(...polled.map(({ id }) => sentItem(id, { status: 'READ' }))),
      1,
    ],
  ])('if the gateway %s', async (_, polls, sentAgain) => {
    const world = await worldWithDoubts(polls)
    await world.pass(8 * minute, 500)
    expect(world.results()).toHaveLength(doubts.length)
    expect(world.results().every(({ outcome }) => outcome === 'SENT')).toBe(true)
    expect(doubts.reduce((sum, id) => sum + world.postsOf(id), 0)).toBe(sentAgain)
  })

  test.each<[string, PollAnswers]>([
    ['as envelopes', () => refusal('THROTTLE')],
    ['one by one', polled => itemsAnswer(...polled.map(({ id }) => refusedItem(id, 'THROTTLE')))],
  ])('if the gateway throttles polls %s, which then count as unanswered', async (_, throttled) => {
    let throttles = true
    const world = await worldWithDoubts(polled =>
      throttles ? throttled(polled) : itemsAnswer(...polled.map(({ id }) => sentItem(id, { status: 'READ' }))),
    )
    const told = new Set<string>()
    world.telemetry.on('status.polled', ({ result }) => void told.add(result))
    await world.pass(4 * minute, 500)
    expect([world.results(), [...told]]).toEqual([[], ['unanswered']])
    throttles = false
    await world.pass(8 * minute, 500)
    expect(world.results().map(({ outcome, attempts }) => [outcome, attempts])).toEqual(doubts.map(() => ['SENT', 1]))
  })

  test('if the key may send but not ask for statuses: they end UNRESOLVED', async () => {
    const world = await worldWithDoubts(() => refusal('Access denied'))
    for (let n = 0; n < 8; n++) {
      world.send(100 + n)
      await world.pass(minute, 500)
    }
    const ofDoubts = world.results().filter(({ id }) => id <= 20n)
    expect(ofDoubts).toHaveLength(doubts.length)
    expect(ofDoubts.every(({ outcome }) => outcome === 'UNRESOLVED')).toBe(true)
  })

  test('only after an outage that refuses everything, however long it lasts', async () => {
    let isDown = true
    const world = await startSendingWorld({
      answer: operations =>
        isDown ? refusal('Kaput') : itemsAnswer(...operations.map(({ id }) => sentItem(id, { status: 'READ' }))),
    })
    for (const id of doubts) world.doubted(id)
    await world.pass(20 * minute, 1000)
    expect(world.results()).toEqual([])
    isDown = false
    await world.pass(2 * minute, 500)
    expect(world.results()).toHaveLength(doubts.length)
    expect(doubts.some(id => world.postsOf(id) > 0)).toBe(false)
  })
})

describe('a one-time password beside 20 doubts', () => {
  /** Longest time from the command to its result, in virtual milliseconds, over some minutes. */
  async function longestWait(polls: PollAnswers, count: number): Promise<number> {
    const world = await startSendingWorld(answering(polls))
    for (const id of doubts.slice(0, count)) world.doubted(id)
    const { message } = buildCommandOf('call/otp')
    const stepMs = 10
    let longest = 0
    for (let n = 0; n < 40; n++) {
      const id = 1000 + n
      world.send(id, { message }, 'urgent')
      const hasResult = () => world.results().some(result => result.id === BigInt(id))
      let waited = 0
      for (; waited < minute && !hasResult(); waited += stepMs) await world.pass(stepMs, stepMs)
      longest = Math.max(longest, waited)
      await world.pass(4000, 500)
    }
    return longest
  }

  test.each<[string, PollAnswers]>([
    ["whose polls name the gateway's own identifiers", polled => itemsAnswer(...polled.map(foreign))],
    ['whose polls get no answer', () => timeout],
    ['whose polls are denied', () => refusal('Access denied')],
    ['whose polls are refused as a whole', () => refusal('Kaput')],
    ['whose polls are throttled', () => refusal('Too many requests')],
    ['whose polls reach nobody', () => answered('', { status: 404 })],
  ])('%s waits no longer than one beside none', async (_, polls) => {
    const [beside, alone] = [await longestWait(polls, doubts.length), await longestWait(polls, 0)]
    expect(beside).toBeLessThanOrEqual(alone)
  })
})
