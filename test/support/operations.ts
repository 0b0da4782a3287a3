import type { OperationObject, OperationType } from '../../src/protocol/index.ts'

const addressed = { id: 1001, phone: 380501234567 }

const sms = { sms_message: 'Your parcel is here', sms_signature: 'Shop' }

const rcs = {
  rcs_message: 'Your parcel is here',
  rcs_signature: 'Shop',
  rcs_image: 'https://shop.example/parcel.png',
  rcs_link: 'https://shop.example/parcels/1',
  rcs_button: 'Track',
}

const viber = { viber_type: 'text', viber_message: 'Your parcel is here', viber_signature: 'Shop' } as const

const valid: { [T in OperationType]: OperationObject<T> } = {
  balance: { type: 'balance' },
  'call/otp': { type: 'call/otp', ...addressed },
  hlr: { type: 'hlr', ...addressed },
  pipeline: {
    type: 'pipeline',
    ...addressed,
    pipeline: ['viber', 'sms'],
    viber: { message: 'Your parcel is here', signature: 'Shop', type: 'text' },
    sms: { message: 'Your parcel is here', signature: 'Shop' },
  },
  rcs: { type: 'rcs', ...addressed, ...rcs },
  'rcs+sms': { type: 'rcs+sms', ...addressed, ...rcs, ...sms },
  'rcs+viber+sms': { type: 'rcs+viber+sms', ...addressed, ...rcs, ...viber, ...sms },
  sender: { type: 'sender' },
  sms: { type: 'sms', ...addressed, ...sms },
  status: { type: 'status', id: addressed.id },
  telegram: { type: 'telegram', ...addressed, message: '0421' },
  'template/create': { type: 'template/create', template: 'Your parcel is here', name: 'parcel' },
  'template/delete': { type: 'template/delete', id: '17' },
  'template/list': { type: 'template/list' },
  'template/viber/create': { type: 'template/viber/create', template: 'Your parcel is here', signature: 'Shop' },
  'template/viber/delete': { type: 'template/viber/delete', id: 17 },
  'template/viber/list': { type: 'template/viber/list' },
  viber: { type: 'viber', ...addressed, ...viber },
  'viber+sms': { type: 'viber+sms', ...addressed, ...viber, ...sms },
  voice: {
    type: 'voice',
    ...addressed,
    message: 'Your parcel is here',
    voice: { gender: 'female', language: 'uk-UA', name: 'uk-UA-Standard-A' },
    dtmf: false,
  },
}

/** Builds a valid operation of a type. An override of undefined removes the field. */
export const buildOperation = <T extends OperationType>(
  type: T,
  overrides: Record<string, unknown> = {},
): OperationObject<T> => {
  const fields = Object.entries({ ...structuredClone(valid[type]), ...overrides })
  return Object.fromEntries(fields.filter(([, value]) => value !== undefined)) as OperationObject<T>
}
