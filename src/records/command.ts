import { Buffer } from 'node:buffer'
import { z } from 'zod'
import { memoized } from '../memoized.ts'
import { isSendType, lifetimeOf, missingContent, operations, type SendType, sendTypes } from '../protocol/index.ts'
import { stringifyJson } from '../protocol/json.ts'
import { fieldName } from '../protocol/messages.ts'
import { missingContentText } from '../protocol/registry.ts'
import type { TraceContext } from '../telemetry/trace.ts'
import { timeExpected, timeOf } from '../time.ts'
import { countryOf } from './country.ts'
import { type ExtraRules, noExtra, readExtra } from './extra.ts'
import type { Sealed, SendCommand, SendCommandDelivery } from './generated.ts'
import { type FieldProblem, sentenceOf } from './new-command.ts'
import { type AvroField, type AvroRecord, schemas } from './schemas.ts'
import { sealedIn } from './sealed.ts'

/** The fields of every command, valid or not. */
export interface CommandSubject {
  id: bigint
  /** The id as decimal text; the key of the result. */
  idText: string
  /** `unknown` if sealed content names no type of this version. */
  type: SendType | 'unknown'
  account: string
  /**
   * Whether the message has its own callback address. Otherwise its statuses can only reach the account's address. Null if
   * unknown.
   */
  hooked: boolean | null
  correlationId: string | null
  tenant: string | null
  campaign: string | null
  /** Country of the phone number, two letters. */
  country: string | null
  /** Trace of the caller, if the record carried one. */
  trace: TraceContext | null
}

/** A command that may be sent. */
export interface Command extends CommandSubject {
  type: SendType
  /** Whether its content was sealed, so that no record and no text may show it. */
  sealed: boolean
  /** Milliseconds since 1970. */
  deadline: number | null
  /** Not sent before, milliseconds since 1970; its age counts from then. */
  notBefore: number | null
  delivery: SendCommandDelivery
  /** Seconds until the gateway must reach a verdict; null for the usual time of the type. */
  lifetime: number | null
  /** JSON of the operation object in the envelope. */
  json: string
  /** Bytes of `json` in UTF-8. */
  bytes: number
}

/** Memory of the JSON. V8 uses two bytes per character if one character is beyond U+00FF. */
export const memoryOf = ({ json, bytes }: Command): number => (bytes === json.length ? bytes : 2 * json.length)

/** A command that violates the gateway's interface, or whose sealed content is not its own. */
export interface InvalidCommand extends CommandSubject {
  errorCode: 'VALIDATION' | 'SEAL'
  /** Names the field, without its content. */
  error: string
  /** All that is wrong. */
  problems: readonly FieldProblem[]
}

export type CommandReading = Command | InvalidCommand

export const isInvalid = (reading: CommandReading): reading is InvalidCommand => 'error' in reading

/** The subject of a callback address. */
export type HookSubject = Omit<CommandSubject, 'idText' | 'hooked'> & { type: SendType }

export interface CommandOptions {
  /** Makes the callback address of a command that names none; null for no address. */
  hookFor(subject: HookSubject): string | null
  /** `gateway.voiceHook`: whether voice commands get a callback address. The interface does not say whether they may. */
  voiceHook: boolean
  /** `gateway.allowEmpty`: whether a message without content is valid. */
  allowEmpty: boolean
}

/** The union branch of SendCommand for messages of the type. */
export const branchOf = (type: SendType): string => `io.busgate.${operations[type].record}`

/** The type of a command's message, or its record name if there is no such type. */
export function typeOfMessage(command: SendCommand): string {
  const sealed = sealedIn(command)
  if (sealed && isSendType(sealed.type)) return sealed.type
  const name = recordNameOf(command)
  return typesByRecord.get(name) ?? name
}

/**
 * The fields of a command that was perhaps sent, whatever the settings say of its content now.
 * @throws Error when `message` is not a record of SendCommand; decoded commands always are
 */
export function subjectOf(value: SendCommand, trace: TraceContext | null): CommandSubject {
  const { id, account, correlationId, tenant, campaign, phone } = value
  const sealed = sealedIn(value)
  const type = sealed ? typeOfSealed(sealed) : kindNamed(recordNameOf(value)).type
  const hooked = type === 'unknown' ? null : hookedByType(type)
  const country = countryOf(phone)
  const idText = id.toString()
  return { id, idText, type, account, hooked, correlationId, tenant, campaign, country, trace }
}

const typeOfSealed = ({ type }: Sealed): CommandSubject['type'] => (isSendType(type) ? type : 'unknown')

/** A command of which only the subject is known, so that it cannot be sent. */
export const withoutContent = (subject: CommandSubject): Command => ({
  ...subject,
  type: subject.type as SendType, // only its record on the doubts topic would have `unknown`
  sealed: true,
  delivery: 'AT_MOST_ONCE',
  deadline: null,
  notBefore: null,
  lifetime: null,
  json: '',
  bytes: 0,
})

/** The full name of the record in `message`, its only key. */
function recordNameOf({ message }: SendCommand): string {
  for (const name in message) return name
  return ''
}

/** How to read one record of the union. */
interface Kind extends ExtraRules {
  type: SendType
  schema: z.ZodType
  /** What `extra` may set if the content was sealed: none of its fields, and nothing in them. */
  besideSealed: ExtraRules
}

const typesByRecord = new Map<string, SendType>(sendTypes.map(type => [branchOf(type), type]))

/** A field of CallOtp and Hlr for readers of the topic; the gateway does not get it. `extra` may send one of this name. */
const notSentField = 'comment'

/** Every list of the interface is shorter. The check is separate because validation would report each further item. */
const mostItems = 1000
/** Most problems in one error text, since a sender can cause thousands. */
const mostProblems = 3

/**
 * Validates a command against the gateway's interface and builds its operation object.
 * @param flaw the decoder's complaint about the record
 * @param sealed whether the content was sealed, or shall be
 * @throws Error when `message` is not a record of SendCommand; decoded commands always are
 */
export function readCommand(
  value: SendCommand,
  options: CommandOptions,
  trace: TraceContext | null = null,
  flaw: string | null = null,
  sealed = false,
): CommandReading {
  const name = recordNameOf(value)
  const kind = kindNamed(name)

  const { type } = kind
  const { id, account, correlationId, tenant, campaign } = value
  const fields: Fields = { type, id: isExact(id) ? Number(id) : id, phone: value.phone }
  copyWithoutNulls((value.message as unknown as Fields)[name] as Fields, fields)
  if (value.hook !== null) fields.hook = value.hook
  const extra = readExtra(value.extra, sealed ? kind.besideSealed : kind, fields)
  const operation = extra === noExtra ? fields : { ...fields, ...extra.fields }
  const error = flaw ?? extra.error
  const problems =
    error === null ? (problemsOf(kind, operation, options) ?? timeProblem(value)) : [{ field: '', expected: error }]
  const idText = id.toString()
  const country = countryOf(value.phone)
  if (problems !== null) {
    const hooked = hookedByType(type)
    const error = problems.slice(0, mostProblems).map(sentenceOf).join('; ')
    const subject = { id, idText, type, account, hooked, correlationId, tenant, campaign, country, trace }
    return { ...subject, errorCode: 'VALIDATION', error, problems }
  }

  const mayHook = takesHook(type, options)
  if (value.hook === null && mayHook) {
    const hook = options.hookFor({ id, type, account, correlationId, tenant, campaign, country, trace })
    if (hook !== null) fields.hook = hook
  }
  const text = typeof fields.id === 'number' ? JSON.stringify(fields) : stringifyJson(fields)
  const json = extra === noExtra ? text : `${text.slice(0, -1)}${extra.text}}`
  // a spread would build a larger object, which stays in memory until the command's result is committed
  return {
    id,
    idText,
    type,
    account,
    hooked: mayHook && 'hook' in fields,
    correlationId,
    tenant,
    campaign,
    country,
    trace,
    sealed,
    deadline: value.deadline,
    notBefore: value.notBefore,
    delivery: value.delivery,
    lifetime: lifetimeOf(type, operation),
    json,
    bytes: Buffer.byteLength(json),
  }
}

/** Whether a number represents the id exactly. */
const isExact = (id: bigint): boolean => id <= Number.MAX_SAFE_INTEGER

type Fields = Record<string, unknown>

/**
 * The kind of a record, by its name. Compiling its schema takes milliseconds.
 * @throws Error when SendCommand has no such record
 */
const kindNamed = memoized((recordName: string): Kind => {
  const type = typesByRecord.get(recordName)
  if (type === undefined) throw new Error('message is not a record of SendCommand')
  const message = schemas.command.fields.find(field => field.name === 'message')?.type as AvroRecord[]
  const own = message.find(record => record.name === operations[type].record)?.fields ?? []
  const objects = new Set(own.filter(isRecord).map(field => field.name))
  const others = own.map(field => field.name).filter(name => !objects.has(name) && name !== notSentField)
  const common = ['type', 'id', 'phone', 'hook', 'auth', 'data', '__proto__']
  const schema = z.compile<z.ZodType>(operations[type].schema)
  const taken = new Set([...common, ...others])
  const besideSealed = { taken: new Set([...taken, ...objects]), objects: new Set<string>() }
  return { type, schema, taken, objects, besideSealed }
})

function isRecord({ type }: AvroField): boolean {
  return Array.isArray(type) && type.some(branch => typeof branch === 'object' && 'fields' in branch)
}

function copyWithoutNulls(record: Fields, copy: Fields): Fields {
  for (const key in record) {
    const value = record[key]
    if (value !== null && value !== undefined && key !== notSentField) copy[key] = withoutNulls(value)
  }
  return copy
}

function withoutNulls(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value
  return Array.isArray(value) ? value.map(withoutNulls) : copyWithoutNulls(value as Fields, {})
}

/** Validates an operation object. @returns the problems, or null */
function problemsOf({ type, schema }: Kind, operation: Fields, { allowEmpty }: CommandOptions): FieldProblem[] | null {
  for (const name in operation) {
    const value = operation[name]
    if (Array.isArray(value) && value.length > mostItems)
      return [{ field: name, expected: `must have at most ${mostItems} items` }]
  }
  if (schema.validate(operation)) return allowEmpty ? null : missingContentProblem(type, operation)
  const { error } = schema.safeParse(operation)
  return error!.issues.map(({ path, message }) => problemAt(fieldName(path), message))
}

/** A time in seconds must not pass for one long past, which would be sent at once. */
function timeProblem({ notBefore, deadline }: SendCommand): FieldProblem[] | null {
  if (notBefore === null) return null
  if (timeOf(notBefore) === null) return [{ field: 'notBefore', expected: `must be ${timeExpected}` }]
  return deadline !== null && deadline < notBefore
    ? [{ field: 'deadline', expected: 'must not be before notBefore' }]
    : null
}

function missingContentProblem(type: SendType, fields: Fields): FieldProblem[] | null {
  const field = missingContent(type, fields)
  return field === null ? null : [problemAt(field, missingContentText(field, 'gateway.allowEmpty'))]
}

/** @param sentence begins with the field's name, if it has one */
const problemAt = (field: string, sentence: string): FieldProblem =>
  sentence.startsWith(`${field} `)
    ? { field, expected: sentence.slice(field.length + 1) }
    : { field: '', expected: sentence }

/** `hooked` of a message whose settings are unknown: false if its type never has a hook, else null. */
export const hookedByType = (type: SendType): false | null =>
  operations[type].hook === 'not kept' || operations[type].hook === 'none' ? false : null

function takesHook(type: SendType, { voiceHook }: CommandOptions): boolean {
  const { hook } = operations[type]
  return hook === 'accepted' || (hook === 'not shown' && voiceHook)
}
