import { expect, onTestFinished, test } from 'vitest'
import { commandOfFlags, send, sendLines } from '../../src/cli/commands/send.ts'
import { loadSettings, openBus } from '../../src/index.ts'
import { createProducer } from '../../src/producer.ts'
import { readCommand } from '../../src/records/command.ts'
import { buildCommand } from '../support/commands.ts'

/** Sends lines of standard input, of which the first is the third. */
async function lines(...texts: string[]) {
  const settings = loadSettings({ env: {}, overrides: { kafka: { brokers: 'embedded' } } })
  const bus = await openBus(settings)
  onTestFinished(() => bus.close())
  return await sendLines(await createProducer(settings, { bus }), 3, texts)
}

const line = (fields: object) => JSON.stringify({ id: 1, phone: 380501234567, type: 'sms', ...fields })
const read = (type: string, message: object) => lines(line({ type, message }))
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
])('send refuses unknown fields of %s, which the record would lose: %j', async (type, message, refusal) => {
  await expect(read(type, message)).rejects.toThrow(`line 3: ${refusal}`)
})

const message = { sms_message: 'Hi', sms_signature: 'Shop' }

test('send refuses a misspelt field of the command, and a tag', async () => {
  await expect(lines(line({ message, corelationId: 'a' }))).rejects.toThrow(
    'line 3: corelationId is no field of a command; the nearest is correlationId',
  )
  await expect(read('sms', { 'io.busgate.Sms': message })).rejects.toThrow('leave the tag io.busgate.Sms out here')
})

test.each([
  ['a wrong field', line({ message, phone: 17 }), /^line 6: phone must be/],
  ['a wrong message', line({ message: { ...message, sms_lifetime: 1 } }), /^line 6: sms_lifetime must be/],
  ['no JSON', '{', /^line 6: not valid JSON: /],
  ['no object', '5', /^line 6: a command must be an object/],
])('send counts empty lines when it names the line with %s', async (_, wrong, refusal) => {
  await expect(lines('', line({ message }), ' \r', wrong, line({ message }))).rejects.toThrow(refusal)
})

test('send refuses a time that is further ahead than its own commands.horizonMs', async () => {
  const day = 24 * 3_600_000
  const at = (days: number) => lines(line({ message, notBefore: Date.now() + days * day }))
  await expect(at(8)).rejects.toThrow('line 3: notBefore must be at most 7 days ahead (commands.horizonMs)')
  expect(await at(6)).toHaveLength(1)
})

test('send writes each line that is not empty', async () => {
  const written = await lines(line({ message }), '', line({ message, id: 2 }))
  expect(written.map(({ id }) => id)).toEqual([1n, 2n])
})

test('send accepts every field of the records at any depth, and null', async () => {
  const voice = { message: 'Hi', voice: { gender: 'male', language: 'uk', name: 'Anna' }, dtmf: null }
  expect(await read('pipeline', { pipeline: ['sms', 'voice'], sms, rcs: null, voice })).toHaveLength(1)
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
