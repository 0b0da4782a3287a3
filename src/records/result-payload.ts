import { operations, otpCode, type SendType } from '../protocol/index.ts'
import { isObject } from '../protocol/json.ts'
import { flagOrNull, int32OrNull, intOrNull, jsonOrNull, numberOrNull, PayloadFields, textOrNull } from './fields.ts'
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
  const fields = new PayloadFields(data)
  fields.take('id', textOrNull) // the echo of the command's
  const { answer } = operations[type]
  if (answer === 'lookup') {
    const hlr = readHlr(fields)
    return { ...noPayload, hlr, payload: jsonOrNull(hlr ? fields.rest : data) }
  }
  const read: ResultPayload =
    answer === 'code'
      ? { ...noPayload, code: fields.take('code', otpCode), price: fields.take('price', numberOrNull) }
      : { ...noPayload, msgId: fields.take('msg_id', textOrNull), parts: fields.take('parts', int32OrNull) }
  read.payload = jsonOrNull(fields.rest)
  return read
}

/** Tells whether it holds what most messages' answers do, as specified, and nothing else: nothing of it is left to be told. */
function isPlainMessage(data: Record<string, unknown>): data is { msg_id: string; parts: number } {
  for (const name in data) if (name !== 'id' && name !== 'msg_id' && name !== 'parts') return false
  const { id, msg_id, parts } = data
  return Number.isSafeInteger(id) && typeof msg_id === 'string' && typeof parts === 'number' && (parts | 0) === parts
}

function readHlr(fields: PayloadFields): SendResultHlr | null {
  const phone = fields.take('phone', intOrNull)
  if (phone === null) return null
  return {
    phone,
    status: fields.take('status', textOrNull),
    imsi: fields.take('imsi', textOrNull),
    mccmnc: fields.take('mccmnc', networkCode),
    ported: fields.take('ported', flagOrNull),
    network: fields.object('network', readNetwork),
  }
}

const readNetwork = (fields: PayloadFields): SendResultHlrNetwork => ({
  origin: fields.object('origin', readOperator),
  ported: fields.object('ported', readOperator),
})

const readOperator = (fields: PayloadFields): SendResultHlrOperator => ({
  name: fields.take('name', textOrNull),
  prefix: fields.take('prefix', intOrNull),
  country: fields.object('country', readCountry),
})

const readCountry = (fields: PayloadFields): SendResultHlrCountry => ({
  name: fields.take('name', textOrNull),
  prefix: fields.take('prefix', intOrNull),
})

/** A number would lose the zeros that a code may begin with. */
const networkCode = (value: unknown): number | null =>
  typeof value === 'string' && value.startsWith('0') ? null : int32OrNull(value)
