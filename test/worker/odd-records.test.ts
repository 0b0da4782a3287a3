import { describe, expect, test } from 'vitest'
import type { RecordHeaders } from '../../src/bus/port.ts'
import type { Answer } from '../../src/gateway/connection.ts'
import { changedCommandSchema, encodeCommand } from '../records/codec.ts'
import { buildCommand, commandsFrom } from '../support/commands.ts'
import { laggingRegistry } from '../support/lagging-registry.ts'
import { type Operation, startSendingWorld } from '../support/sending.ts'

const minute = 60_000
const lost: Answer = { kind: 'lost', cause: 'timeout', message: 'timeout' }
/** Answers status polls, and loses the answer to each command. */
const loseAnswers = (operations: Operation[]) => (operations[0]!.type === 'status' ? null : lost)
const doubts = { waitMs: 100, polls: 1 }
const hasty = { gateway: { timeoutMs: 100 }, doubts }

describe('a command in doubt', () => {
  test('is resolved, whatever the names of its headers', async () => {
    const names = ['constructor', 'toString', '__proto__', 'hasOwnProperty']
    const headers: RecordHeaders = JSON.parse(`{${names.map(name => `"${name}":"v"`)}}`)
    const { append, encode, clock, results, postsOf } = await startSendingWorld({
      settings: hasty,
      answer: loseAnswers,
    })
    append({ key: null, value: encode({ id: 1n }), headers })
    await clock.pass(10 * minute)
    expect(postsOf(1)).toBe(3)
    expect(results().at(-1)).toMatchObject({ outcome: 'UNRESOLVED', errorCode: 'ATTEMPTS_EXHAUSTED' })
  })

  test('is resolved, however many of its headers have the same name', async () => {
    const { append, encode, clock, results } = await startSendingWorld({ settings: hasty, answer: loseAnswers })
    append({ key: null, value: encode({ id: 1n }), headers: { many: Array<string>(200_000).fill('') } })
    await clock.pass(10 * minute)
    expect(results().at(-1)).toMatchObject({ outcome: 'UNRESOLVED' })
  })
})

describe.each([
  ['is missing', -1],
  ['is in nanoseconds', 1.78e18],
  ['is in microseconds', 1.78e15],
  ['is a year ahead', Date.UTC(2027, 2, 14)],
])('a command whose timestamp %s', (_, timestamp) => {
  const limits = { doubts, commands: { maxAgeMs: 30 * minute } }

  test('is sent', async () => {
    const { append, encode, clock, results } = await startSendingWorld({ settings: limits })
    append({ key: null, value: encode({ id: 1n }) }, timestamp)
    await clock.pass(minute)
    expect(results()).toMatchObject([
      { outcome: 'SENT', commandAt: timestamp > 0 && timestamp < 1e15 ? timestamp : null },
    ])
  })

  test('expires commands.maxAgeMs after it was read, while its account cannot send', async () => {
    const { put, pass, denied, results } = await startSendingWorld({
      settings: { commands: { maxAgeMs: 30 * minute } },
    })
    denied.add('other')
    // more than memory holds: most are dropped from it and read again
    const commands = commandsFrom(1, 4500, { account: 'other' })
    put('bulk', commands, 0, timestamp)
    await pass(29 * minute, 1000)
    expect(results()).toEqual([])
    await pass(2 * minute, 1000)
    expect(results().filter(({ errorCode }) => errorCode === 'MAX_AGE')).not.toHaveLength(0)
    expect(new Set(results().map(({ errorCode }) => errorCode))).toEqual(new Set(['MAX_AGE']))
  })

  test('is not sent again if it expired in doubt', async () => {
    const settings = { ...hasty, doubts: { ...doubts, waitMs: 10 * minute }, commands: { maxAgeMs: 5 * minute } }
    const { append, encode, clock, results, postsOf } = await startSendingWorld({ settings, answer: loseAnswers })
    append({ key: null, value: encode({ id: 1n }) }, timestamp)
    await clock.pass(60 * minute)
    expect(postsOf(1)).toBe(1)
    expect(results().at(-1)).toMatchObject({ outcome: 'UNRESOLVED', errorCode: 'MAX_AGE' })
  })
})

describe('a record whose schema the registry lacked', () => {
  async function startWithDeadLetter() {
    const registry = laggingRegistry()
    const world = await startSendingWorld({ registry })
    const newer = changedCommandSchema(({ fields }) => fields.push({ name: 'season', type: 'string', doc: '' }))
    const value = await encodeCommand({ ...buildCommand({ id: 7n }), season: 'spring' }, registry, newer)
    const letters = () => world.broker.read({ topic: world.settings.topics.deadLetters, partition: 0 }, 0, 1000).records
    const replay = () => world.append({ key: null, value, headers: { 'busgate.replayed.from': 'dead-letters/0@0' } })
    registry.isLagging = true
    world.append({ key: null, value })
    await world.clock.pass(15_000)
    expect(letters()).toHaveLength(1)
    return { ...world, registry, letters, replay }
  }

  test('is sent when it is replayed after the schema was registered', async () => {
    const { registry, replay, letters, clock, results } = await startWithDeadLetter()
    registry.isLagging = false
    replay()
    await clock.pass(1000)
    expect(results()).toMatchObject([{ id: 7n, outcome: 'SENT', commandOffset: 1 }])
    expect(letters()).toHaveLength(1)
  })

  test('has that schema requested at most every two seconds, however many replays a producer forges', async () => {
    const { registry, replay, letters, pass } = await startWithDeadLetter()
    registry.asked.length = 0
    for (let second = 0; second < 10; second++) {
      for (let i = 0; i < 50; i++) replay()
      await pass(1000)
    }
    expect(letters()).toHaveLength(501)
    expect(registry.asked.length).toBeLessThanOrEqual(5)
  })
})

test('a command whose schema the registry has only seconds later is sent', async () => {
  const registry = laggingRegistry()
  const world = await startSendingWorld({ registry })
  registry.isLagging = true
  world.send(1)
  await world.clock.pass(8_000)
  registry.isLagging = false
  await world.clock.pass(10_000)
  expect([world.results().map(({ outcome }) => outcome), world.deadLetters()]).toEqual([['SENT'], 0])
})
