import { describe, expect, test } from 'vitest'
import type { BusRecord } from '../../src/bus/port.ts'
import { tokensOf } from '../../src/callbacks/role.ts'
import { createEncoder } from '../../src/records/encoder.ts'
import type { Doubt } from '../../src/records/generated.ts'
import { schemas, subjectOf } from '../../src/records/schemas.ts'
import { until } from '../support/bus.ts'
import { hookSubject } from '../support/callbacks.ts'
import { buildCommand, commandsFrom, silentPhone } from '../support/commands.ts'
import { buildDoubt } from '../support/doubts.ts'
import { scrape } from '../support/metrics.ts'
import { startProxy } from '../support/reverse-proxy.ts'
import { finalOf, outcomesOf, startWorld, type World, type WorldOptions } from '../support/worker.ts'

const usual = 1_048_588
/** Shorter waits, in the same order. */
const doubts = { waitMs: 50, polls: 2 }

/** Starts a world in which all topics except those of commands have the usual max.message.bytes. */
const startLimitedWorld = ({ settings = {}, maxMessageBytes = {}, ...options }: WorldOptions = {}) =>
  startWorld({
    ...options,
    maxMessageBytes: {
      ...{ results: usual, statuses: usual, deadLetters: usual, doubts: usual, overdue: usual },
      ...maxMessageBytes,
    },
    settings: { doubts, gateway: { timeoutMs: 250 }, ...settings },
  })

/** Expects each command to have exactly one final result, and none to be billed twice. */
async function expectAllThere(world: World, finals: number): Promise<void> {
  await world.finished(finals)
  await world.quiet()
  expect(world.results().filter(({ final }) => final)).toHaveLength(finals)
  expect(world.sandbox.stats().billedTwice).toBe(0)
}

const messageOf = ({ headers }: BusRecord) => String(headers['busgate.error.message'])

describe('a record that cannot be read', () => {
  test('and is too large for the topic becomes a dead letter with its coordinates, and commands are sent', async () => {
    const world = await startLimitedWorld()
    await world.send(commandsFrom(1, 3))
    await world.produceRaw(Buffer.from('no avro'), {
      key: Buffer.from('a key'),
      headers: { big: 'x'.repeat(1_200_000) },
    })
    await world.send(commandsFrom(4, 7))
    await world.finished(10)
    const metrics = await scrape(world.worker.ports.telemetry)
    expect(metrics.get('busgate_records_shortened_total')).toBe(1)
    await expectAllThere(world, 10)
    const [letter] = world.deadLetters() as [BusRecord]
    expect(letter).toMatchObject({ key: Buffer.from('a key'), value: null })
    expect(letter.headers).not.toHaveProperty('big')
    expect(messageOf(letter)).toMatch(/too large to be copied: its value of 7 bytes, and its headers/)
    expect(String(letter.headers['busgate.error.offset'])).toBe('3')
  })

  test("becomes a complete dead letter if the topic's limit allows it", async () => {
    const world = await startLimitedWorld({ maxMessageBytes: { deadLetters: 2_000_000 } })
    await world.produceRaw(Buffer.alloc(1_500_000, 'x'))
    await world.send(commandsFrom(1, 1))
    await expectAllThere(world, 1)
    expect(world.deadLetters()[0]!.value).toHaveLength(1_500_000)
  })
})

test('the doubt and the results of a command omit its correlation if that is too large for the topics', async () => {
  const world = await startLimitedWorld({ maxMessageBytes: { doubts: 20_000, results: 20_000 } })
  world.sandbox.faults.next('reset-before')
  await world.send([
    buildCommand({ id: 1n, delivery: 'AT_MOST_ONCE', correlationId: 'x'.repeat(30_000), tenant: 'shop' }),
  ])
  await expectAllThere(world, 1)
  expect(outcomesOf(world, 1n)).toEqual(['IN_DOUBT for now', 'UNRESOLVED'])
  const [inDoubt] = world.results()
  expect(inDoubt).toMatchObject({ correlationId: null, tenant: 'shop' })
  expect(inDoubt!.error).toMatch(/connection broke .*too large for the topic, so left out or cut: correlationId/)
})

describe('a doubt', () => {
  /** Writes a doubt as an earlier worker could have. */
  async function leaveDoubt(world: World, id: number, overrides: Partial<Doubt>) {
    const { commands, doubts } = world.settings.topics
    const encode = await createEncoder<Doubt>(subjectOf(doubts), schemas.doubt, world.registry)
    const doubt = buildDoubt({
      topic: commands.at(-1)!,
      offset: 100 + id,
      timestamp: Date.now(),
      value: world.encode(buildCommand({ id: BigInt(id) })),
      postedAt: Date.now() - 60_000,
      correlationId: 'order-1',
      ...overrides,
    })
    await world.produceRaw(encode(doubt), { topic: doubts, key: Buffer.from(String(id)) })
  }
  const unreadable = Buffer.from('a schema that is gone')

  test('whose command cannot be read is still polled, and is SENT by its status', async () => {
    const world = await startLimitedWorld()
    await world.send([buildCommand({ id: 1n, phone: silentPhone })])
    await world.finished(1)
    await leaveDoubt(world, 1, { value: unreadable })
    await until(() => expect(world.results()).toHaveLength(2))
    await world.quiet()
    expect(world.results()[1]).toMatchObject({
      ...{ id: 1n, type: 'sms', account: 'default', outcome: 'SENT', final: true, attempts: 1 },
      ...{ commandTopic: world.settings.topics.commands.at(-1), commandOffset: 101, correlationId: 'order-1' },
    })
    expect(world.deadLetters()).toEqual([])
  })

  test.each([
    ['is not Avro', (_: World): Partial<Doubt> => ({ value: unreadable }), /begin with a zero byte/],
    [
      'is invalid in this version',
      (world: World) => ({ value: world.encode(buildCommand({ id: 7n, extra: { id: '1' } })) }),
      /extra\.id must not be set/,
    ],
  ])('whose command %s ends UNRESOLVED and is not sent again', async (_, of, reason) => {
    const world = await startLimitedWorld()
    await leaveDoubt(world, 7, { ...of(world), account: 'default' })
    await expectAllThere(world, 1)
    expect(finalOf(world, 7n)).toMatchObject({
      ...{ outcome: 'UNRESOLVED', errorCode: 'RESPONSE_LOST', account: 'default', attempts: 1, commandOffset: 107 },
      error: expect.stringMatching(reason),
    })
    expect(finalOf(world, 7n).error).toContain('nobody could tell whether it was sent')
    expect(world.sandbox.stats().executed).toBe(0)
  })

  test('that cannot be read ends UNRESOLVED for the id in its key, and becomes a dead letter', async () => {
    const world = await startLimitedWorld()
    await world.produceRaw(unreadable, { topic: world.settings.topics.doubts, key: Buffer.from('7') })
    await expectAllThere(world, 1)
    expect(finalOf(world, 7n)).toMatchObject({
      ...{ outcome: 'UNRESOLVED', errorCode: 'RESPONSE_LOST', type: 'unknown', account: 'unknown' },
      ...{ commandTopic: world.settings.topics.doubts, commandOffset: 0 },
    })
    expect(world.deadLetters()).toMatchObject([{ key: Buffer.from('7'), value: unreadable }])
  })

  test('that cannot be read and has no id in its key becomes a dead letter, and later doubts are resolved', async () => {
    const world = await startLimitedWorld()
    await world.produceRaw(unreadable, { topic: world.settings.topics.doubts, key: Buffer.from('no id') })
    world.sandbox.faults.next('reset-before')
    await world.send([buildCommand({ id: 1n })])
    await expectAllThere(world, 1)
    expect(finalOf(world, 1n).outcome).toBe('SENT')
    expect(world.deadLetters()).toHaveLength(1)
  })
})

describe('an answer of the gateway that is too large for the results topic', () => {
  /** Starts a world whose gateway adds a long field to each item. */
  async function startTalkativeWorld(field: string, characters: number, options: WorldOptions = {}) {
    const gateway = await startProxy()
    const world = await startLimitedWorld({ ...options, gateway })
    const headers = { 'content-type': 'application/json' }
    gateway.answer = async ({ path, body }) => {
      const answer = await fetch(world.sandbox.url + path, { method: 'POST', headers, body })
      const read = (await answer.json()) as { data: { data: Record<string, unknown> }[] }
      for (const { data } of read.data) if (data.id !== 1) data[field] = 'x'.repeat(characters)
      return { body: JSON.stringify(read) }
    }
    return world
  }

  test.each([
    ['payload', 'note'],
    ['msgId', 'msg_id'],
  ] as const)('is in the result without its %s, and other results are complete', async (field, name) => {
    const world = await startTalkativeWorld(name, 30_000, { maxMessageBytes: { results: 20_000 } })
    await world.send(commandsFrom(1, 10))
    await expectAllThere(world, 10)
    for (const { id, outcome, error, [field]: value } of world.results()) {
      expect(outcome).toBe('SENT')
      expect(error).toBe(id === 1n ? null : `too large for the topic, so left out or cut: ${field}`)
      if (id !== 1n) expect(value).toBeNull()
    }
    expect(world.sandbox.stats()).toMatchObject({ executed: 10, billedTwice: 0 })
  })

  test("is in the result completely if the topic's limit allows it", async () => {
    const world = await startTalkativeWorld('note', 30_000)
    await world.send(commandsFrom(2, 1))
    await expectAllThere(world, 1)
    expect(world.resultOf(2).payload).toContain('x'.repeat(30_000))
    expect(world.resultOf(2).error).toBeNull()
  })
})

test('a callback with too many replies for the topic is published without them, and others completely', async () => {
  const world = await startLimitedWorld({ maxMessageBytes: { statuses: 20_000 } })
  const tokens = tokensOf(world.settings)!
  const call = (id: number, fields: object) =>
    fetch(`${world.receiver.url}/hooks/${tokens.issue(hookSubject({ id: BigInt(id) }))}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ success: true, status: 'REPLIED', ...fields }),
    })
  const reply = { datetime: '2026-03-14T12:00:00Z', message: 'Yes, please. '.repeat(5) }
  const answers = await Promise.all([
    call(1, { replies: [reply] }),
    call(2, { replies: Array.from({ length: 400 }, () => reply) }),
    call(3, { request_id: 'x'.repeat(30_000), replies: [reply] }),
  ])
  expect(answers.map(({ status }) => status)).toEqual([200, 200, 200])
  await until(() => expect(world.statuses()).toHaveLength(3))
  const events = world.statuses().toSorted((a, b) => Number(a.id - b.id))
  expect(events.map(({ replies, requestId }) => [replies.length, requestId])).toEqual([
    [1, null],
    [0, null],
    [1, null],
  ])
  expect(events.map(({ error }) => error)).toEqual([
    null,
    'too large for the topic, so left out or cut: replies',
    'too large for the topic, so left out or cut: requestId',
  ])
  for (const event of events) expect(event).toMatchObject({ state: 'DELIVERED', correlationId: 'order-7' })
})

test('a callback of another system that is too large for the dead letters is kept without its body', async () => {
  const world = await startLimitedWorld({ maxMessageBytes: { deadLetters: 20_000 } })
  const address = `${world.receiver.url}/hooks/account/default/${tokensOf(world.settings)!.issueAccount('default')}`
  const body = JSON.stringify({ success: true, id: 'not ours', status: 'DELIVERED', reply: 'x'.repeat(30_000) })
  const answer = await fetch(address, { method: 'POST', headers: { 'content-type': 'application/json' }, body })
  expect(answer.status).toBe(200)
  await until(() => expect(world.deadLetters()).toHaveLength(1))
  expect(world.deadLetters()[0]!.value).toBeNull()
  expect(messageOf(world.deadLetters()[0]!)).toMatch(/too large to be kept: its body of 3\d{4} bytes/)
})
