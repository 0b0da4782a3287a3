import type { SendType } from '../../src/protocol/index.ts'
import type { SendCommand } from '../../src/records/generated.ts'

/** No callback comes from it: only the status tells that it was delivered (docs/sandbox.md). */
export const silentPhone = 380501234596

/** A valid command, as the decoder would answer it: an SMS. */
export function buildCommand(overrides: Partial<SendCommand> = {}): SendCommand {
  return buildCommandOf('sms', overrides)
}

/** Commands with consecutive ids. */
export const commandsFrom = (first: number, count: number, overrides: Partial<SendCommand> = {}): SendCommand[] =>
  Array.from({ length: count }, (_, i) => buildCommand({ id: BigInt(first + i), ...overrides }))

/** A valid command of one type. `fields` replace single fields of its message, valid or not. */
export function buildCommandOf(
  type: SendType,
  overrides: Partial<SendCommand> = {},
  fields: Record<string, unknown> = {},
): SendCommand {
  const [name, message] = messages[type]
  return {
    id: 1001n,
    phone: 380501234567,
    message: { [`io.busgate.${name}`]: { ...message, ...fields } } as unknown as SendCommand['message'],
    account: 'default',
    deadline: null,
    delivery: 'DEFAULT',
    hook: null,
    correlationId: null,
    tenant: null,
    campaign: null,
    extra: {},
    ...overrides,
  }
}

const noSlide = { caption: null, image: null, button: null, url: null, button2: null, url2: null }
const slides = [
  { ...noSlide, caption: 'Red', image: 'https://shop.example/red.png', button: 'Buy', url: 'https://shop.example/red' },
  {
    ...noSlide,
    caption: 'Blue',
    image: 'https://shop.example/blue.png',
    button: 'Buy',
    url: 'https://shop.example/blue',
  },
]
const sms = { sms_message: 'Your order is ready', sms_signature: 'Shop' }
const rcs = {
  rcs_message: 'Your order is ready',
  rcs_signature: 'Shop',
  rcs_image: 'https://shop.example/order.png',
  rcs_link: 'https://shop.example/order',
  rcs_button: 'Show',
  rcs_lifetime: 3600,
  short_link: null,
}
const viber = {
  viber_type: 'text+image+link',
  viber_signature: 'Shop',
  viber_message: 'Your order is ready',
  viber_image: 'https://shop.example/order.png',
  viber_link: 'https://shop.example/order',
  viber_button: 'Show',
}
const voice = { gender: 'female', language: 'uk-UA', name: 'Olena' }

/** Every field of every record is there: what is left out of a message is null. */
const messages: Record<SendType, [name: string, message: object]> = {
  sms: ['Sms', { ...sms, short_link: true, sms_lifetime: 7200, unsubscribe_link: null }],
  viber: [
    'Viber',
    {
      ...viber,
      viber_type: 'carousel',
      viber_image: null,
      viber_carousel: slides,
      viber_lifetime: 3600,
      short_link: null,
    },
  ],
  'viber+sms': ['ViberSms', { ...viber, viber_lifetime: 3600, ...sms, short_link: null }],
  rcs: ['Rcs', rcs],
  'rcs+sms': ['RcsSms', { ...rcs, ...sms }],
  'rcs+viber+sms': ['RcsViberSms', { ...rcs, ...viber, viber_carousel: null, ...sms }],
  telegram: ['Telegram', { message: '123456', telegram_lifetime: 60 }],
  voice: ['Voice', { message: 'Your order is ready', voice, dtmf: true }],
  pipeline: [
    'Pipeline',
    {
      pipeline: ['whatsapp', 'viber', 'sms', 'voice'],
      sms: { message: 'Your order is ready', signature: 'Shop' },
      telegram: null,
      viber: { message: 'Your order is ready', signature: 'Shop', type: 'text' },
      voice: { message: 'Your order is ready', voice, dtmf: null, gender: null, language: null, name: null },
      rcs: null,
      whatsapp: { message: 'Your order is ready', signature: null },
    },
  ],
  'call/otp': ['CallOtp', { comment: 'log-in of a customer' }],
  hlr: ['Hlr', { comment: null }],
}
