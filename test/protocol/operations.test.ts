import { describe, expect, test } from 'vitest'
import { missingContent, type OperationType, operations, operationTypes, sendTypes } from '../../src/protocol/index.ts'
import { buildOperation } from '../support/operations.ts'
import { problems } from './problems.ts'

describe.each(operationTypes)('the schema of %s', type => {
  test('passes a valid operation unchanged, with additional properties', () => {
    const operation = buildOperation(type, { campaign: 'spring', nested: { a: [1] } })
    expect(operations[type].schema.parse(operation)).toEqual(operation)
  })

  test('refuses another type', () => {
    expect(problems(type, { type: 'whatsapp' })).toEqual([`type must be '${type}'`])
    expect(problems(type, { type: undefined })).toEqual([`type is required and must be '${type}'`])
  })

  test('refuses anything but an object', () => {
    for (const value of [null, [], 'sms', 1]) expect(operations[type].schema.safeParse(value).success).toBe(false)
  })
})

const model = { gender: 'female', language: 'uk-UA', name: 'uk-UA-Standard-A' }

const wrong: [OperationType, string, unknown, string][] = [
  ['sms', 'id', 0, 'id must be a whole number'],
  ['sms', 'id', 1.5, 'id must be a whole number'],
  ['sms', 'id', 2 ** 53, 'id must be a whole number'],
  ['sms', 'id', 2n ** 63n, 'id must be a whole number'],
  ['sms', 'phone', '0671234561', 'international format such as 380501234567, without a plus sign or a leading zero'],
  ['sms', 'phone', 1_000_000_000_000_000n, 'phone must be a number: digits only'],
  ['sms', 'phone', 0n, 'phone must be a number: digits only'],
  ['sms', 'phone', 999_999, 'without a plus sign or a leading zero, 7 to 15 digits'],
  ['hlr', 'phone', 671_234n, 'without a plus sign or a leading zero, 7 to 15 digits'],
  ['sms', 'phone', -380501234567, 'phone must be a number: digits only'],
  ['sms', 'phone', 0, 'phone must be a number: digits only'],
  ['sms', 'phone', 3805012345.5, 'phone must be a number: digits only'],
  ['sms', 'phone', 1_000_000_000_000_000, 'phone must be a number: digits only'],
  ['sms', 'sms_message', 5, 'sms_message must be text'],
  ['sms', 'sms_signature', null, 'sms_signature must be text'],
  ['sms', 'hook', 'https://shop.example/a b', 'hook must be an http or https URL'],
  ['sms', 'hook', 5, 'hook must be an http or https URL'],
  ['sms', 'short_link', 'yes', 'short_link must be true or false'],
  ['sms', 'unsubscribe_link', 1, 'unsubscribe_link must be true or false'],
  ['sms', 'sms_lifetime', 3599.5, 'sms_lifetime must be a whole number of seconds from 3600 to 259200'],
  ['sms', 'sms_lifetime', '7200', 'sms_lifetime must be a whole number of seconds from 3600 to 259200'],
  ['hlr', 'id', null, 'id must be a whole number'],
  ['telegram', 'message', 1234, 'message must be text of 4 to 8 digits'],
  ['telegram', 'message', '1234\n', 'message must be text of 4 to 8 digits'],
  ['telegram', 'message', '١٢٣٤', 'message must be text of 4 to 8 digits'],
  ['telegram', 'hook', '', 'hook must be an http or https URL'],
  ['voice', 'message', 1, 'message must be text'],
  ['voice', 'dtmf', 'no', 'dtmf must be true or false'],
  ['voice', 'voice', 'female', 'voice must be an object'],
  ['voice', 'voice', { language: 1 }, 'voice.language must be text'],
  ['rcs', 'rcs_image', 1, 'rcs_image must be text'],
  ['rcs', 'short_link', 'x', 'short_link must be true or false'],
  ['rcs', 'rcs_lifetime', 59.5, 'rcs_lifetime must be a whole number of seconds, at least 60'],
  ['rcs+sms', 'sms_message', false, 'sms_message must be text'],
  [
    'rcs+viber+sms',
    'viber_type',
    'video',
    'viber_type must be one of text, image, text+link, text+image+link, carousel',
  ],
  ['rcs+viber+sms', 'viber_link', 1, 'viber_link must be text'],
  ['viber', 'viber_type', 'text+image', 'viber_type must be one of text, image, text+link'],
  ['viber', 'viber_type', 'toString', 'viber_type must be one of text, image, text+link'],
  ['viber', 'viber_lifetime', '60', 'viber_lifetime must be a whole number'],
  ['viber', 'viber_carousel', [{}, { caption: 1 }], 'viber_carousel[1].caption must be text'],
  ['viber', 'viber_carousel', [{}, 'slide'], 'viber_carousel[1] must be an object'],
  ['viber+sms', 'viber_type', 1, 'viber_type must be text'],
  ['pipeline', 'pipeline', 'sms', 'pipeline must be a list of at least one of voice, telegram'],
  ['pipeline', 'pipeline', ['sms', 'push'], 'pipeline[1] must be one of voice, telegram, viber, rcs, sms, whatsapp'],
  ['pipeline', 'whatsapp', 'Hello', 'whatsapp must be an object'],
  ['pipeline', 'rcs', { message: 1 }, 'rcs.message must be text'],
  ['pipeline', 'voice', { ...model, gender: 'other' }, 'voice.gender must be male or female'],
  ['pipeline', 'voice', { ...model, message: 5 }, 'voice.message must be text'],
  ['pipeline', 'voice', { ...model, dtmf: 'no' }, 'voice.dtmf must be true or false'],
  ['pipeline', 'voice', { ...model, voice: 'female' }, 'voice.voice must be an object'],
  [
    'pipeline',
    'voice',
    { message: 'Hi', voice: { ...model, language: undefined } },
    'voice.voice.language is required',
  ],
  ['pipeline', 'voice', { message: 'Hi', gender: 'male' }, 'voice must be an object with gender (male or female)'],
  ['template/create', 'template', 1, 'template must be text'],
  ['template/create', 'name', 1, 'name must be text'],
  ['template/viber/create', 'signature', 1, 'signature must be text'],
  ['template/viber/delete', 'id', 2 ** 53, 'id must be a whole number (a bigint beyond 9007199254740991)'],
]

test.each(wrong)('%s with %s = %o is refused: %s', (type, field, value, message) => {
  const found = problems(type, { [field]: value })
  expect(found).toHaveLength(1)
  expect(found[0]).toContain(message)
})

test.each(operationTypes)(
  'a hook of %s is validated if it is a field there; else it is an additional property',
  type => {
    expect(problems(type, { hook: 'https://shop.example/hook' })).toEqual([])
    const isField = operations[type].hook !== 'none'
    for (const hook of ['shop.example/hook', 5, null]) {
      expect(problems(type, { hook })).toEqual(isField ? ['hook must be an http or https URL'] : [])
    }
  },
)

test.each([
  ['sms', 'sms_lifetime', 3600.5],
  ['rcs', 'rcs_lifetime', 60.5],
  ['telegram', 'telegram_lifetime', 60.5],
  ['viber', 'viber_lifetime', 0.5],
] as const)('%s refuses a fraction for %s, as commands on the bus cannot carry one', (type, field, value) => {
  expect(problems(type, { [field]: value })).toEqual([expect.stringContaining(`${field} must be a whole number`)])
})

test.each([{}, { message: 5 }, { signature: ['Shop'], template: 'otp' }])(
  'whatsapp in a pipeline is passed on without validation: %j',
  whatsapp => {
    expect(problems('pipeline', { pipeline: ['whatsapp'], whatsapp })).toEqual([])
    expect(missingContent('pipeline', { pipeline: ['whatsapp'], whatsapp })).toBeNull()
  },
)

test.each(sendTypes)('the phone of %s may be a bigint', type => {
  expect(problems(type, { phone: 380501234567n })).toEqual([])
})

test.each(sendTypes)('the refusal of %s contains neither the phone number nor the text', type => {
  const secret = { phone: '+380671112233', sms_message: ['secret'], message: ['secret'], viber_message: ['secret'] }
  expect(problems(type, secret).join()).not.toMatch(/380671112233|secret/)
})

describe('pipeline', () => {
  test.each([
    ['in its voice object', model],
    ['in a nested voice object', { message: 'Hi', voice: model, dtmf: true }],
  ])('accepts the voice model %s', (_where, voice) => {
    expect(problems('pipeline', { pipeline: ['voice'], voice })).toEqual([])
  })

  test('is refused without a voice model, with the places where it may be', () => {
    expect(problems('pipeline', { pipeline: ['voice'], voice: { message: 'Hi', dtmf: true } })).toEqual([
      'voice must be an object with gender (male or female), language and name, in itself or in a nested voice',
    ])
  })

  test.each(['voice', 'telegram', 'viber', 'sms', 'whatsapp'])(
    'requires the object of each channel that it names: %s',
    channel => {
      const found = problems('pipeline', { pipeline: [channel], [channel]: undefined })
      expect(found).toEqual([`${channel} is required when pipeline names it`])
    },
  )
})
