import { Buffer } from 'node:buffer'
import { lifetimeOf, missingContent, operations, type SendType, sendTypes } from '../protocol/index.ts'
import type { TraceContext } from '../telemetry/trace.ts'
import { type ExtraRules, readExtra } from './extra.ts'
import type { SendCommand, SendCommandDelivery } from './generated.ts'
import { type AvroField, type AvroRecord, schemas } from './schemas.ts'

/** A command that may be sent. */
export interface Command {
  id: bigint
  idText: string
  type: SendType
  account: string
  /** Milliseconds since 1970. */
  deadline: number | null
  delivery: SendCommandDelivery
  /** Seconds until the gateway must have come to a verdict; null: as many as is usual for the type. */
  lifetime: number | null
  /** Whether its statuses can come to the account's address only, because no hook of its own went with it. */
  unhooked: boolean
  correlationId: string | null
  tenant: string | null
  /** The caller's, where its record carried one. */
  trace: TraceContext | null
  /** The operation object, as it goes into the envelope. */
  json: string
  /** Length of json in UTF-8. */
  bytes: number
}

/** The memory of a command's text: V8 keeps two bytes for each character if one of them is beyond U+00FF. */
export const memoryOf = ({ json, bytes }: Command): number => (bytes === json.length ? bytes : 2 * json.length)

/** A command that breaks the gateway's interface. `error` names the field and holds nothing of its content. */
export interface InvalidCommand {
  ok: false
  id: bigint
  idText: string
  type: SendType
  account: string
  correlationId: string | null
  tenant: string | null
  trace: TraceContext | null
  error: string
}

export type CommandReading = { ok: true; command: Command } | InvalidCommand

/** HookSubject is what a callback address is made for. */
export interface HookSubject {
  id: bigint
  type: SendType
  account: string
  correlationId: string | null
  tenant: string | null
  trace: TraceContext | null
}

export interface CommandOptions {
  /** The callback address of a command that names none, as it stands between the quotes of a JSON text; null: it gets none. */
  hookFor(subject: HookSubject): string | null
  /** `gateway.voiceHook`: whether voice gets one. The interface leaves it open. */
  voiceHook: boolean
  /** `gateway.allowEmpty`: whether a message without any content is valid. */
  allowEmpty: boolean
}

/** The branch of SendCommand's union that carries a message of the type. */
export const branchOf = (type: SendType): string => `io.busgate.${operations[type].record}`

/** The type of a command's message, or the name of its record where that is none of these. */
export function typeOfMessage({ message }: SendCommand): string {
  const [name = ''] = Object.keys(message)
  return kinds.get(name)?.type ?? name
}

/** Kind says how one record of the union is read. */
interface Kind extends ExtraRules {
  type: SendType
  /** The operation object's text up to its id. */
  head: string
}

/** The kinds of messages, by the record's full name. */
const kinds = new Map(sendTypes.map(type => [branchOf(type), kindOf(type)]))

/** A note in CallOtp and Hlr for those who read the topic. */
const notSentField = 'comment'

/** No list of the interface has nearly as many items, and each beyond its own bound would be a problem of its own. */
const mostItems = 1000
/** More problems of one command are not told: its sender can send thousands. */
const mostProblems = 3

/**
 * Checks a command against the gateway's interface and writes its operation object.
 * @param flaw what the decoder found wrong with the record
 * @throws Error when `message` is no record of SendCommand; what the decoder made always is.
 */
export function readCommand(
  value: SendCommand,
  options: CommandOptions,
  trace: TraceContext | null = null,
  flaw: string | null = null,
): CommandReading {
  const name = Object.keys(value.message)[0] ?? ''
  const kind = kinds.get(name)
  if (kind === undefined) throw new Error('message is no record of SendCommand')

  const fields = copyWithoutNulls((value.message as unknown as Fields)[name] as Fields, { phone: value.phone })
  if (value.hook !== null) fields.hook = value.hook
  const extra = readExtra(value.extra, kind, fields)
  const text = extra.error === null ? JSON.stringify(fields) : ''
  Object.assign(fields, extra.fields)
  const error = flaw ?? extra.error ?? problemOf(kind.type, value.id, fields, options)
  const { type } = kind
  const { id, account, correlationId, tenant } = value
  const idText = id.toString()
  if (error !== null) return { ok: false, id, idText, type, account, correlationId, tenant, trace, error }

  const mayHook = takesHook(type, options)
  const hook =
    value.hook === null && mayHook ? options.hookFor({ id, type, account, correlationId, tenant, trace }) : null
  const hookText = hook === null ? '' : `,"hook":"${hook}"`
  const hooked = mayHook && (value.hook ?? hook) !== null
  const json = `${kind.head}${idText},${text.slice(1, -1)}${hookText}${extra.text}}`
  // a spread would make a larger object, which is held until the command's result is committed
  const command: Command = {
    id,
    idText,
    type,
    account,
    deadline: value.deadline,
    delivery: value.delivery,
    lifetime: lifetimeOf(type, fields),
    unhooked: !hooked && operations[type].hook !== 'none',
    correlationId,
    tenant,
    trace,
    json,
    bytes: Buffer.byteLength(json),
  }
  return { ok: true, command }
}

type Fields = Record<string, unknown>

function kindOf(type: SendType): Kind {
  const message = schemas.command.fields.find(field => field.name === 'message')?.type as AvroRecord[]
  const own = message.find(record => record.name === operations[type].record)?.fields ?? []
  const objects = new Set(own.filter(isRecord).map(field => field.name))
  const others = own.map(field => field.name).filter(name => !objects.has(name))
  const common = ['type', 'id', 'phone', 'hook', 'auth', 'data', '__proto__']
  const head = `{"type":${JSON.stringify(type)},"id":`
  return { type, head, taken: new Set([...common, ...others]), objects }
}

function isRecord({ type }: AvroField): boolean {
  return Array.isArray(type) && type.some(branch => typeof branch === 'object' && 'fields' in branch)
}

function copyWithoutNulls(record: Fields, copy: Fields = {}): Fields {
  for (const key of Object.keys(record)) {
    const value = record[key]
    if (value !== null && value !== undefined && key !== notSentField) copy[key] = withoutNulls(value)
  }
  return copy
}

function withoutNulls(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value
  return Array.isArray(value) ? value.map(withoutNulls) : copyWithoutNulls(value as Fields)
}

/** Completes the fields to the operation object and asks the protocol. */
function problemOf(type: SendType, id: bigint, fields: Fields, { allowEmpty }: CommandOptions): string | null {
  fields.type = type
  fields.id = id
  for (const name in fields) {
    const value = fields[name]
    if (Array.isArray(value) && value.length > mostItems) return `${name} must have at most ${mostItems} items`
  }
  const { error } = operations[type].schema.safeParse(fields)
  if (error === undefined) return allowEmpty ? null : emptiness(type, fields)
  return error.issues
    .slice(0, mostProblems)
    .map(issue => issue.message)
    .join('; ')
}

function emptiness(type: SendType, fields: Fields): string | null {
  const missing = missingContent(type, fields)
  return (
    missing && `${missing} is required: there is nothing to send without it (gateway.allowEmpty sends it all the same)`
  )
}

/** Tells whether no message of the type has a hook of its own, whatever the settings were when it was sent. */
export const isNeverHooked = (type: SendType): boolean => operations[type].hook === 'not kept'

function takesHook(type: SendType, { voiceHook }: CommandOptions): boolean {
  const { hook } = operations[type]
  return hook === 'accepted' || (hook === 'not shown' && voiceHook)
}
