import { z } from 'zod'
import { messageId } from './ids.ts'
import { expecting, must } from './messages.ts'
import type { OperationType } from './operation.ts'

/**
 * An operation object of one type; additional properties pass through (specification: Operation object). Only a `hook` is
 * checked wherever it is given.
 */
export const operationObject = <T extends OperationType, S extends z.ZodRawShape>(type: T, fields: S) => {
  const shape = { type: z.literal(type, { error: must(`'${type}'`) }), ...fields }
  const operation = z.looseObject(shape, { error: must('an object') })
  if ('hook' in fields) return operation // a check would have every operation copied for it
  return operation.check(({ value, issues }) => {
    if (hook.optional().safeParse(value.hook).success) return
    issues.push({ code: 'custom', path: ['hook'], input: value.hook, message: `hook must be ${hookMeaning}` })
  })
}

export const text = expecting('text', error => z.string({ error }))

export const flag = expecting('true or false', error => z.boolean({ error }))

/** A number of seconds within bounds. */
const seconds = (min: number, max?: number) => {
  const bounds = max === undefined ? `, at least ${min}` : ` from ${min} to ${max}`
  return expecting(`a number of seconds${bounds}`, error => {
    const atLeast = z.number({ error }).min(min, { error })
    return max === undefined ? atLeast : atLeast.max(max, { error })
  })
}

/** Makes the field that says how long a message may be tried. */
export const lifetime = (min: number, max?: number) =>
  seconds(min, max).describe('How long the message may be tried; 172800 when left out.')

/** The recipient's number. 15 digits are the most that E.164 allows; the shortest in use have 7, country code included. */
const isPhone = (value: unknown): boolean =>
  typeof value === 'bigint' || Number.isSafeInteger(value)
    ? (value as number | bigint) >= 1_000_000 && (value as number | bigint) <= 999_999_999_999_999
    : false

const phone = expecting(
  'a number: digits only, international format such as 380501234567, without a plus sign or a leading zero, 7 to 15 digits',
  error => z.custom<number | bigint>(isPhone, { error, abort: true }),
).describe("The recipient's number.")

export const object = <S extends z.ZodRawShape>(fields: S) =>
  expecting('an object', error => z.looseObject(fields, { error }))

/** Every message's identifier and recipient. */
export const addressed = { id: messageId, phone }

const hookMeaning = 'an http or https URL'

/** The address that the delivery status is POSTed to. */
export const hook = expecting(hookMeaning, error => z.string({ error }).regex(/^https?:\/\/\S+$/i, { error })).describe(
  'The address that the delivery status is POSTed to.',
)

export const shortLink = flag.describe('Whether links in the text are shortened and tracked, according to the tariff.')

/** Fields of `sms` that the chains with SMS require too. */
export const smsFields = {
  sms_message: text.describe('Text of the SMS.'),
  sms_signature: text.describe('Sender signature (alpha-name) of the SMS.'),
}

/** Fields of `rcs` and of the chains that begin with it. */
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

/** A model of a voice that reads a message aloud. */
export const voiceModelFields = {
  gender: expecting('male or female', error => z.enum(['male', 'female'], { error })).describe('Gender of the voice.'),
  language: text.describe('Language tag of the voice.'),
  name: text.describe('Name of the voice model.'),
}

export const dtmf = flag.describe('Whether the digit that the recipient presses comes back as `reply` of the callback.')
