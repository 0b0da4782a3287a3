import { definitions, requireGateway, type Settings, SettingsError, variableOf } from '../../config/index.ts'
import type { GatewayClient } from '../../gateway/client.ts'
import { GatewayError, ValidationError } from '../../gateway/errors.ts'
import {
  type OperationObject,
  type OperationType,
  operations,
  operationTypes,
  requiredFields,
} from '../../protocol/index.ts'
import { isObject } from '../../protocol/json.ts'
import { whatsappAdvice } from '../../protocol/operation.ts'
import { type CliCommand, command, textFlag, toggle, UsageError } from '../framework/command.ts'
import { untilSignal } from '../framework/terminal.ts'
import { clientFor } from '../gateway/client.ts'
import { fieldFlags, operationOfFlags, readOperations } from '../gateway/fields.ts'
import {
  type AskedOperation,
  aligned,
  complaints,
  jsonLines,
  type OperationResult,
  textLines,
} from '../gateway/report.ts'
import { configFlag, settingsFrom, unknownAccount } from '../settings.ts'

const ownFlags = {
  account: textFlag('NAME', 'Account that asks. Default: the one named default.'),
  async: toggle('Hands it to the asynchronous interface (gateway.asyncUrl), which answers with a request id.'),
  json: toggle('Prints one JSON object an operation.'),
  config: configFlag,
}
type Options = { account?: string; async?: true; json?: true; config?: string }

const tells =
  'Exits 0 when all of it was done, 1 when something was refused, failed or is in doubt, 2 when nothing was tried.'

export const gateway = command({
  about: [
    'Asks the gateway itself, past the bus and its promises: nothing is tried again, no rate is kept.',
    'Takes operations from standard input: a JSON object with its type, an array of them, or one a line. They go out',
    'together in one envelope. busgate gateway OPERATION takes the fields of one as flags, or JSON without its type.',
    'Each has --help of its own. The 20, with the fields that they require:',
    '',
    ...aligned(operationTypes.map(type => [`  ${type}`, requiredFlags(type).join(' ')])),
    '',
    tells,
  ].join('\n'),
  flags: ownFlags,
  run: options =>
    ask(options, signal => readOperations('gateway needs an OPERATION, or JSON on standard input', signal)),
})

export function gatewayOperation(type: OperationType): CliCommand {
  const fields = fieldFlags(type)
  const names = Object.keys(fields)
  return command({
    about: [
      `Asks the gateway for ${type}; section "${operations[type].section}" of its interface specification.`,
      ...(names.length > 0 ? ['Takes its fields as flags, or without them a JSON object from standard input.'] : []),
      tells,
    ].join('\n'),
    flags: { ...fields, ...ownFlags },
    run: values =>
      ask(values, async signal => {
        if (names.length === 0 || names.some(name => Object.hasOwn(values, name)))
          return [operationOfFlags(type, values)]
        const wanted = requiredFlags(type).join(', ') || 'a field'
        const given = await readOperations(`gateway ${type} needs ${wanted}, or JSON on standard input`, signal)
        return given.map(one => (isObject(one) ? { type, ...one } : one))
      }),
  })
}

/** Takes the flags of pipeline, so that whoever meant it is told so in place of an unknown flag. */
export const gatewayWhatsapp = command({
  about: `Sends nothing: ${whatsappAdvice}.`,
  flags: { ...fieldFlags('pipeline'), ...ownFlags },
  run: async () => {
    throw new UsageError(whatsappAdvice)
  },
})

function requiredFlags(type: OperationType): string[] {
  return requiredFields(type).map(name => `--${name}`)
}

/** @returns the exit code */
async function ask(options: Options, read: (signal: AbortSignal) => Promise<unknown[]>): Promise<number> {
  const settings = settingsFrom(options.config)
  const client = clientOf(settings, options)
  const interruption = new AbortController()
  void untilSignal().then(() => interruption.abort())
  const { signal } = interruption
  try {
    const asked = (await read(signal)) as AskedOperation[]
    requireOneEnvelope(asked, settings)
    const [deliver, shown] = options.async ? [queue, [{}]] : [send, asked]
    const results = await deliver(client, asked as OperationObject[], signal)
    const lines = (options.json ? jsonLines : textLines)(shown, results)
    process.stdout.write(lines.map(line => `${line}\n`).join(''))
    const failed = complaints(asked, results, options.account ?? 'default')
    process.stderr.write(failed.map(line => `busgate: ${line}\n`).join(''))
    return failed.length === 0 ? 0 : signal.aborted ? 130 : 1
  } catch (error) {
    if ((error as Error).name === 'AbortError') return 130
    throw error
  } finally {
    await client.close()
  }
}

function clientOf(settings: Settings, { account = 'default', async: queued }: Options): GatewayClient {
  requireGateway(settings)
  const { asyncUrl, accounts } = settings.gateway
  const known = accounts.get(account)
  if (!known) throw unknownAccount(account, [...accounts.keys()])
  if (queued && asyncUrl === undefined) {
    throw new SettingsError([
      {
        path: 'gateway.asyncUrl',
        where: variableOf('gateway.asyncUrl'),
        what: 'is not set, and needed by --async',
        example: definitions['gateway.asyncUrl'].example,
      },
    ])
  }
  return clientFor(settings.gateway, known)
}

function requireOneEnvelope(asked: readonly unknown[], { gateway: { maxOperations } }: Settings): void {
  if (asked.length <= maxOperations) return
  const most = `an envelope holds at most ${maxOperations} operations (gateway.maxOperations)`
  throw new UsageError(`${most}, and these are ${asked.length}: send them in parts`)
}

/**
 * Sends operations, and tells what became of each. @throws UsageError for what breaks the interface: nothing was sent.
 */
async function send(client: GatewayClient, asked: OperationObject[], signal: AbortSignal): Promise<OperationResult[]> {
  return client.send(asked, { signal }).catch(caught => {
    const error = failure(caught, asked)
    return asked.map(() => ({ ok: false, error }))
  })
}

/**
 * Hands operations to the asynchronous interface, and tells what became of the request. @throws UsageError as send does
 */
async function queue(client: GatewayClient, asked: OperationObject[], signal: AbortSignal): Promise<OperationResult[]> {
  return client.sendAsync(asked, { signal }).then(
    ({ requestId }) => [{ ok: true, data: { request_id: requestId } }],
    error => [{ ok: false, error: failure(error, asked) }],
  )
}

function failure(error: unknown, asked: readonly unknown[]): GatewayError {
  if (error instanceof ValidationError) {
    const { problems } = error
    throw new UsageError(
      problems
        .map(({ index, message }) => (asked.length > 1 ? `operation ${index + 1}: ${message}` : message))
        .join('; '),
    )
  }
  if (error instanceof GatewayError) return error
  throw error
}
