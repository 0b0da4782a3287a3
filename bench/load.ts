import { setTimeout } from 'node:timers/promises'
import type { Settings } from '../src/config/index.ts'
import { type CommandProducer, createProducer, type NewCommand } from '../src/producer.ts'
import type { SendType } from '../src/protocol/index.ts'
import type { Outside } from './outside.ts'
import { seal } from './sealing.ts'

/** `cyrillic`: SMS with texts and names in Ukrainian; `sealed`: SMS that only the worker can read. */
export const kindsOfCommands = ['sms', 'mixed', 'cyrillic', 'sealed'] as const
export type Kinds = (typeof kindsOfCommands)[number]

export const openProducer = (settings: Settings, kinds: Kinds): Promise<CommandProducer> =>
  createProducer(settings, kinds === 'sealed' ? { seal } : {})

/** Commands without a known time have ids from here on, in the order of appending. */
const firstPlainId = 10_000_000_000
const batch = 2_000
/** How often commands are appended at a steady rate. */
const tickMs = 10

/** Appends `count` commands as fast as possible. */
export async function fill(producer: CommandProducer, count: number, kinds: Kinds): Promise<void> {
  for (let from = 0; from < count; from += batch) {
    const size = Math.min(batch, count - from)
    await producer.send(Array.from({ length: size }, (_, i) => buildCommand(firstPlainId + from + i, kinds)))
  }
}

export interface Feed {
  stop(): Promise<void>
}

export interface FeedOptions {
  /** Commands a second. */
  rate: number
  kinds: Kinds
  urgent?: boolean
  outside: Outside
}

/** Appends commands whose ids contain their time, at a steady rate until it is stopped. */
export async function feed(settings: Settings, options: FeedOptions): Promise<Feed> {
  const producer = await openProducer(settings, options.kinds)
  let stopped = false
  const fed = run(producer, options, () => stopped)
  return {
    async stop() {
      stopped = true
      await fed
      await producer.close()
    },
  }
}

async function run(producer: CommandProducer, options: FeedOptions, stopped: () => boolean): Promise<void> {
  const { rate, kinds, urgent = false, outside } = options
  const started = performance.now()
  const sends = new Set<Promise<unknown>>()
  for (let given = 0; !stopped(); await setTimeout(tickMs)) {
    const due = Math.floor(((performance.now() - started) / 1000) * rate)
    const commands = Array.from({ length: due - given }, () => ({
      ...buildCommand(outside.nextId(), kinds),
      lane: urgent ? 0 : 1,
    }))
    given = due
    if (commands.length === 0) continue
    const send: Promise<unknown> = producer.send(commands).finally(() => sends.delete(send))
    sends.add(send)
  }
  await Promise.all(sends)
}

const text =
  'Your order is on its way. Thank you for your trust in our shop. You can follow it on our page at any time.'
const sms = { sms_message: text, sms_signature: 'Shop' }
const cyrillicSms = {
  sms_message:
    'Ваше замовлення вже в дорозі. Дякуємо за довіру до нашого магазину! Стежте за ним на нашій сторінці будь-коли.',
  sms_signature: 'Магазин',
}
const viber = {
  viber_type: 'text+image+link',
  viber_signature: 'Shop',
  viber_message: text,
  viber_image: 'https://shop.example/i.png',
  viber_link: 'https://shop.example/order',
  viber_button: 'Show',
} as const
const rcs = {
  rcs_message: text,
  rcs_signature: 'Shop',
  rcs_image: 'https://shop.example/i.png',
  rcs_link: 'https://shop.example/order',
  rcs_button: 'Show',
}

/** All types except call/otp: each is a separate POST, which would dominate the measurement. */
type MixedType = Exclude<SendType, 'call/otp'>

const messages: { readonly [T in MixedType]: Extract<NewCommand, { type: T }>['message'] } = {
  sms,
  viber,
  'viber+sms': { ...viber, ...sms },
  rcs,
  'rcs+sms': { ...rcs, ...sms },
  'rcs+viber+sms': { ...rcs, ...viber, ...sms },
  telegram: { message: '123456' },
  voice: { message: text },
  pipeline: {
    pipeline: ['viber', 'sms'],
    sms: { message: text, signature: 'Shop' },
    viber: { message: text, signature: 'Shop', type: 'text' },
  },
  hlr: {},
}
export const mixedTypes = Object.keys(messages) as MixedType[]

/** Builds a command. Mixed commands use all types in turn. */
function buildCommand(id: number, kinds: Kinds): NewCommand {
  const type = kinds === 'mixed' ? mixedTypes[id % mixedTypes.length]! : 'sms'
  const isCyrillic = kinds === 'cyrillic'
  return {
    id,
    phone: 380_670_000_000 + (id % 1_000_000_000),
    type,
    message: isCyrillic ? cyrillicSms : messages[type],
    correlationId: isCyrillic ? `замовлення-${id}` : `order-${id}`,
    tenant: isCyrillic ? 'магазин-7' : 'tenant-7',
    lane: 1,
  } as NewCommand
}
