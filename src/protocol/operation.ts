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

/** Error text for the type whatsapp (specification: What the service does). */
export const whatsappAdvice =
  'whatsapp is not a type, only a stage of pipeline: give type pipeline, and whatsapp in its list pipeline'

/** The `type` of an operation, such as `sms`. */
export type OperationType = (typeof operationTypes)[number]

/** The gateway's interface for one operation type. */
export interface Operation<S extends z.ZodType = z.ZodType, P extends z.ZodType = z.ZodType> {
  /** The operation object, `type` included. Additional properties pass through, as the interface allows. */
  schema: S
  /** `data` of a successful item. Accepts more than is specified, so that a detail never invalidates a success. */
  payload: P
  /** Heading in the interface specification. */
  section: string
  /**
   * Whether `hook` is a field of the operation. `not kept`: accepted, but the status goes to the address in the
   * account's settings. `not shown`: the specification does not say.
   */
  hook: 'accepted' | 'not kept' | 'not shown' | 'none'
  /** Whether the item echoes the operation's `id`; if it does, a different id belongs to another operation. */
  echoesId: boolean
  /** Whether it changes nothing at the gateway, so that repeating it is harmless. */
  readOnly: boolean
}

/** Returns the field that would give an empty operation content; null if it has or needs none. */
export type MissingContent = (operation: Readonly<Record<string, unknown>>) => string | null

/** An operation for one phone, which a command can carry, with all its properties in busgate. */
export interface SendOperation<S extends z.ZodType = z.ZodType, P extends z.ZodType = z.ZodType>
  extends Operation<S, P> {
  /** Its record in schemas/send-command.avsc, namespace io.busgate. */
  record: string
  /** Channels in the order of attempts; null if its field `pipeline` lists them. */
  channels: readonly string[] | null
  missingContent: MissingContent
  /** Content of a successful item: a message's identifier, a one-time code, or the facts about a number. */
  answer: 'message' | 'code' | 'lookup'
  /** Whether the gateway keeps its status for the operation `status`. */
  hasStatus: boolean
  /** Whether it is sent in its own envelope, because refusing it may refuse the whole envelope. */
  alone: boolean
  /** Delivery policy unless a command or setting names one; null for `doubts.policy`. */
  policy: 'AT_MOST_ONCE' | null
  /** Whether `busgate/producer` writes it to the most urgent topic by default. */
  urgent: boolean
}
