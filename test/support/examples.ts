import type { OperationType } from '../../src/protocol/index.ts'

type Overrides = Record<string, unknown>

/** The specification's examples of one operation, as changes to a valid one (operations.ts). */
interface Examples {
  /** Accepted operations, by their description. */
  good: Record<string, Overrides>
  /** Refused operations, by their description, with the field that is wrong. */
  bad: Record<string, [field: string, change: Overrides]>
}

const phones: Examples['bad'] = {
  'a phone as text': ['phone', { phone: '380501234567' }],
  'a phone with a plus sign': ['phone', { phone: '+380501234567' }],
  'no phone': ['phone', { phone: undefined }],
}

const addressed: Examples['bad'] = {
  ...phones,
  'no id': ['id', { id: undefined }],
  'an id as text': ['id', { id: '42' }],
}

const ids: Examples['good'] = {
  'the smallest id': { id: 1 },
  'an id beyond 2^53': { id: 2n ** 53n + 1n },
  'the largest id': { id: 2n ** 63n - 1n },
}

const hooks = {
  good: { 'a hook': { hook: 'http://127.0.0.1:9/hook' } },
  bad: { 'a hook that is no URL': ['hook', { hook: 'shop' }] },
} satisfies Examples

const lacking = (...fields: string[]): Examples['bad'] =>
  Object.fromEntries(fields.map(field => [`no ${field}`, [field, { [field]: undefined }]]))

const slides = (count: number) => ({
  viber_carousel: Array.from({ length: count }, () => ({ caption: 'A', image: 'https://shop.example/a.png' })),
})

const link = { viber_link: 'https://shop.example', viber_button: 'Open' }
const image = { viber_image: 'https://shop.example/a.png' }

const variants: Examples['good'] = {
  'viber_type image': { viber_type: 'image', viber_message: undefined, ...image },
  'viber_type text+link': { viber_type: 'text+link', ...link },
  'viber_type text+image+link': { viber_type: 'text+image+link', ...link, ...image },
  'a carousel of 2 slides': { viber_type: 'carousel', ...slides(2) },
  'a carousel of 5 slides': { viber_type: 'carousel', ...slides(5) },
}

const carousels: Examples['bad'] = {
  'a carousel of 1 slide': ['viber_carousel', { viber_type: 'carousel', ...slides(1) }],
  'a carousel of 6 slides': ['viber_carousel', { viber_type: 'carousel', ...slides(6) }],
}

const rcs: Examples = {
  good: {
    ...ids,
    ...hooks.good,
    'an rcs_lifetime of 60 seconds': { rcs_lifetime: 60 },
    'a short link': { short_link: true },
  },
  bad: {
    ...addressed,
    ...hooks.bad,
    'an rcs_lifetime of 59 seconds': ['rcs_lifetime', { rcs_lifetime: 59 }],
    ...lacking('rcs_message', 'rcs_signature', 'rcs_image', 'rcs_link', 'rcs_button'),
  },
}

const sms = lacking('sms_message', 'sms_signature')
const model = { gender: 'male', language: 'en-US', name: 'en-US-Standard-B' }

/** The specification's examples of every operation: its tables, its variants and its limits. */
export const examples: Record<OperationType, Examples> = {
  balance: { good: {}, bad: {} },
  sender: { good: {}, bad: {} },
  'template/list': { good: {}, bad: {} },
  'template/viber/list': { good: {}, bad: {} },
  status: { good: ids, bad: { 'no id': ['id', { id: undefined }], 'an id as text': ['id', { id: '42' }] } },
  hlr: { good: ids, bad: addressed },
  'call/otp': { good: ids, bad: addressed },
  sms: {
    good: {
      ...ids,
      ...hooks.good,
      'an sms_lifetime of 3600 seconds': { sms_lifetime: 3600 },
      'an sms_lifetime of 259200 seconds': { sms_lifetime: 259_200 },
      'links shortened and an unsubscribe link': { short_link: true, unsubscribe_link: true },
    },
    bad: {
      ...addressed,
      ...hooks.bad,
      ...sms,
      'an sms_lifetime of 3599 seconds': ['sms_lifetime', { sms_lifetime: 3599 }],
      'an sms_lifetime of 259201 seconds': ['sms_lifetime', { sms_lifetime: 259_201 }],
    },
  },
  telegram: {
    good: {
      ...ids,
      ...hooks.good,
      '4 digits': { message: '0000' },
      '8 digits': { message: '12345678' },
      'a telegram_lifetime of 60 seconds': { telegram_lifetime: 60 },
    },
    bad: {
      ...addressed,
      ...hooks.bad,
      '3 digits': ['message', { message: '123' }],
      '9 digits': ['message', { message: '123456789' }],
      letters: ['message', { message: 'a1234' }],
      'no message': ['message', { message: undefined }],
      'a telegram_lifetime of 59 seconds': ['telegram_lifetime', { telegram_lifetime: 59 }],
    },
  },
  voice: {
    good: {
      ...ids,
      'the pressed digit requested': { dtmf: true },
      'nothing but id and phone': { message: undefined, voice: undefined, dtmf: undefined },
    },
    bad: { ...addressed, 'another gender': ['voice.gender', { voice: { ...model, gender: 'other' } }] },
  },
  rcs,
  'rcs+sms': { good: rcs.good, bad: { ...rcs.bad, ...sms } },
  'rcs+viber+sms': {
    good: { ...rcs.good, ...variants },
    bad: {
      ...rcs.bad,
      ...sms,
      ...carousels,
      ...lacking('viber_signature', 'viber_type', 'viber_message'),
      'an unknown viber_type': ['viber_type', { viber_type: 'video' }],
      'viber_type image without viber_image': ['viber_image', { viber_type: 'image' }],
      'viber_type text+link without viber_link': ['viber_link', { viber_type: 'text+link', viber_button: 'Open' }],
      'viber_type text+link without viber_button': [
        'viber_button',
        { viber_type: 'text+link', ...link, viber_button: undefined },
      ],
      'viber_type text+image+link without viber_image': ['viber_image', { viber_type: 'text+image+link', ...link }],
      'viber_type carousel without viber_carousel': ['viber_carousel', { viber_type: 'carousel' }],
    },
  },
  viber: {
    good: { ...ids, ...hooks.good, ...variants, 'a short link': { short_link: true } },
    bad: {
      ...addressed,
      ...hooks.bad,
      ...carousels,
      'no viber_type': ['viber_type', { viber_type: undefined }],
      'an unknown viber_type': ['viber_type', { viber_type: 'video' }],
      'viber_type text+link without viber_button': ['viber_button', { viber_type: 'text+link' }],
      'viber_type text+image+link without viber_button': ['viber_button', { viber_type: 'text+image+link' }],
      'viber_type carousel without viber_carousel': ['viber_carousel', { viber_type: 'carousel' }],
    },
  },
  'viber+sms': {
    good: { ...ids, ...hooks.good, ...variants, 'text without an image': { viber_type: 'text' } },
    bad: {
      ...addressed,
      ...hooks.bad,
      ...carousels,
      'a text that is not a string': ['sms_message', { sms_message: 5 }],
    },
  },
  pipeline: {
    good: {
      ...ids,
      ...hooks.good,
      'no id': { id: undefined },
      'every channel': {
        pipeline: ['voice', 'telegram', 'viber', 'rcs', 'sms', 'whatsapp'],
        telegram: { message: '0421' },
        voice: model,
        rcs: { message: 'Hello', signature: 'Shop' },
        whatsapp: { message: 'Hello', signature: 'Shop' },
      },
      'a voice model in a nested object': {
        pipeline: ['voice'],
        voice: { message: 'Hello', voice: model, dtmf: false },
      },
      'a voice model in the object itself': { pipeline: ['voice'], voice: model },
      'whatsapp without a signature': { pipeline: ['whatsapp'], whatsapp: { message: 'Hello' } },
    },
    bad: {
      ...phones,
      ...hooks.bad,
      'a channel twice': ['pipeline', { pipeline: ['sms', 'viber', 'sms'] }],
      'an unknown channel': ['pipeline[0]', { pipeline: ['push'] }],
      'no channel': ['pipeline', { pipeline: [] }],
      'a channel without its object': ['sms', { sms: undefined }],
      'sms without a signature': ['sms.signature', { sms: { message: 'Hello' } }],
      'viber without a type': ['viber.type', { viber: { message: 'Hello', signature: 'Shop' } }],
      'telegram without a message': ['telegram.message', { pipeline: ['telegram'], telegram: {} }],
      'a voice model without a name': ['voice', { pipeline: ['voice'], voice: { ...model, name: undefined } }],
    },
  },
  'template/create': { good: { 'no name': { name: undefined } }, bad: lacking('template') },
  'template/delete': {
    good: {
      'an exact text': { id: undefined, template: 'Hello' },
      both: { template: 'Hello' },
      neither: { id: undefined },
    },
    bad: { 'an id as a number': ['id', { id: 17 }] },
  },
  'template/viber/create': { good: { 'no signature': { signature: undefined } }, bad: lacking('template') },
  'template/viber/delete': {
    good: {
      'an id beyond 2^53': { id: 2n ** 53n + 1n },
      'an exact text': { id: undefined, template: 'Hello' },
      both: { template: 'Hello' },
      neither: { id: undefined },
    },
    bad: { 'an id as text': ['id', { id: '17' }] },
  },
}
