import type { NewCommand } from '../../producer.ts'
import { type SendType, sendTypes } from '../../protocol/index.ts'

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
} as const
const voice = { gender: 'female', language: 'uk-UA', name: 'Olena' } as const

/** The demo's message of each type. */
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

/**
 * The demo's commands, each a function of its index from 0. The lengths of the cycles below have no common divisor, so that
 * every type gets every outcome.
 */

/** Every type once, then the common ones. call/otp stays rare, since each needs its own envelope. */
const mix: readonly SendType[] = [
  ...sendTypes,
  ...repeated('sms', 12),
  ...repeated('viber', 5),
  ...repeated('viber+sms', 5),
  ...repeated('rcs', 4),
]
/**
 * Last digits of a phone that choose the outcome of a message (docs/sandbox.md): refused, undelivered, callbacks that are
 * missing, repeated or early.
 */
const lastDigits = [89, 90, 91, 92, 93, 94, 95, 96, 97, 99]
const silentEnding = 96
const specialInterval = 7
const plainEndings = 89
const tenants = ['shop', 'bank', 'clinic', 'school']
/** Throttled at the first attempt. Only one, because it pauses the whole account. */
const throttled = { index: 500, ending: 98 }

const idOf = (index: number): number => index + 1
export const indexOf = (id: bigint): number => Number(id) - 1

export function typeOf(index: number): SendType {
  return mix[index % mix.length]!
}

export function commandOf(index: number): NewCommand {
  const type = typeOf(index)
  const command = { id: idOf(index), phone: phoneOf(index), type, message: messages[type] }
  return {
    ...command,
    correlationId: `order-${idOf(index)}`,
    campaign: 'welcome',
    tenant: tenants[index % tenants.length],
  } as NewCommand
}

/** A command whose message gets no callback. */
export function silentOf(index: number): NewCommand {
  return {
    ...commandOf(index),
    type: 'sms',
    message: messages.sms,
    phone: 380_670_000_000 + silentEnding,
  } as NewCommand
}

function phoneOf(index: number): number {
  return 380_670_000_000 + (index % 100_000) * 100 + lastDigitsOf(index)
}

function lastDigitsOf(index: number): number {
  if (index === throttled.index) return throttled.ending
  const special = Math.floor(index / specialInterval)
  return index % specialInterval === 3 ? lastDigits[special % lastDigits.length]! : index % plainEndings
}

function repeated(type: SendType, times: number): SendType[] {
  return Array.from({ length: times }, () => type)
}
