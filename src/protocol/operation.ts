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

/** Who asks for WhatsApp is told this (specification: What the service does). */
export const whatsappAdvice =
  'whatsapp is not a type, only a stage of pipeline: give type pipeline, and whatsapp in its list pipeline'

/** The `type` of an operation, such as `sms`. */
export type OperationType = (typeof operationTypes)[number]

/** Operation is what the gateway's interface says about one type of operation. */
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
  /** Whether the item repeats the operation's `id`, so that another id in its place is an answer to something else. */
  echoesId: boolean
  /** Whether it changes nothing at the gateway, so that a second request does no harm. */
  readOnly: boolean
}

/** Names the field by which an operation object without any content would have some; null: it has, or needs none. */
export type MissingContent = (operation: Readonly<Record<string, unknown>>) => string | null

/** An operation that is addressed to one phone, so that a command can carry it, and all that busgate does differently for it. */
export interface SendOperation<S extends z.ZodType = z.ZodType, P extends z.ZodType = z.ZodType>
  extends Operation<S, P> {
  /** The record of schemas/send-command.avsc that carries it, in the namespace io.busgate. */
  record: string
  /** The channels in the order in which they are tried; null: those that its own field `pipeline` lists. */
  channels: readonly string[] | null
  missingContent: MissingContent
  /** What a successful item tells: the identifier of a message, a one-time code, or what is known of the number. */
  answer: 'message' | 'code' | 'lookup'
  /** Whether the gateway keeps a status of it, which the operation `status` asks for. */
  hasStatus: boolean
  /** Whether it takes an envelope of its own, because the refusal of one may be the refusal of the envelope. */
  alone: boolean
  /** The delivery rule of commands and settings that name none; null: `delivery.default`. */
  policy: 'AT_MOST_ONCE' | null
  /** Whether `busgate/producer` puts it on the most urgent topic unless told otherwise. */
  urgent: boolean
}
