import { expect, test } from 'vitest'
import { commandOfLine } from '../../src/cli/send/new-command.ts'

const read = (type: string, message: object) =>
  commandOfLine(JSON.stringify({ id: 1, phone: 380501234567, type, message }), 3)
const sms = { message: 'Hi', signature: 'Shop' }
const slide = { caption: 'Red' }

test.each([
  ['sms', { sms_mesage: 'Hi' }, 'message: sms has no sms_mesage; the nearest is sms_message'],
  ['pipeline', { pipeline: ['sms'], sms: { ...sms, lifetime: 60 } }, 'message: pipeline.sms has no lifetime;'],
  ['pipeline', { pipeline: ['voice'], voice: { voice: { rate: 2 } } }, 'message: pipeline.voice.voice has no rate;'],
  ['viber', { viber_carousel: [slide, { ...slide, link: 'x' }] }, 'message: viber.viber_carousel has no link;'],
])('send refuses a field that the record of %s would lose: %j', (type, message, refusal) => {
  expect(() => read(type, message)).toThrow(`line 3: ${refusal}`)
})

test('send takes every field that the records have, however deep, and null for any of them', () => {
  const message = { pipeline: ['sms', 'voice'], sms, rcs: null, voice: { voice: { gender: 'male' }, dtmf: null } }
  expect(read('pipeline', message)).toMatchObject({ type: 'pipeline', message })
  expect(read('viber', { viber_type: 'carousel', viber_carousel: [slide, slide] })).toMatchObject({ type: 'viber' })
})
