import type { z } from 'zod'

/** Every allowed value of an operation's `type` (specification: Operation object). */
export const operationTypes = [
  'balance',
  'call/otp',
  'hlr',
  'pipeline',
  'rcs',
  'rcs+sms',
  'rcs+viber+sms',
  'sender',
  'sms',
  'status',
  'telegram',
  'template/create',
  'template/delete',
  'template/list',
  'template/viber/create',
  'template/viber/delete',
  'template/viber/list',
  'viber',
  'viber+sms',
  'voice',
] as const

export type OperationType = (typeof operationTypes)[number]

/** What the gateway's interface says about one type of operation. */
export interface Operation<S extends z.ZodType = z.ZodType, P extends z.ZodType = z.ZodType> {
  /** The operation object, `type` included. Additional properties pass through, as the interface allows. */
  schema: S
  /** `data` of a successful item. Reads more than is specified, so that a success is not lost over a detail. */
  payload: P
  /** The heading in the interface specification. */
  section: string
  /**
   * Whether `hook` is a field of the operation. `not kept`: accepted, but the status goes to the address in the
   * account's settings. `not shown`: the specification does not say.
   */
  hook: 'accepted' | 'not kept' | 'not shown' | 'none'
}
