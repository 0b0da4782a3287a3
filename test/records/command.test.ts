import fc from 'fast-check'
import { describe, expect, test, vi } from 'vitest'
import { operations, parseJson, type SendType, sendTypes } from '../../src/protocol/index.ts'
import { type Command, hookedByType, isInvalid, memoryOf, readCommand } from '../../src/records/command.ts'
import type { SendCommand } from '../../src/records/generated.ts'
import { buildCommand, buildCommandOf } from '../support/commands.ts'

const noHook = { hookFor: () => null, voiceHook: false, allowEmpty: false }

function read(command: SendCommand) {
  const reading = readCommand(command, noHook)
  if (isInvalid(reading)) throw new Error(reading.error)
  return reading
}

function operationOf(command: SendCommand): Record<string, unknown> {
  return parseJson(read(command).json) as Record<string, unknown>
}

function problemOf(command: SendCommand): string {
  const reading = readCommand(command, noHook)
  return isInvalid(reading) ? reading.error : 'none'
}

test('a list that is far too long is reported once, not for each item', () => {
  const pipeline = Array<string>(1_000_000).fill('')
  expect(problemOf(buildCommandOf('pipeline', {}, { pipeline }))).toBe('pipeline must have at most 1000 items')
})

describe('a valid command', () => {
  test("becomes the gateway's operation object", () => {
    const command = read(buildCommand({ deadline: 1_763_000_000_000, delivery: 'AT_MOST_ONCE', tenant: 'shop' }))
    const json =
      '{"type":"sms","id":1001,"phone":380501234567,"sms_message":"Your order is ready","sms_signature":"Shop",' +
      '"short_link":true,"sms_lifetime":7200}'
    expect(command).toEqual({
      id: 1001n,
      idText: '1001',
      type: 'sms',
      account: 'default',
      deadline: 1_763_000_000_000,
      notBefore: null,
      delivery: 'AT_MOST_ONCE',
      lifetime: 7200,
      hooked: false,
      correlationId: null,
      tenant: 'shop',
      campaign: null,
      country: 'UA',
      sealed: false,
      trace: null,
      json,
      bytes: json.length,
    })
  })

  test('counts its bytes in UTF-8', () => {
    const command = read(buildCommandOf('sms', {}, { sms_message: 'Їжак €' }))
    expect(command.bytes).toBe(Buffer.from(command.json).length)
  })

  test('counts for the memory that its text takes: two bytes a character unless all are ASCII', () => {
    const [ascii, cyrillic] = ['Hedgehog', 'Їжак'].map(text => read(buildCommandOf('sms', {}, { sms_message: text })))
    expect([memoryOf(ascii!), memoryOf(cyrillic!)]).toEqual([ascii!.json.length, 2 * cyrillic!.json.length])
  })

  test('keeps an id beyond 2^53 exact', () => {
    const id = 2n ** 63n - 1n
    const command = read(buildCommand({ id }))
    expect([command.id, command.idText, operationOf(buildCommand({ id })).id]).toEqual([id, '9223372036854775807', id])
  })

  test('omits null fields at any depth', () => {
    const { viber_carousel: slides } = operationOf(buildCommandOf('viber')) as { viber_carousel: object[] }
    expect(Object.keys(slides[0]!)).toEqual(['caption', 'image', 'button', 'url'])
    const pipeline = operationOf(buildCommandOf('pipeline'))
    expect(Object.keys(pipeline)).toEqual('type id phone pipeline sms viber voice whatsapp'.split(' '))
    expect(pipeline.whatsapp).toEqual({ message: 'Your order is ready' })
    expect(Object.keys(pipeline.voice as object)).toEqual(['message', 'voice'])
  })

  test('of type call/otp or hlr may have an additional property comment, beside its own, which is not sent', () => {
    for (const type of ['call/otp', 'hlr'] as const) {
      const extra = { comment: '"for the gateway"' }
      const reading = readCommand(buildCommandOf(type, { extra }, { comment: 'for readers' }), noHook)
      expect(JSON.parse((reading as Command).json)).toMatchObject({ comment: 'for the gateway' })
    }
  })

  test('of type call/otp or hlr is not sent with its comment', () => {
    for (const type of ['call/otp', 'hlr'] as const) {
      const command = buildCommandOf(type, {}, { comment: 'log-in of a customer' })
      expect(operationOf(command)).toEqual({ type, id: 1001, phone: 380501234567 })
    }
  })
})

/** Valid and invalid values of a field. */
const anyValue = fc.oneof(
  fc.constantFrom<unknown>(
    null,
    '',
    'text',
    '12345',
    true,
    0,
    59,
    60,
    3600,
    259_201,
    1.5,
    [],
    {},
    'https://shop.example',
  ),
  fc.constantFrom<unknown>(['sms'], ['sms', 'sms'], ['rcs', 'whatsapp'], [{ caption: 'Red' }], { message: 'Hi' }),
)

test('a command is valid exactly when the schema of its operation says so', () => {
  const anyChange = fc.tuple(fc.constantFrom(...sendTypes), fc.nat(20), anyValue, fc.constantFrom('0', '-1', '1', null))
  fc.assert(
    fc.property(anyChange, ([type, at, value, extra]) => {
      const names = Object.keys(Object.values(buildCommandOf(type).message)[0]!).filter(name => name !== 'comment')
      const changes = extra === null ? {} : { extra: { note: extra } }
      const command = buildCommandOf(type, changes, { [names[at % names.length] ?? 'comment']: value })
      const reading = readCommand(command, { ...noHook, allowEmpty: true })
      const { success } = operations[type].schema.safeParse(
        isInvalid(reading) ? withoutNulls(command, type) : parseJson(reading.json),
      )
      expect(success).toBe(!isInvalid(reading))
    }),
    { numRuns: 500 },
  )
})

function withoutNulls({ id, phone, message, extra }: SendCommand, type: SendType): unknown {
  const fields = Object.values(message)[0] as object
  const kept = Object.entries(fields).filter(([name, value]) => value !== null && name !== 'comment')
  return { type, id, phone, ...Object.fromEntries(kept), ...extra }
}

describe('an invalid command', () => {
  test('contains everything that its result needs', () => {
    const command = buildCommand({ phone: 0, account: 'second', correlationId: 'order 7', tenant: 'shop' })
    expect(readCommand(command, noHook)).toEqual({
      id: 1001n,
      idText: '1001',
      type: 'sms',
      account: 'second',
      hooked: null,
      correlationId: 'order 7',
      tenant: 'shop',
      campaign: null,
      country: null,
      trace: null,
      errorCode: 'VALIDATION',
      error: expect.stringMatching(/^phone must be a number/),
      problems: [{ field: 'phone', expected: expect.stringMatching(/^must be a number/) }],
    })
  })

  test('of any type is refused if it has no valid phone', () => {
    for (const type of sendTypes) expect(problemOf(buildCommandOf(type, { phone: -1 })), type).toMatch(/^phone must be/)
  })

  test('has an error without content of the message', () => {
    const command = buildCommandOf('telegram', { phone: 1e15, hook: 'secret text' }, { message: 'secret text' })
    expect(problemOf(command)).toMatch(/phone.*message.*hook/)
    expect(problemOf(command)).not.toMatch(/secret|1000000000000000/)
  })

  test('has a deadline before its notBefore, or a notBefore in another unit than milliseconds', () => {
    const at = 1_796_000_000_000
    expect(problemOf(buildCommand({ notBefore: at, deadline: at - 1 }))).toBe('deadline must not be before notBefore')
    for (const deadline of [null, at]) expect(problemOf(buildCommand({ notBefore: at, deadline }))).toBe('none')
    expect(problemOf(buildCommand({ notBefore: 0 }))).toBe('none')
    for (const notBefore of [at / 1000, at * 1000, -1])
      expect(problemOf(buildCommand({ notBefore }))).toMatch(
        /^notBefore must be .*milliseconds since 1970 \(not seconds/,
      )
  })

  test('has a short error even with thousands of problems', () => {
    const command = buildCommandOf('pipeline', {}, { pipeline: Array(5000).fill('fax') })
    expect(problemOf(command).length).toBeLessThan(1000)
  })
})

describe('additional properties', () => {
  test('are sent unchanged, with every digit of their JSON texts', () => {
    const command = buildCommand({ extra: { order: '9223372036854775807', 'a "b"': '{"c":[1.0,null]}' } })
    expect(read(command).json).toMatch(
      /"sms_lifetime":7200,"order":9223372036854775807,"a \\"b\\"":\{"c":\[1\.0,null\]\}\}$/,
    )
    expect(operationOf(command)).toMatchObject({ order: 9223372036854775807n, 'a "b"': { c: [1, null] } })
  })

  test.each(['', 'text', '1,"auth":"stolen"', '{', '1}'])('a value that is not JSON is refused: %j', json => {
    expect(problemOf(buildCommand({ extra: { campaign: json } }))).toMatch(
      /^extra\.campaign must be JSON in a string: /,
    )
  })

  test('are refused if they have more than 65,536 characters, before they are parsed', () => {
    const note = (length: number) => `[${'['.repeat(length - 2)}]`
    expect(problemOf(buildCommand({ extra: { a: note(30_000), b: note(35_535) } }))).toBe(
      'extra must have at most 65536 characters',
    )
    expect(problemOf(buildCommand({ extra: { a: `"${'x'.repeat(65_533)}"` } }))).toBe('none')
    expect(problemOf(buildCommand({ extra: { a: `"${'x'.repeat(65_534)}"` } }))).toBe(
      'extra must have at most 65536 characters',
    )
  })

  test.each(['type', 'id', 'phone', 'hook', 'auth', 'data', '__proto__'])('are refused with the name %s', name => {
    const extra = JSON.parse(`{ "${name}": "1" }`)
    expect(problemOf(buildCommand({ extra }))).toMatch(new RegExp(`^extra\\.${name} must not be set`))
  })

  test("are refused with the name of one of the message's fields, even an omitted one", () => {
    const extra = { sms_lifetime: '60' }
    expect(problemOf(buildCommandOf('sms', { extra }, { sms_lifetime: null }))).toMatch(/^extra\.sms_lifetime/)
    expect(problemOf(buildCommandOf('hlr', { extra }))).toBe('none')
  })

  test('are validated like other fields if the interface defines them', () => {
    expect(problemOf(buildCommandOf('viber+sms', { extra: { viber_carousel: '[]' } }))).toMatch(
      /^viber_carousel must be/,
    )
  })
})

describe('additional properties inside an object of the message', () => {
  const stages = { pipeline: ['rcs', 'sms'], viber: null, voice: null, whatsapp: null }
  const sms = { message: 'Your order is ready', signature: 'Shop' }

  test('can be a whole stage if the message has none', () => {
    const rcs = '{"message":"Hi","image":"https://shop.example/a.png","lifetime":60,"order":9223372036854775807}'
    const command = buildCommandOf('pipeline', { extra: { rcs } }, stages)
    expect(read(command).json).toContain(`,"rcs":${rcs}}`)
    expect(operationOf(command)).toMatchObject({ sms, rcs: { order: 9223372036854775807n } })
  })

  test("are added to the message's stage with every digit", () => {
    const extra = { sms: '{"lifetime":3600,"order":9223372036854775807}', rcs: '{"message":"Hi","lifetime":60}' }
    const command = buildCommandOf('pipeline', { extra }, stages)
    expect(operationOf(command).sms).toEqual({ ...sms, lifetime: 3600, order: 9223372036854775807n })
    expect(read(command).lifetime).toBe(3660)
  })

  test('apply to nested objects, and to the voice of a call', () => {
    const voice = { voice: '{"voice":{"rate":1.5},"repeat":2}' }
    expect(operationOf(buildCommandOf('pipeline', { extra: voice })).voice).toEqual({
      message: 'Your order is ready',
      voice: { gender: 'female', language: 'uk-UA', name: 'Olena', rate: 1.5 },
      repeat: 2,
    })
    const call = buildCommandOf('voice', { extra: { voice: '{"rate":1.5}' } })
    expect(operationOf(call).voice).toEqual({ gender: 'female', language: 'uk-UA', name: 'Olena', rate: 1.5 })
  })

  test("can be a field that is null in the stage's record", () => {
    const extra = { whatsapp: '{"signature":"Shop"}' }
    expect(operationOf(buildCommandOf('pipeline', { extra })).whatsapp).toEqual({
      message: 'Your order is ready',
      signature: 'Shop',
    })
  })

  test.each([
    ['a field that is set', '{"message":"Other"}', /^extra\.sms\.message must not be set: the message has it already$/],
    ['__proto__', '{"__proto__":{"a":1}}', /^extra\.sms\.__proto__ must not be set/],
    ['a list', '[1]', /^extra\.sms must be an object/],
    ['null', 'null', /^extra\.sms must be an object/],
    ['no JSON', '{', /^extra\.sms must be JSON in a string: /],
    [
      'thousands of nested lists',
      `{"a":${'['.repeat(32_000)}${']'.repeat(32_000)}}`,
      /^extra\.sms must be JSON in a string: /,
    ],
  ])('are refused if they cannot be added: %s', (_, text, error) => {
    expect(problemOf(buildCommandOf('pipeline', { extra: { sms: text } }))).toMatch(error)
  })

  test.each(['constructor', 'toString', 'hasOwnProperty'])('can be named %s', name => {
    const command = buildCommandOf('pipeline', { extra: { sms: `{"${name}":1}` } })
    expect(operationOf(command).sms).toEqual({ ...sms, [name]: 1 })
  })

  test("are validated like the message's fields", () => {
    const lacking = buildCommandOf('pipeline', { extra: { rcs: '{"message":5}' } }, stages)
    expect(problemOf(lacking)).toMatch(/^rcs\.message must be text/)
    const refused = buildCommandOf('voice', { extra: { voice: '{"gender":"robot"}' } }, { voice: null })
    expect(problemOf(refused)).toMatch(/^voice\.gender must be male or female/)
  })
})

describe('a message without any content', () => {
  const nothing = (type: SendType) =>
    Object.fromEntries(
      Object.keys(Object.values(buildCommandOf(type).message)[0] as object)
        .filter(field => !['viber_type', 'pipeline'].includes(field))
        .map(field => [field, null]),
    )
  const viber = { ...nothing('viber'), viber_signature: 'Shop' }
  const rcs = { rcs_message: '', rcs_image: '', rcs_link: '' }
  const cases: [string, SendType, Record<string, unknown>, string][] = [
    [
      'a viber+sms of nulls',
      'viber+sms',
      { ...nothing('viber+sms'), viber_type: null },
      'viber_message or sms_message',
    ],
    [
      'a viber+sms of empty texts',
      'viber+sms',
      { ...nothing('viber+sms'), sms_message: '' },
      'viber_message or sms_message',
    ],
    ['a viber text', 'viber', { ...viber, viber_type: 'text' }, 'viber_message'],
    ['a viber image', 'viber', { ...viber, viber_type: 'image' }, 'viber_image'],
    [
      'a viber button without a link',
      'viber',
      { ...viber, viber_type: 'text+link', viber_button: 'Show' },
      'viber_message',
    ],
    ['an sms', 'sms', { sms_message: '' }, 'sms_message'],
    ['an rcs', 'rcs', rcs, 'rcs_message'],
    ['an rcs+sms', 'rcs+sms', { ...rcs, sms_message: '' }, 'rcs_message or sms_message'],
    ['a call', 'voice', { message: null }, 'message'],
    ['a missing stage', 'pipeline', { pipeline: ['sms', 'rcs'] }, 'rcs.message'],
    ['a stage with nulls', 'pipeline', { pipeline: ['rcs'], rcs: { message: null, signature: 'Shop' } }, 'rcs.message'],
    [
      'a stage with an empty text',
      'pipeline',
      { pipeline: ['sms'], sms: { message: '', signature: 'Shop' } },
      'sms.message',
    ],
  ]

  test.each(cases)('is invalid and names the missing field, unless gateway.allowEmpty is true: %s', (...one) => {
    const [, type, fields, missing] = one
    const command = buildCommandOf(type, {}, fields)
    expect(problemOf(command)).toBe(
      `${missing} is required: there is nothing to send without it (gateway.allowEmpty sends it all the same)`,
    )
    expect(isInvalid(readCommand(command, { ...noHook, allowEmpty: true }))).toBe(false)
  })

  test.each<[string, SendType, object, Partial<SendCommand>]>([
    ['sms of a viber+sms', 'viber+sms', { ...nothing('viber+sms'), sms_message: 'Hi' }, {}],
    ['image of a viber text', 'viber', { ...viber, viber_type: 'text', viber_image: 'https://shop.example/a.png' }, {}],
    ['link alone', 'viber+sms', { ...nothing('viber+sms'), viber_link: 'https://shop.example' }, {}],
    [
      'image of an rcs stage',
      'pipeline',
      { pipeline: ['rcs'] },
      { extra: { rcs: '{"image":"https://shop.example/a.png"}' } },
    ],
    [
      'voice of a stage in its form without a text',
      'pipeline',
      { pipeline: ['voice'], voice: { gender: 'male', language: 'uk-UA', name: 'Olena' } },
      {},
    ],
  ])('is not one with the %s', (_, type, fields, overrides) => {
    expect(problemOf(buildCommandOf(type, overrides, { ...fields }))).toBe('none')
  })
})

describe('the callback address', () => {
  const hookFor = ({ id, type }: { id: bigint; type: string }) => `https://busgate.example/hooks/${type}/${id}`
  const hookOf = (command: SendCommand, voiceHook = false) => {
    const reading = readCommand(command, { ...noHook, hookFor, voiceHook })
    return isInvalid(reading) ? reading.error : (JSON.parse(reading.json) as { hook?: string }).hook
  }

  test('is created for types that accept one', () => {
    const hooked = sendTypes.filter(type => hookOf(buildCommandOf(type)) === hookFor({ id: 1001n, type }))
    expect(hooked).toEqual(['sms', 'viber', 'viber+sms', 'rcs', 'rcs+sms', 'rcs+viber+sms', 'telegram'])
    const bare = sendTypes.filter(type => hookOf(buildCommandOf(type)) === undefined)
    expect([...hooked, ...bare]).toHaveLength(sendTypes.length)
  })

  test('is escaped as JSON', () => {
    const hook = 'https://busgate.example/"a\\b\n'
    const command = readCommand(buildCommand(), { ...noHook, hookFor: () => hook }) as Command
    expect(JSON.parse(command.json)).toMatchObject({ hook })
  })

  test('is created from the data of the command', () => {
    const spy = vi.fn(() => null)
    const trace = { traceId: '0af7651916cd43dd8448eb211c80319c', spanId: 'b7ad6b7169203331', flags: 1, state: null }
    const marks = { correlationId: 'order 7', tenant: 'shop', campaign: 'spring' }
    readCommand(buildCommand(marks), { ...noHook, hookFor: spy }, trace)
    const subject = { id: 1001n, type: 'sms', account: 'default', ...marks, country: 'UA', trace }
    expect(spy.mock.calls).toEqual([[subject]])
  })

  test('in the command takes precedence, and must be valid', () => {
    const hook = 'https://shop.example/hook'
    expect(hookOf(buildCommand({ hook }))).toBe(hook)
    expect(hookOf(buildCommand({ hook: 'shop' }))).toMatch(/^hook must be/)
  })

  const unhooked = (options: Parameters<typeof readCommand>[1], changes: Partial<SendCommand> = {}) =>
    sendTypes.filter(type => {
      const reading = readCommand(buildCommandOf(type, changes), options)
      return !isInvalid(reading) && reading.hooked === false
    })

  test('is not sent with pipeline, and with voice only if gateway.voiceHook is true; the command says so', () => {
    const never = ['pipeline', 'call/otp', 'hlr']
    expect(unhooked({ hookFor, voiceHook: true, allowEmpty: false })).toEqual(never)
    expect(unhooked({ hookFor, voiceHook: false, allowEmpty: false })).toEqual(['voice', ...never])
    expect(unhooked({ hookFor: () => null, voiceHook: true, allowEmpty: false })).toEqual(sendTypes)
  })

  test('in the command counts as a hook', () => {
    const hook = 'https://shop.example/hook'
    expect(unhooked({ hookFor: () => null, voiceHook: true, allowEmpty: false }, { hook })).toEqual([
      'pipeline',
      'call/otp',
      'hlr',
    ])
  })

  test('is omitted if there is none', () => {
    expect(operationOf(buildCommand())).not.toHaveProperty('hook')
  })
})

test('before its settings are known, a type that never has a hook has none, and of others nobody can tell', () => {
  const without = sendTypes.filter(type => hookedByType(type) === false)
  expect(without).toEqual(sendTypes.filter(type => !['accepted', 'not shown'].includes(operations[type].hook)))
  expect(new Set(without.map(type => operations[type].hook))).toEqual(new Set(['none', 'not kept']))
  expect(sendTypes.filter(type => hookedByType(type) === null)).toHaveLength(sendTypes.length - without.length)
})
