import { describe, expect, test, vi } from 'vitest'
import { parseJson, type SendType, sendTypes } from '../../src/protocol/index.ts'
import { readCommand } from '../../src/records/command.ts'
import type { SendCommand } from '../../src/records/generated.ts'
import { buildCommand, buildCommandOf } from '../support/commands.ts'
import { throughTheBus } from './codec.ts'

const noHook = { hookFor: () => null, voiceHook: false }

function read(command: SendCommand) {
  const reading = readCommand(command, noHook)
  if (!reading.ok) throw new Error(reading.error)
  return reading.command
}

function operationOf(command: SendCommand): Record<string, unknown> {
  return parseJson(read(command).json) as Record<string, unknown>
}

function problemOf(command: SendCommand): string {
  const reading = readCommand(command, noHook)
  return reading.ok ? 'none' : reading.error
}

test('a list far longer than any may be is one problem, and not one for each of its items', () => {
  const pipeline = Array<string>(1_000_000).fill('')
  expect(problemOf(buildCommandOf('pipeline', {}, { pipeline }))).toBe('pipeline must have at most 1000 items')
})

describe('a valid command', () => {
  test.each(sendTypes)('of type %s is read after its way over the bus', async type => {
    const decoded = await throughTheBus(buildCommandOf(type))
    if (!decoded.ok) throw new Error('not decoded')
    expect(readCommand(decoded.value, noHook)).toMatchObject({ ok: true, command: { type } })
  })

  test('becomes the operation object of the gateway, written once', () => {
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
      delivery: 'AT_MOST_ONCE',
      lifetime: 7200,
      correlationId: null,
      tenant: 'shop',
      trace: null,
      json,
      bytes: json.length,
    })
  })

  test('counts its bytes in UTF-8', () => {
    const command = read(buildCommandOf('sms', {}, { sms_message: 'Їжак €' }))
    expect(command.bytes).toBe(Buffer.from(command.json).length)
  })

  test('keeps an id beyond 2^53 exact', () => {
    const id = 2n ** 63n - 1n
    const command = read(buildCommand({ id }))
    expect([command.id, command.idText, operationOf(buildCommand({ id })).id]).toEqual([id, '9223372036854775807', id])
  })

  test('leaves out what is null, however deep', () => {
    const { viber_carousel: slides } = operationOf(buildCommandOf('viber')) as { viber_carousel: object[] }
    expect(Object.keys(slides[0]!)).toEqual(['caption', 'image', 'button', 'url'])
    const pipeline = operationOf(buildCommandOf('pipeline'))
    expect(Object.keys(pipeline)).toEqual('type id phone pipeline sms viber voice whatsapp'.split(' '))
    expect(pipeline.whatsapp).toEqual({ message: 'Your order is ready' })
    expect(Object.keys(pipeline.voice as object)).toEqual(['message', 'voice'])
  })

  test('of type call/otp or hlr is not sent with its comment', () => {
    for (const type of ['call/otp', 'hlr'] as const) {
      const command = buildCommandOf(type, {}, { comment: 'log-in of a customer' })
      expect(operationOf(command)).toEqual({ type, id: 1001, phone: 380501234567 })
    }
  })
})

describe('an invalid command', () => {
  test('is answered with what its result needs', () => {
    const command = buildCommand({ phone: 0, account: 'second', correlationId: 'order 7', tenant: 'shop' })
    expect(readCommand(command, noHook)).toEqual({
      ok: false,
      id: 1001n,
      type: 'sms',
      account: 'second',
      correlationId: 'order 7',
      tenant: 'shop',
      trace: null,
      error: expect.stringMatching(/^phone must be a number/),
    })
  })

  test.each([0n, -1n])('an id of %s is refused', id => {
    expect(problemOf(buildCommand({ id }))).toMatch(/^id must be a whole number from 1 to 9223372036854775807/)
  })

  const slide = { caption: 'Red' }
  test.each<[SendType, string, unknown]>([
    ['sms', 'sms_lifetime', 3599],
    ['sms', 'sms_lifetime', 259_201],
    ['rcs', 'rcs_lifetime', 59],
    ['rcs+sms', 'rcs_lifetime', 59],
    ['rcs+viber+sms', 'rcs_lifetime', 59],
    ['rcs+viber+sms', 'viber_message', null],
    ['telegram', 'telegram_lifetime', 59],
    ['telegram', 'message', '123'],
    ['telegram', 'message', '123456789'],
    ['viber', 'viber_type', 'video'],
    ['viber', 'viber_carousel', null],
    ['viber', 'viber_carousel', [slide]],
    ['viber', 'viber_carousel', [slide, slide, slide, slide, slide, slide]],
    ['voice', 'voice.gender', { gender: 'robot' }],
    ['pipeline', 'pipeline', []],
    ['pipeline', 'pipeline', ['sms', 'sms']],
    ['pipeline', 'pipeline[0]', ['fax']],
    ['pipeline', 'sms', null],
  ])('a command of type %s is refused by the name of %s', (type, field, value) => {
    const own = field.replace(/[.[].*/, '')
    expect(problemOf(buildCommandOf(type, {}, { [own]: value })).startsWith(`${field} `)).toBe(true)
  })

  test('every type is refused without a valid phone', () => {
    for (const type of sendTypes) expect(problemOf(buildCommandOf(type, { phone: -1 })), type).toMatch(/^phone must be/)
  })

  test('an error tells nothing of the content', () => {
    const command = buildCommandOf('telegram', { phone: 1e15, hook: 'secret text' }, { message: 'secret text' })
    expect(problemOf(command)).toMatch(/phone.*message.*hook/)
    expect(problemOf(command)).not.toMatch(/secret|1000000000000000/)
  })

  test('thousands of problems do not make a long error', () => {
    const command = buildCommandOf('pipeline', {}, { pipeline: Array(5000).fill('fax') })
    expect(problemOf(command).length).toBeLessThan(1000)
  })
})

describe('additional properties', () => {
  test('are sent as the JSON texts that they are, digit by digit', () => {
    const command = buildCommand({ extra: { order: '9223372036854775807', 'a "b"': '{"c":[1.0,null]}' } })
    expect(read(command).json).toMatch(
      /"sms_lifetime":7200,"order":9223372036854775807,"a \\"b\\"":\{"c":\[1\.0,null\]\}\}$/,
    )
    expect(operationOf(command)).toMatchObject({ order: 9223372036854775807n, 'a "b"': { c: [1, null] } })
  })

  test.each(['', 'text', '1,"auth":"stolen"', '{', '1}'])('a value that is no JSON text is refused: %j', json => {
    expect(problemOf(buildCommand({ extra: { campaign: json } }))).toBe('extra.campaign must be a JSON text')
  })

  test.each(['type', 'id', 'phone', 'hook', 'auth', 'data', '__proto__'])('the name %s is refused', name => {
    const extra = JSON.parse(`{ "${name}": "1" }`)
    expect(problemOf(buildCommand({ extra }))).toMatch(new RegExp(`^extra\\.${name} must not be set`))
  })

  test('a field of the message is refused even where the message leaves it out', () => {
    const extra = { sms_lifetime: '60' }
    expect(problemOf(buildCommandOf('sms', { extra }, { sms_lifetime: null }))).toMatch(/^extra\.sms_lifetime/)
    expect(problemOf(buildCommandOf('hlr', { extra }))).toBe('none')
  })

  test('one that the interface knows is checked like any other field', () => {
    expect(problemOf(buildCommandOf('viber+sms', { extra: { viber_carousel: '[]' } }))).toMatch(
      /^viber_carousel must be/,
    )
  })
})

describe('the callback address', () => {
  const hookFor = ({ id, type }: { id: bigint; type: string }) => `https://busgate.example/hooks/${type}/${id}`
  const hookOf = (command: SendCommand, voiceHook = false) => {
    const reading = readCommand(command, { hookFor, voiceHook })
    return reading.ok ? (JSON.parse(reading.command.json) as { hook?: string }).hook : reading.error
  }

  test('is made for the types that accept one', () => {
    const hooked = sendTypes.filter(type => hookOf(buildCommandOf(type)) === hookFor({ id: 1001n, type }))
    expect(hooked).toEqual(['sms', 'viber', 'viber+sms', 'rcs', 'rcs+sms', 'rcs+viber+sms', 'telegram'])
    const bare = sendTypes.filter(type => hookOf(buildCommandOf(type)) === undefined)
    expect([...hooked, ...bare]).toHaveLength(sendTypes.length)
  })

  test('is made for voice when that is configured', () => {
    expect(hookOf(buildCommandOf('voice'), true)).toBe('https://busgate.example/hooks/voice/1001')
  })

  test('is made from what it has to carry', () => {
    const spy = vi.fn(() => null)
    const trace = { traceId: '0af7651916cd43dd8448eb211c80319c', spanId: 'b7ad6b7169203331', flags: 1, state: null }
    readCommand(buildCommand({ correlationId: 'order 7', tenant: 'shop' }), { hookFor: spy, voiceHook: false }, trace)
    const subject = { id: 1001n, type: 'sms', account: 'default', correlationId: 'order 7', tenant: 'shop', trace }
    expect(spy.mock.calls).toEqual([[subject]])
  })

  test('of the caller goes first, and has to be one', () => {
    const hook = 'https://shop.example/hook'
    expect(hookOf(buildCommand({ hook }))).toBe(hook)
    expect(hookOf(buildCommand({ hook: 'shop' }))).toMatch(/^hook must be/)
  })

  test('is left out when there is none', () => {
    expect(operationOf(buildCommand())).not.toHaveProperty('hook')
  })
})
