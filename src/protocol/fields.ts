import { z } from 'zod'
import { messageId } from './ids.ts'
import { must } from './messages.ts'
import type { OperationType } from './operation.ts'

/** An operation object of one type; additional properties pass through (specification: Operation object). */
export const operationObject = <T extends OperationType, S extends z.ZodRawShape>(type: T, fields: S) =>
  z.looseObject({ type: z.literal(type, { error: must(`'${type}'`) }), ...fields }, { error: must('an object') })

export const text = z.string({ error: must('text') })

export const flag = z.boolean({ error: must('true or false') })

/** A whole number of seconds within bounds. */
export const seconds = (min: number, max?: number) => {
  const error = must(
    max === undefined
      ? `a whole number of seconds, at least ${min}`
      : `a whole number of seconds from ${min} to ${max}`,
  )
  const atLeast = z.int({ error }).min(min, { error })
  return max === undefined ? atLeast : atLeast.max(max, { error })
}

const phoneError = must('a number: digits only, international format, without a plus sign, at most 15 digits')

/** The recipient's number. 15 digits are the most that E.164 allows. */
const phone = z.int({ error: phoneError }).min(1, { error: phoneError }).max(999_999_999_999_999, { error: phoneError })

/** Every message's identifier and recipient. */
export const addressed = { id: messageId, phone }

/** The address that the delivery status is POSTed to. */
export const hook = z.string({ error: must('an http or https URL') }).regex(/^https?:\/\/\S+$/i, {
  error: must('an http or https URL'),
})

/** Fields of `sms` that the chains with SMS require too. */
export const smsFields = { sms_message: text, sms_signature: text }

/** Fields of `rcs` and of the chains that begin with it. `rcs_lifetime` in seconds, 172800 when left out. */
export const rcsFields = {
  ...addressed,
  rcs_message: text,
  rcs_signature: text,
  rcs_image: text,
  rcs_link: text,
  rcs_button: text,
  hook: hook.optional(),
  rcs_lifetime: seconds(60).optional(),
  short_link: flag.optional(),
}

/** A model of a voice that reads a message aloud. `language` is a language tag. */
export const voiceModelFields = {
  gender: z.enum(['male', 'female'], { error: must('male or female') }),
  language: text,
  name: text,
}
