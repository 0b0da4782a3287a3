import type { NewCommand } from '../../producer.ts'
import type { SendType } from '../../protocol/index.ts'

type Message<T extends SendType> = Extract<NewCommand, { type: T }>['message']

const text = 'Your order is ready'
const signature = 'Shop'
const picture = 'https://shop.example/order.png'
const link = 'https://shop.example/order'
const sms = { sms_message: text, sms_signature: signature }
const rcs = { rcs_message: text, rcs_signature: signature, rcs_image: picture, rcs_link: link, rcs_button: 'Show' }
const viber = {
  viber_type: 'text+image+link',
  viber_signature: signature,
  viber_message: text,
  viber_image: picture,
  viber_link: link,
  viber_button: 'Show',
}
const voice = { gender: 'female', language: 'uk-UA', name: 'Olena' }

/** The demo sends this of each kind. */
export const messages: { [T in SendType]: Message<T> } = {
  sms: { ...sms, sms_lifetime: 7200 },
  viber: {
    ...viber,
    viber_type: 'carousel',
    viber_carousel: [
      { caption: 'Red', image: 'https://shop.example/red.png', button: 'Buy', url: 'https://shop.example/red' },
      { caption: 'Blue', image: 'https://shop.example/blue.png', button: 'Buy', url: 'https://shop.example/blue' },
    ],
  },
  'viber+sms': { ...viber, ...sms },
  rcs,
  'rcs+sms': { ...rcs, ...sms },
  'rcs+viber+sms': { ...rcs, ...viber, ...sms },
  telegram: { message: '123456', telegram_lifetime: 60 },
  voice: { message: text, voice, dtmf: true },
  pipeline: {
    pipeline: ['whatsapp', 'viber', 'sms', 'voice'],
    whatsapp: { message: text, signature },
    viber: { message: text, signature, type: 'text' },
    sms: { message: text, signature },
    voice: { message: text, voice },
  },
  'call/otp': { comment: 'log-in' },
  hlr: { comment: 'before the first order' },
}
