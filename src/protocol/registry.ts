import type { z } from 'zod'
import type { Operation, OperationType, SendOperation } from './operation.ts'
import { callOtp } from './operations/call-otp.ts'
import { hlr } from './operations/hlr.ts'
import { pipeline } from './operations/pipeline.ts'
import { balance, sender, status } from './operations/queries.ts'
import { rcs, rcsSms, rcsViberSms } from './operations/rcs.ts'
import { sms } from './operations/sms.ts'
import { telegram } from './operations/telegram.ts'
import {
  templateCreate,
  templateDelete,
  templateList,
  templateViberCreate,
  templateViberDelete,
  templateViberList,
} from './operations/templates.ts'
import { viber, viberSms } from './operations/viber.ts'
import { voice } from './operations/voice.ts'

/** All operations of the gateway by `type`, sends first. */
export const operations = {
  sms,
  viber,
  'viber+sms': viberSms,
  rcs,
  'rcs+sms': rcsSms,
  'rcs+viber+sms': rcsViberSms,
  telegram,
  voice,
  pipeline,
  'call/otp': callOtp,
  hlr,
  balance,
  sender,
  status,
  'template/create': templateCreate,
  'template/delete': templateDelete,
  'template/list': templateList,
  'template/viber/create': templateViberCreate,
  'template/viber/delete': templateViberDelete,
  'template/viber/list': templateViberList,
} satisfies Record<OperationType, Operation>

/** A type that a command can carry: a message, the voice code or the number lookup, each for one phone. */
export type SendType = {
  [T in OperationType]: (typeof operations)[T] extends SendOperation ? T : never
}[OperationType]

/** Whether the gateway knows this `type`. */
export const isOperationType = (type: unknown): type is OperationType =>
  typeof type === 'string' && Object.hasOwn(operations, type)

/** Whether a command can carry this `type`. */
export const isSendType = (type: unknown): type is SendType => isOperationType(type) && 'record' in operations[type]

/** The types that a command can carry. */
export const sendTypes: readonly SendType[] = Object.keys(operations).filter(isSendType)

/** The operation object of a type. */
export type OperationObject<T extends OperationType = OperationType> = {
  [K in OperationType]: z.infer<(typeof operations)[K]['schema']>
}[T]

/** The fields of each operation, without its type; additional properties pass through. */
export type OperationFields = {
  [T in OperationType]: {
    [K in keyof OperationObject<T> as K extends 'type' ? never : K]: OperationObject<T>[K]
  }
}

/** `data` of a successful response item of a type. */
export type Payload<T extends OperationType = OperationType> = z.infer<(typeof operations)[T]['payload']>

/** The required fields of an operation besides its type, without those that depend on another field's value. */
export const requiredFields = (type: OperationType): string[] =>
  Object.entries<z.ZodType>(operations[type].schema.shape)
    .filter(([name, field]) => name !== 'type' && !field.safeParse(undefined).success)
    .map(([name]) => name)

/**
 * Returns the field that would give an empty message content; null if it has content, or needs none.
 * @param operation a valid operation object
 */
export const missingContent = (type: OperationType, operation: Readonly<Record<string, unknown>>): string | null =>
  isSendType(type) ? operations[type].missingContent(operation) : null

/** Says that a message has no content. @param allow the setting that allows it */
export const missingContentText = (field: string, allow: string): string =>
  `${field} is required: there is nothing to send without it (${allow} sends it all the same)`
