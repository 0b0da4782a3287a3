import { z } from 'zod'
import { messageId } from './ids.ts'
import { expecting, must } from './messages.ts'
import type { OperationType } from './operation.ts'

/** Schema of one operation type; additional properties pass through (specification: Operation object). */
export const operationObject = <T extends OperationType, S extends z.ZodRawShape>(type: T, fields: S) => {
  const shape = { type: z.literal(type, { error: must(`'${type}'`) }), ...fields }
  return z.looseObject(shape, { error: must('an object') })
}

export const text = expecting('text', error => z.string({ error }))

export const flag = expecting('true or false', error => z.boolean({ error }))

/** Whole seconds within bounds: commands on the bus cannot carry fractions. */
const seconds = (min: number, max?: number) => {
  const bounds = max === undefined ? `, at least ${min}` : ` from ${min} to ${max}`
  return expecting(`a whole number of seconds${bounds}`, error => {
    const atLeast = z.int({ error }).min(min, { error })
    return max === undefined ? atLeast : atLeast.max(max, { error })
  })
}

/** A field with the longest time for delivery attempts. */
export const lifetime = (min: number, max?: number) =>
  seconds(min, max).describe('How long the message may be tried; 172800 when left out.')

/** E.164 allows at most 15 digits; the shortest numbers in use have 7, with country code. */
export const isPhone = (value: unknown): value is number | bigint =>
  typeof value === 'bigint' || Number.isSafeInteger(value)
    ? (value as number | bigint) >= 1_000_000 && (value as number | bigint) <= 999_999_999_999_999
    : false

const phone = expecting(
  'a number: digits only, international format such as 380501234567, without a plus sign or a leading zero, 7 to 15 digits',
  error => z.custom<number | bigint>(isPhone, { error, abort: true }),
).describe("The recipient's number.")

export const object = <S extends z.ZodRawShape>(fields: S) =>
  expecting('an object', error => z.looseObject(fields, { error }))

/** Every message's id and recipient. */
export const addressed = { id: messageId, phone }

export const hook = expecting('an http or https URL', error =>
  z.string({ error }).regex(/^https?:\/\/\S+$/i, { error }),
).describe('The address that the delivery status is POSTed to.')

export const shortLink = flag.describe('Whether links in the text are shortened and tracked, according to the tariff.')

/** Fields of `sms`, also required by chains with SMS. */
export const smsFields = {
  sms_message: text.describe('Text of the SMS.'),
  sms_signature: text.describe('Sender signature (alpha-name) of the SMS.'),
}

/** Fields of `rcs` and of chains that begin with RCS. */
export const rcsFields = {
  ...addressed,
  rcs_message: text.describe('Text of the RCS message.'),
  rcs_signature: text.describe('Sender signature of the RCS message.'),
  rcs_image: text.describe('Link to the image.'),
  rcs_link: text.describe('Link followed after pressing the button.'),
  rcs_button: text.describe('Caption of the button.'),
  hook: hook.optional(),
  rcs_lifetime: lifetime(60).optional(),
  short_link: shortLink.optional(),
}

/** Voice model of a spoken message. */
export const voiceModelFields = {
  gender: expecting('male or female', error => z.enum(['male', 'female'], { error })).describe('Gender of the voice.'),
  language: text.describe('Language tag of the voice.'),
  name: text.describe('Name of the voice model.'),
}

export const dtmf = flag.describe('Whether the digit that the recipient presses comes back as `reply` of the callback.')
