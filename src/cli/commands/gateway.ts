import { addAbortSignal } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { stringify } from 'yaml'
import type { z } from 'zod'
import { keyPlaceOf, requireGateway, type Settings, variableOf } from '../../config/index.ts'
import type { GatewayClient } from '../../gateway/client.ts'
import { GatewayError, UnreadablePayloadError, ValidationError } from '../../gateway/errors.ts'
import { isPhone } from '../../protocol/fields.ts'
import {
  isSendType,
  meaningOf,
  type OperationObject,
  type OperationType,
  operations,
  operationTypes,
  requiredFields,
} from '../../protocol/index.ts'
import { isObject, parseQuietly } from '../../protocol/json.ts'
import { whatsappAdvice } from '../../protocol/operation.ts'
import { hasCallingCode } from '../../records/country.ts'
import { clientFor } from '../doctor/gateway.ts'
import { type CliCommand, command, type Flag, textFlag, toggle, UsageError } from '../framework/command.ts'
import { jsonText, printable, printableLines, strictUtf8, untilSignal } from '../framework/terminal.ts'
import { configFlag, settingsFrom, unknownAccount } from '../settings.ts'

type Fields = Record<string, unknown>

const fieldsFlag: Flag<Fields> = {
  value: 'JSON',
  help: 'Its fields as a JSON object. Default: from standard input.',
  bare: true,
  read: given => objectOf(given, 'not valid'),
}

const flags = {
  fields: fieldsFlag,
  account: textFlag('NAME', 'Account to use. Default: the account named default.'),
  json: toggle('Prints one JSON object.'),
  config: configFlag,
}
type Options = { account?: string; json?: true; config?: string }
type Given = { type: OperationType; id?: unknown; phone?: unknown }

const tells = 'Exits 0 if it succeeded, 1 if it was refused, failed or is in doubt, 2 if nothing was tried.'
const widest = Math.max(...operationTypes.map(({ length }) => length))

export const gateway = command({
  about: [
    'Calls the gateway directly, without the bus and its promises: no retry, no rate limit.',
    "busgate gateway OPERATION '{…}' takes the fields of an operation as a JSON object, from standard input as well.",
    'Each has its own --help. The operations, with the fields that they require:',
    '',
    ...operationTypes.map(type => `  ${type.padEnd(widest)}  ${requiredFields(type).join(' ')}`.trimEnd()),
    '',
    tells,
  ].join('\n'),
  flags: {},
  run: async () => {
    throw new UsageError('gateway needs an OPERATION: busgate gateway --help lists them')
  },
})

export function gatewayOperation(type: OperationType): CliCommand {
  const { type: _, ...fields } = operations[type].schema.shape as Record<string, z.ZodType>
  const required = requiredFields(type)
  const rows = Object.entries(fields).map(
    ([name, field]) => `  ${name}: ${required.includes(name) ? 'Required. ' : ''}${meaningOf(field)}`,
  )
  return command({
    about: [
      `Calls the operation ${type}: section "${operations[type].section}" of the gateway's interface specification.`,
      ...(rows.length > 0 ? ['Its fields:', ...rows, ''] : []),
      tells,
    ].join('\n'),
    flags,
    run: ({ fields: given, ...options }) =>
      ask(options, async signal => {
        if (given !== undefined || rows.length === 0) return { ...given, type }
        const wanted = required.join(', ') || 'a field'
        return { ...(await readFields(`gateway ${type} needs ${wanted}, as JSON`, signal)), type }
      }),
  })
}

/** Exists only to explain how to send WhatsApp messages. */
export const gatewayWhatsapp = command({
  about: `Sends nothing: ${whatsappAdvice}.`,
  flags,
  run: async () => {
    throw new UsageError(whatsappAdvice)
  },
})

/**
 * Reads the fields from standard input.
 * @param missing error message if there are none
 * @throws UsageError; AbortError when the signal aborts
 */
async function readFields(missing: string, signal: AbortSignal): Promise<Fields> {
  if (process.stdin.isTTY) throw new UsageError(missing)
  const bytes = await buffer(addAbortSignal(signal, process.stdin))
  try {
    const given = strictUtf8()(bytes).trim()
    if (given !== '') return objectOf(given, 'standard input is not valid JSON')
  } catch (error) {
    throw new UsageError((error as Error).message)
  }
  throw new UsageError(missing)
}

/** @throws Error that says what is wrong, without quoting the text */
function objectOf(text: string, complaint: string): Fields {
  const fields = parseQuietly(text, complaint)
  if (isObject(fields)) return fields
  throw new Error('expected a JSON object')
}

/** @returns the exit code */
async function ask(options: Options, read: (signal: AbortSignal) => Promise<Given>): Promise<number> {
  const { account = 'default', json = false } = options
  const { client, keyPlace } = clientOf(settingsFrom(options.config), account)
  const interruption = new AbortController()
  void untilSignal().then(() => interruption.abort())
  const { signal } = interruption
  try {
    const operation = await read(signal)
    if (isPhone(operation.phone) && !hasCallingCode(operation.phone)) {
      throw new UsageError('phone must begin with a country code, such as 380501234567')
    }
    const result = await send(client, operation, signal)
    if (json) process.stdout.write(`${jsonLine(operation, result)}\n`)
    else process.stdout.write(textOf(result))
    if (result.ok) return 0
    process.stderr.write(`busgate: ${complaint(result.error, operation, keyPlace)}\n`)
    return signal.aborted ? 130 : 1
  } catch (error) {
    if ((error as Error).name === 'AbortError') return 130
    throw error
  } finally {
    await client.close()
  }
}

function clientOf(settings: Settings, account: string): { client: GatewayClient; keyPlace: string } {
  requireGateway(settings)
  const { accounts } = settings.gateway
  const known = accounts.get(account)
  if (!known) throw unknownAccount(account, [...accounts.keys()])
  return { client: clientFor(settings.gateway, known), keyPlace: keyPlaceOf(account, known) }
}

type Result = { ok: true; data: unknown } | { ok: false; error: GatewayError }

/** @throws UsageError when the operation violates the interface; nothing was sent */
async function send(client: GatewayClient, operation: Given, signal: AbortSignal): Promise<Result> {
  try {
    const [result] = await client.send([operation as OperationObject], { signal })
    return result
  } catch (error) {
    if (error instanceof ValidationError) throw new UsageError(error.problems.map(({ message }) => message).join('; '))
    if (error instanceof GatewayError) return { ok: false, error }
    throw error
  }
}

function jsonLine({ type, id: given }: Given, result: Result): string {
  const id = given === undefined ? given : String(given)
  if (result.ok) return jsonText({ type, id, ok: true, data: result.data })
  const { code, message, definite, retryable } = result.error
  const error = { code, message, definite, retryable }
  return jsonText({ type, id, ok: false, error, data: payloadOf(result) })
}

function textOf(result: Result): string {
  const payload = payloadOf(result)
  return payload === undefined ? '' : printableLines(stringify(payload, { lineWidth: 0 }))
}

/** The payload to show, unreadable answers included, since they may have been billed. */
function payloadOf(result: Result): unknown {
  if (result.ok) return result.data
  return result.error instanceof UnreadablePayloadError ? result.error.payload() : undefined
}

/** An error line: what failed, whether it was executed, and what to change. */
function complaint(error: GatewayError, { type }: Given, keyPlace: string): string {
  const what = error.code === 'REJECTED' ? 'the gateway refused the request: ' : ''
  return [
    `${what}${printable(error.message)} (${error.code})`,
    ...certainty(error, type),
    ...mendOf(error, keyPlace),
  ].join('; ')
}

const unknownId = 'perhaps the message was never sent, or the gateway has forgotten it: this proves neither'

/** Whether the operation may have been executed; empty for read-only ones. */
function certainty(error: GatewayError, type: OperationType): string[] {
  if (error.code === 'REJECTED' && type === 'status') return [unknownId]
  if (error instanceof UnreadablePayloadError || operations[type].readOnly) return []
  const done = isSendType(type) ? 'sent' : 'executed'
  return [error.definite ? `not ${done}` : `perhaps ${done}: find out before you retry`]
}

function mendOf({ code }: GatewayError, keyPlace: string): string[] {
  if (code === 'ACCESS_DENIED') return [`put the account's key into ${keyPlace}`]
  return code === 'UNREACHABLE' ? [`check gateway.url (${variableOf('gateway.url')})`] : []
}
