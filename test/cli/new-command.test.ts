import { expect, test } from 'vitest'
import { commandOfFlags, commandOfLine, send } from '../../src/cli/commands/send.ts'
import { readCommand } from '../../src/records/command.ts'
import { buildCommand } from '../support/commands.ts'

const read = (type: string, message: object) =>
  commandOfLine(JSON.stringify({ id: 1, phone: 380501234567, type, message }), 3)
const sms = { message: 'Hi', signature: 'Shop' }
const slide = { caption: 'Red' }

test.each([
  ['sms', { sms_mesage: 'Hi' }, 'sms_mesage is no field of sms; the nearest is sms_message'],
  ['pipeline', { pipeline: ['sms'], sms: { ...sms, lifetime: 60 } }, "sms.lifetime is no field of pipeline's sms;"],
  [
    'pipeline',
    { pipeline: ['voice'], voice: { voice: { rate: 2 } } },
    "voice.voice.rate is no field of pipeline's voice's voice;",
  ],
  [
    'viber',
    { viber_carousel: [slide, { ...slide, link: 'x' }] },
    "viber_carousel[1].link is no field of viber's viber_carousel;",
  ],
])('send refuses unknown fields of %s, which the record would lose: %j', (type, message, refusal) => {
  expect(() => read(type, message)).toThrow(`line 3: ${refusal}`)
})

test('send refuses a misspelt field of the command, and a tag', () => {
  const command = { id: 1, phone: 380501234567, type: 'sms', message: { sms_message: 'Hi' } }
  expect(() => commandOfLine(JSON.stringify({ ...command, corelationId: 'a' }), 3)).toThrow(
    'line 3: corelationId is no field of a command; the nearest is correlationId',
  )
  expect(() => read('sms', { 'io.busgate.Sms': command.message })).toThrow('leave the tag io.busgate.Sms out here')
})

test('send accepts every field of the records at any depth, and null', () => {
  const message = { pipeline: ['sms', 'voice'], sms, rcs: null, voice: { voice: { gender: 'male' }, dtmf: null } }
  expect(read('pipeline', message)).toMatchObject({ type: 'pipeline', message })
  expect(read('viber', { viber_type: 'carousel', viber_carousel: [slide, slide] })).toMatchObject({ type: 'viber' })
})

test('send accepts additional properties as a flag and in a JSON line', () => {
  const flags = { id: '1', phone: '380671234561', type: 'sms', message: '{"sms_message":"Hi"}' }
  const extra = { unsubscribe_link: 'true' }
  expect(commandOfFlags({ ...flags, extra: JSON.stringify(extra) })).toMatchObject({ extra })
  expect(() => commandOfFlags({ ...flags, extra: '{"sms_lifetime":3600}' })).toThrow(
    'extra.sms_lifetime must be JSON in a string: "5" for a number, "\\"high\\"" for a text',
  )
  expect(() => commandOfFlags({ ...flags, extra: '{"a":1' })).toThrow('--extra is not valid JSON: Expected')
})

test('send --help shows valid additional properties', () => {
  const [, example = ''] = /'({.*})'/.exec(send.flags.extra!.help) ?? []
  const options = { hookFor: () => null, voiceHook: true, allowEmpty: false }
  const command = buildCommand({ extra: JSON.parse(example) })
  expect(readCommand(command, options)).toMatchObject({
    json: expect.stringContaining('"priority":5'),
  })
})

test('send refuses a phone in national format and an id with a leading zero', () => {
  const flags = (id: string, phone: string) => () =>
    commandOfFlags({ id, phone, type: 'sms', message: '{"sms_message":"Hi"}' } as Parameters<typeof commandOfFlags>[0])
  const international = '--phone: expected digits only, in international format such as 380501234567'
  expect(flags('1', '0671234561')).toThrow(international)
  expect(flags('1', '+380671234561')).toThrow(international)
  expect(flags('042', '380671234561')).toThrow('--id: expected a whole number without leading zeros')
  expect(flags('42', '380671234561')()).toMatchObject({ id: 42, phone: 380671234561 })
})
