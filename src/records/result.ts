import { type SendType, stringifyJson } from '../protocol/index.ts'
import type { SendResult, SendResultHlr, SendResultHlrOperator } from './generated.ts'
import { isLong } from './long.ts'
import type { Shortening } from './shorten.ts'

/** On results of messages whose lifetime is not the usual one of their type: seconds, as decimal text. */
export const lifetimeHeader = 'busgate.lifetime'

/** What an item's data of a successful operation says, in a result's words. */
export type ResultPayload = Pick<SendResult, 'msgId' | 'parts' | 'code' | 'price' | 'hlr' | 'payload'>

export const noPayload: ResultPayload = { msgId: null, parts: null, code: null, price: null, hlr: null, payload: null }

/** An error text is cut at this many characters. */
export const longestError = 1024

const tellable = ['payload', 'hlr', 'msgId', 'code', 'correlationId', 'tenant'] as const
const needed = ['error', 'account', 'type'] as const

/** How a result becomes shorter. What happened to which command is told by each. */
export const resultShortenings: readonly Shortening<SendResult>[] = [
  { out: ['payload'], longest: 512 },
  { out: tellable, cut: needed, longest: 512 },
  { out: tellable, cut: needed, longest: 64 },
]

/**
 * Reads the data of a successful item. Never fails: what is not as the specification says stays in `payload`, since
 * the message was sent all the same.
 */
export function readPayload(type: SendType, data: unknown): ResultPayload {
  if (!isObject(data)) return { ...noPayload, payload: rest(data) }
  if (type === 'hlr') return readHlr(data)
  if (type === 'call/otp') {
    const { code, price, id: _id, ...others } = data
    return { ...noPayload, code: textOrNull(code), price: numberOrNull(price), payload: rest(others) }
  }
  const { id: _id, msg_id, parts, ...others } = data
  return { ...noPayload, msgId: textOrNull(msg_id), parts: int32OrNull(parts), payload: rest(others) }
}

function readHlr(data: Record<string, unknown>): ResultPayload {
  const { phone, status, imsi, mccmnc, ported, network, id: _id, ...others } = data
  const readPhone = intOrNull(phone)
  if (readPhone === null) return { ...noPayload, payload: rest(data) }
  const networks = isObject(network) ? network : null
  const hlr: SendResultHlr = {
    phone: readPhone,
    status: textOrNull(status),
    imsi: textOrNull(imsi),
    mccmnc: int32OrNull(mccmnc),
    ported: typeof ported === 'boolean' ? ported : null,
    network: networks && { origin: operatorOf(networks.origin), ported: operatorOf(networks.ported) },
  }
  return { ...noPayload, hlr, payload: rest(others) }
}

function operatorOf(value: unknown): SendResultHlrOperator | null {
  if (!isObject(value)) return null
  const country = isObject(value.country) ? value.country : null
  return {
    name: textOrNull(value.name),
    prefix: intOrNull(value.prefix),
    country: country && { name: textOrNull(country.name), prefix: intOrNull(country.prefix) },
  }
}

/** What is nested thousands of levels deep can be parsed, but not be written: it is left out. */
function rest(value: unknown): string | null {
  if (value === undefined || value === null || (isObject(value) && Object.keys(value).length === 0)) return null
  try {
    return stringifyJson(value)
  } catch (error) {
    if (error instanceof RangeError) return null
    throw error
  }
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

const textOrNull = (value: unknown): string | null =>
  typeof value === 'string' ? value : typeof value === 'number' || typeof value === 'bigint' ? String(value) : null

function numberOrNull(value: unknown): number | null {
  const number = typeof value === 'string' && value !== '' ? Number(value) : value
  return typeof number === 'number' && Number.isFinite(number) ? number : null
}

function intOrNull(value: unknown): number | null {
  const number = numberOrNull(value)
  return number !== null && isLong(number) ? number : null
}

/** Avro's int. */
function int32OrNull(value: unknown): number | null {
  const int = intOrNull(value)
  return int !== null && (int | 0) === int ? int : null
}
