import kafkajs from 'kafkajs'
import { describe, expect, onTestFinished, test } from 'vitest'
import { loadSettings } from '../../src/config/index.ts'
import { createProducer, InvalidCommandError, type NewCommand } from '../../src/producer.ts'
import { parseJson, type SendType, sendTypes } from '../../src/protocol/index.ts'
import { embeddedRegistry } from '../../src/records/registry.ts'
import { until } from '../support/bus.ts'
import { buildCommandOf } from '../support/commands.ts'
import { startProxy } from '../support/reverse-proxy.ts'
import { startWorld } from '../support/worker.ts'

const marks = { correlationId: 'order-7', tenant: 'acme', campaign: 'spring' }
const unmarked = { correlationId: null, tenant: null, campaign: null }

/** A valid command of a type, as an upstream service passes it to the producer. */
function newCommand(type: SendType, id: bigint): NewCommand {
  const [message] = Object.values(buildCommandOf(type).message)
  return { id, phone: 380501234567, type, message, ...marks } as NewCommand
}

/** The channel named in each type's status. Types that are missing have no callbacks. */
const statusTypes: Partial<Record<SendType, string>> = {
  sms: 'sms',
  viber: 'viber',
  'viber+sms': 'sms',
  rcs: 'rcs',
  'rcs+sms': 'sms',
  'rcs+viber+sms': 'sms',
  telegram: 'telegram',
  voice: 'voice',
  pipeline: 'viber',
}

describe('for a command of each type,', () => {
  test.each(sendTypes)("one %s is sent, and its result and status contain the command's data", async type => {
    const world = await startWorld()
    const urgent = type === 'call/otp' || type === 'telegram'
    const channel = statusTypes[type]
    await world.producer.send([newCommand(type, 42n)])
    await world.finished(1)
    if (channel) await until(() => expect(world.statuses()).toHaveLength(1))
    await world.quiet()

    expect(world.resultOf(42)).toMatchObject({
      id: 42n,
      type,
      account: 'default',
      outcome: 'SENT',
      final: true,
      errorCode: null,
      error: null,
      attempts: 1,
      commandTopic: world.settings.topics.commands[urgent ? 0 : 1],
      commandPartition: 0,
      commandOffset: 0,
      country: 'UA',
      hooked: !['pipeline', 'call/otp', 'hlr'].includes(type),
      ...marks,
    })
    const { msgId, parts, code, price, hlr } = world.resultOf(42)
    if (type !== 'call/otp' && type !== 'hlr') {
      expect(msgId).toMatch(/^\d{10,}$/)
      expect({ parts, code, price, hlr }).toEqual({ parts: 1, code: null, price: null, hlr: null })
    }
    expect(world.resultOf(42).commandAt).toBeLessThanOrEqual(world.resultOf(42).sentAt!)
    expect(world.resultOf(42).sentAt).toBeLessThanOrEqual(world.resultOf(42).completedAt)
    expect(world.sandbox.stats()).toMatchObject({ requests: 1, executed: 1, billedTwice: 0 })
    const verified = type !== 'pipeline' // its callback goes to the account's address, which belongs to no command
    const status = {
      ...{ id: 42n, msgId, account: 'default', type: channel, status: 'DELIVERED', state: 'DELIVERED', final: true },
      ...{ success: true, source: 'CALLBACK', verified, eventId: expect.stringMatching(/^[\w-]{22}$/) },
      ...(verified
        ? { ...marks, commandType: type, country: 'UA' }
        : { ...unmarked, commandType: null, country: null }),
    }
    expect(world.statuses()).toMatchObject(channel ? [status] : [])
  })

  test('the producer accepts a phone as bigint', async () => {
    const world = await startWorld()
    await world.producer.send([{ ...newCommand('hlr', 42n), phone: 380501234567n }])
    await world.finished(1)
    expect(world.resultOf(42)).toMatchObject({ outcome: 'SENT', hlr: { phone: 380501234567 } })
  })

  test.each([
    [
      'a phone in national format',
      { phone: '0671234561' },
      'command 42: phone must be a number: digits only, in international format such as 380501234567',
    ],
    ['a phone that a double cannot hold', { phone: 380501234567380501n }, 'phone must be a number: digits only'],
    [
      'an id that lost digits',
      { id: 2 ** 53 },
      'id must be a whole number from 1 to 2^63-1; write ids above 2^53 as a bigint',
    ],
    ['an unknown type', { type: 'whatsapp' }, /^command 42: type must be one of sms, .*; use pipeline for whatsapp$/],
    ['a command without a type', { type: undefined }, 'command 42: type is required and must be one of sms, '],
    [
      'an id that cannot be printed',
      { id: Symbol('x') },
      'a command without an id: id must be a whole number from 1 to 2^63-1; ',
    ],
    ['an id in text', { id: '042' }, 'command 042: id must be a whole number from 1 to 2^63-1; '],
    [
      'a text as deadline',
      { deadline: '2099-01-01T00:00:00Z' },
      'command 42: deadline must be a valid Date or a whole number of milliseconds since 1970',
    ],
    [
      'an unknown policy',
      { delivery: 'ONCE' },
      'command 42: delivery must be one of DEFAULT, AT_MOST_ONCE, AT_LEAST_ONCE',
    ],
    ['a number as mark', { correlationId: 17 }, 'command 42: correlationId must be text or null'],
    [
      'a number in extra',
      { extra: { priority: 5 } },
      'command 42: extra.priority must be JSON in a string: "5" for a number',
    ],
    [
      'a misspelt mark',
      { corelationId: 'a' },
      'command 42: corelationId is no field of a command; the nearest is correlationId',
    ],
    [
      'a misspelt field of the message',
      { message: { sms_message: 'Hi', sms_signature: 'Shop', sms_lifetme: 60 } },
      'command 42: sms_lifetme is no field of sms; the nearest is sms_lifetime, and extra takes any other',
    ],
    [
      'a tagged message',
      { message: { 'io.busgate.Sms': { sms_message: 'Hi', sms_signature: 'Shop' } } },
      'command 42: message must be the fields of sms: leave the tag io.busgate.Sms out here',
    ],
    [
      'a number as comment, which the gateway does not get',
      { type: 'hlr', message: { comment: 5 } },
      'command 42: comment must be text or null',
    ],
    [
      'half an emoji in a text',
      { message: { sms_message: 'Готово \ud83d', sms_signature: 'Shop' } },
      'command 42: sms_message holds half of a surrogate pair, such as an emoji that was cut in two',
    ],
    [
      'half an emoji in the correlationId',
      { correlationId: '\ude00' },
      'command 42: correlationId holds half of a surrogate pair',
    ],
  ])('the producer refuses %s, and writes nothing', async (_, fields, message) => {
    const world = await startWorld()
    const command = { ...newCommand('sms', 42n), ...fields } as NewCommand
    const refusal = await world.producer.send([newCommand('sms', 41n), command]).catch(error => error)
    expect(refusal).toBeInstanceOf(InvalidCommandError)
    expect(() => {
      throw refusal
    }).toThrow(message)
    await world.quiet()
    expect([world.results(), world.sandbox.stats().executed]).toEqual([[], 0])
  })

  test("a service's kafkajs producer that is not idempotent is refused", async () => {
    const kafka = new kafkajs.Kafka({ brokers: ['127.0.0.1:1'], logLevel: kafkajs.logLevel.NOTHING })
    const settings = loadSettings({ env: {}, overrides: { kafka: { brokers: 'embedded' } } })
    const options = { registry: embeddedRegistry(), producer: kafka.producer() }
    await expect(createProducer(settings, options)).rejects.toThrow('the kafkajs producer is not idempotent')
  })

  test('the producer says which setting to check if no broker answers', async () => {
    const overrides = { kafka: { brokers: '127.0.0.1:1' }, registry: { url: 'http://127.0.0.1:1' } }
    const producer = await createProducer(loadSettings({ env: {}, overrides }), { registry: embeddedRegistry() })
    onTestFinished(() => producer.close())
    const hint = /ECONNREFUSED 127\.0\.0\.1:1: check kafka\.brokers \(BUSGATE_KAFKA_BROKERS\)/
    await expect(producer.send([newCommand('sms', 1n)])).rejects.toThrow(hint)
    await expect(producer.withdraw({ campaign: 'spring', reason: 'wrong price' })).rejects.toThrow(hint)
  })
})

describe('status events', () => {
  test("go to a command's own hook instead of busgate's", async () => {
    const own = await startProxy()
    own.answer = () => ({ body: '' })
    const world = await startWorld()
    await world.send([buildCommandOf('sms', { id: 42n, hook: `${own.url}/mine` })])
    await until(() => expect(own.requests).toHaveLength(1))
    await world.quiet()
    expect(JSON.parse(own.requests[0]!.body)).toMatchObject({ id: '42', status: 'DELIVERED' })
    expect(world.statuses()).toEqual([])
  })
})

describe('an id beyond 2^53', () => {
  const id = 9_007_199_254_740_993n

  test('keeps all digits in request, response, result, callback and status event', async () => {
    const gateway = await startProxy()
    const world = await startWorld({ gateway })
    await world.producer.send([newCommand('sms', id), newCommand('sms', 2n ** 63n - 1n)])
    await until(() => expect(world.statuses()).toHaveLength(2))
    await world.quiet()

    const { data } = parseJson(gateway.requests[0]!.body) as { data: unknown }
    expect(data).toMatchObject([{ id }, { id: 2n ** 63n - 1n }])
    expect(world.sandbox.executions(id)).toBe(1)
    expect(world.sandbox.executions(id - 1n)).toBe(0)
    expect(world.results()).toMatchObject([
      { id, outcome: 'SENT' },
      { id: 2n ** 63n - 1n, outcome: 'SENT' },
    ])
    expect(world.receiver.requests.map(({ body }) => (parseJson(body) as { id: unknown }).id).sort()).toEqual([
      `${id}`,
      `${2n ** 63n - 1n}`,
    ])
    expect(
      world
        .statuses()
        .map(event => event.id)
        .sort(),
    ).toEqual([id, 2n ** 63n - 1n])
  })
})
