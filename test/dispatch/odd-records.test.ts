import fc from 'fast-check'
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
const delivery = { settleMs: 100, polls: 1, pollIntervalMs: 50 }
const hasty = { gateway: { timeoutMs: 100 }, delivery }

const timestamp = fc.oneof(
  fc.constantFrom(-1, 0, 2 ** 53 - 1, 2 ** 53, 8.64e15, 1.78e15, 1.78e18, 2 ** 63, -(2 ** 63)),
  fc.date({ min: new Date(0), max: new Date('2100-01-01'), noInvalidDate: true }).map(date => date.getTime()),
)
const headerName = fc.oneof(
  fc.constantFrom('constructor', 'toString', '__proto__', 'hasOwnProperty', 'length', '0', ''),
  fc.constantFrom('traceparent', 'tracestate', 'busgate.error.topic', 'busgate.error.offset', 'busgate.lifetime'),
  fc.string({ unit: 'binary', maxLength: 20 }),
)
const bytes = fc.uint8Array({ maxLength: 40 }).map(Buffer.from)
const headers = fc
  .array(fc.tuple(headerName, fc.oneof(bytes, fc.array(bytes, { maxLength: 300 }))), { maxLength: 10 })
  .map(pairs => Object.fromEntries(pairs))

/** A record that any client may have written. `undefined` as its value stands for a valid command. */
const oddRecord = fc.record({
  timestamp,
  headers,
  key: fc.option(bytes),
  value: fc.option(bytes, { nil: undefined, freq: 3 }),
})

test('every record has one final result or dead letter, whatever its timestamp, headers, key and value', {
  timeout: 120_000,
}, async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(oddRecord, { minLength: 1, maxLength: 20 }), async records => {
      const world = await startSendingWorld({ settings: hasty, answer: loseAnswers })
      const { append, encode, clock, results, broker, settings } = world
      for (const [offset, { timestamp, value, ...record }] of records.entries()) {
        append({ ...record, value: value ?? encode({ id: BigInt(offset + 1) }) }, timestamp)
      }
      await clock.pass(10 * minute)
      const ends = results().filter(({ final }) => final)
      const letters = broker.read({ topic: settings.topics.deadLetters, partition: 0 }, 0, 1000).records
      expect(ends.every(({ commandTopic }) => commandTopic === settings.topics.commands.at(-1))).toBe(true)
      expect(new Set(ends.map(({ commandOffset }) => commandOffset)).size).toBe(ends.length)
      expect(ends.length + letters.length).toBe(records.length)
    }),
    { numRuns: 30 },
  )
})

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
  const limits = { delivery: { ...delivery, maxAgeMs: 30 * minute } }

  test('is sent', async () => {
    const { append, encode, clock, results } = await startSendingWorld({ settings: limits })
    append({ key: null, value: encode({ id: 1n }) }, timestamp)
    await clock.pass(minute)
    expect(results()).toMatchObject([{ outcome: 'SENT' }])
  })

  test('expires delivery.maxAgeMs after it was read, while its account cannot send', async () => {
    const { put, pass, denied, results } = await startSendingWorld({
      settings: { delivery: { maxAgeMs: 30 * minute } },
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
    const settings = { ...hasty, delivery: { ...delivery, settleMs: 10 * minute, maxAgeMs: 5 * minute } }
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
