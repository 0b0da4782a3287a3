import { operations, otpCode, type SendType } from '../protocol/index.ts'
import { isObject } from '../protocol/json.ts'
import { flagOrNull, numberOrNull, textOrNull } from '../protocol/tolerant.ts'
import { int32OrNull, intOrNull, jsonOrNull, objectOrNull, unread } from './fields.ts'
import type {
  SendResult,
  SendResultHlr,
  SendResultHlrCountry,
  SendResultHlrNetwork,
  SendResultHlrOperator,
} from './generated.ts'

/** ResultPayload is what an item's data of a successful operation says, in a result's words. */
export type ResultPayload = Pick<SendResult, 'msgId' | 'parts' | 'code' | 'price' | 'hlr' | 'payload'>

export const noPayload: ResultPayload = { msgId: null, parts: null, code: null, price: null, hlr: null, payload: null }

/**
 * Reads the data of a successful item. Never fails, and loses nothing: what is not as the specification says stays in
 * `payload`, since the message was sent all the same.
 */
export function readPayload(type: SendType, data: unknown): ResultPayload {
  if (!isObject(data)) return { ...noPayload, payload: jsonOrNull(data) }
  if (operations[type].answer === 'message' && isPlainMessage(data)) {
    return { msgId: data.msg_id, parts: data.parts, code: null, price: null, hlr: null, payload: null }
  }
  const { answer } = operations[type]
  const id = textOrNull(data.id) // the echo of the command's
  if (answer === 'lookup') {
    const hlr = readHlr(data)
    return { ...noPayload, hlr, payload: jsonOrNull(hlr ? unread(data, { id, ...hlr }) : data) }
  }
  if (answer === 'code') {
    const [code, price] = [otpCode(data.code), numberOrNull(data.price)]
    return { ...noPayload, code, price, payload: jsonOrNull(unread(data, { id, code, price })) }
  }
  const [msgId, parts] = [textOrNull(data.msg_id), int32OrNull(data.parts)]
  return { ...noPayload, msgId, parts, payload: jsonOrNull(unread(data, { id, msg_id: msgId, parts })) }
}

/** Tells whether it holds what most messages' answers do, as specified, and nothing else: nothing of it is left to be told. */
function isPlainMessage(data: Record<string, unknown>): data is { msg_id: string; parts: number } {
  for (const name in data) if (name !== 'id' && name !== 'msg_id' && name !== 'parts') return false
  const { id, msg_id, parts } = data
  return Number.isSafeInteger(id) && typeof msg_id === 'string' && typeof parts === 'number' && (parts | 0) === parts
}

type Fields = Record<string, unknown>

function readHlr(fields: Fields): SendResultHlr | null {
  const phone = intOrNull(fields.phone)
  if (phone === null) return null
  return {
    phone,
    status: textOrNull(fields.status),
    imsi: textOrNull(fields.imsi),
    mccmnc: networkCode(fields.mccmnc),
    ported: flagOrNull(fields.ported),
    network: objectOrNull(fields.network, readNetwork),
  }
}

const readNetwork = ({ origin, ported }: Fields): SendResultHlrNetwork => ({
  origin: objectOrNull(origin, readOperator),
  ported: objectOrNull(ported, readOperator),
})

const readOperator = ({ name, prefix, country }: Fields): SendResultHlrOperator => ({
  name: textOrNull(name),
  prefix: intOrNull(prefix),
  country: objectOrNull(country, readCountry),
})

const readCountry = ({ name, prefix }: Fields): SendResultHlrCountry => ({
  name: textOrNull(name),
  prefix: intOrNull(prefix),
})

/** A number would lose the zeros that a code may begin with. */
const networkCode = (value: unknown): number | null =>
  typeof value === 'string' && value.startsWith('0') ? null : int32OrNull(value)
