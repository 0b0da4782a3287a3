import './supported-node.ts'

import { Unanswered } from './bus/cluster/errors.ts'
import { openBus } from './bus/open.ts'
import { type Bus, BusUnavailable, type OutgoingRecord, type Publisher } from './bus/port.ts'
import {
  connectKafkajsPublisher,
  type KafkajsClient,
  type KafkajsProducer,
  kafkajsPublisher,
} from './bus/write/kafkajs-publisher.ts'
import { brokersHint } from './config/errors.ts'
import type { Settings } from './config/index.ts'
import type { Withdrawn } from './control/change.ts'
import { readControl } from './control/read.ts'
import { recordsOf, usualWithdrawalMs, type WithdrawnNames, withdrawnBy } from './control/withdraw.ts'
import { isMessageId } from './protocol/ids.ts'
import { operations, type SendType } from './protocol/index.ts'
import { cutTextComplaint, isCutText, pathToText } from './protocol/json.ts'
import { branchOf, isInvalid, readCommand } from './records/command.ts'
import { createEncoder } from './records/encoder.ts'
import type * as generated from './records/generated.ts'
import { problemOfId, problemOfNew } from './records/new-command.ts'
import { fieldOf } from './records/reading.ts'
import { registryOf, type SchemaRegistry } from './records/registry.ts'
import { schemas, subjectOf } from './records/schemas.ts'
import { Telemetry } from './telemetry/events.ts'
import { activeTrace, type TraceHeaders, traceHeaders } from './telemetry/trace.ts'

/** The Avro record of a message type. */
type MessageOf<T extends SendType> =
  Extract<generated.SendCommand['message'], Record<Branch<T>, unknown>> extends Record<Branch<T>, infer M> ? M : never

type Branch<T extends SendType> = `io.busgate.${(typeof operations)[T]['record']}`

/** Makes nullable fields optional, at every depth. */
type Optional<T> = T extends readonly (infer E)[]
  ? Optional<E>[]
  : T extends object
    ? { [K in keyof T as null extends T[K] ? never : K]: Optional<T[K]> } & {
        [K in keyof T as null extends T[K] ? K : never]?: Optional<T[K]>
      }
    : T

type CommandFields = Omit<generated.SendCommand, 'id' | 'phone' | 'message'>

/** A command as an upstream service writes it. See schemas/send-command.avsc for every field. */
export type NewCommand = {
  [T in SendType]: {
    /** Your own id, 1 to 2^63-1, unique in its account for ever: a new attempt needs a new id. */
    id: bigint | number
    /** Digits only, in international format such as 380501234567. */
    phone: bigint | number
    /** The gateway's type; it decides the fields of `message`. */
    type: T
    /** Content, with the field names of the Avro record; nullable fields are optional. */
    message: Optional<MessageOf<T>>
    /**
     * Whether it goes to the most urgent command topic instead of the last. Default: true for call/otp and telegram.
     */
    urgent?: boolean
  } & Partial<CommandFields>
}[SendType]

/** Messages to withdraw: all of a campaign, a correlationId or a tenant, or a single one. */
export type NewWithdrawal = (
  | { campaign: string }
  | { correlationId: string }
  | { tenant: string }
  | {
      id: bigint | number
      /** Default: `default`. */
      account?: string
    }
) & {
  /** Every result repeats it: use no phone and no message text. */
  reason: string
  /**
   * Commands written before this time are withdrawn too; milliseconds since 1970. Default: 24 hours from now; at most
   * 30 days.
   */
  until?: number
  /** Who withdraws; every result repeats it. Default: `kafka.clientId`. */
  by?: string
}

/**
 * Writes commands to the command topics.
 * @example
 * const producer = await createProducer(loadSettings({ env: process.env }))
 * const message = { sms_signature: 'Shop', sms_message: 'Hello' }
 * await producer.send([{ id: 1n, phone: 380501234567n, type: 'sms', message }])
 * await producer.close()
 */
export interface CommandProducer {
  /**
   * Writes the commands with the context of the active OpenTelemetry span. Resolves when all in-sync replicas hold them.
   * Calls may overlap. Over busgate's own connection, it rejects after at most 12 s without a broker's answer.
   * @throws InvalidCommandError before anything is written, whatever is wrong with a command; Error when the write was not
   *   confirmed: the commands may be on the topic. Sending them again unchanged is safe, since a repeated id is recognised.
   */
  send(commands: readonly NewCommand[]): Promise<void>
  /**
   * Withdraws commands that are not sent yet, on all workers within two seconds: each ends EXPIRED with errorCode WITHDRAWN.
   * Commands that are written before the withdrawal ends are not sent either. Commands already accepted by the gateway are
   * unaffected. Resolves when all in-sync replicas hold the withdrawal. At most 10,000 withdrawals may be in force; with a
   * service's own kafkajs this is not checked.
   * @throws Error that says why the withdrawal is invalid
   */
  withdraw(withdrawal: NewWithdrawal): Promise<void>
  /** Closes the connections that busgate opened; a kafkajs producer of the service stays connected. */
  close(): Promise<void>
}

/** Something is wrong with a command; the message names the command's id, the field, and what is expected. */
export class InvalidCommandError extends Error {
  override readonly name = 'InvalidCommandError'
}

/** How to connect. Default: a connection that busgate opens with the settings `kafka.*`. */
export interface ProducerOptions {
  /** Your kafkajs client. busgate creates its own producer from it. */
  kafka?: KafkajsClient
  /**
   * Your kafkajs producer: connected, idempotent, with kafkajs 2's default partitioner, which busgate cannot check. It stays
   * connected.
   */
  producer?: KafkajsProducer
  /** A bus that you opened with `openBus`; `close` leaves it open. */
  bus?: Bus
  /** Schema registry. Default: the one in the settings. */
  registry?: SchemaRegistry
}

/** Creates a typed producer of commands in the Confluent wire format. */
export async function createProducer(settings: Settings, options: ProducerOptions = {}): Promise<CommandProducer> {
  const registry = options.registry ?? registryOf(settings)
  const topics = settings.topics.commands
  const readOptions = { ...settings.gateway, hookFor: () => null }
  const encoders = new Map(
    await Promise.all(
      topics.map(async topic => {
        const encode = await createEncoder<generated.SendCommand>(subjectOf(topic), schemas.command, registry)
        return [topic, encode] as const
      }),
    ),
  )
  const { publisher, bus } = await publisherOf(settings, options)

  function toRecord(command: NewCommand, headers: TraceHeaders | null): OutgoingRecord {
    const problem = problemOfNew(command)
    if (problem !== null) throw invalid(command, problem)
    const { id, type, urgent = operations[type].urgent } = command
    const topic = (urgent ? topics[0] : topics.at(-1))!
    const value = complete(command)
    const cut = pathToText(value, isCutText)
    const flaw = cut && `${fieldOf(cut)} ${cutTextComplaint}`
    const read = readCommand(value, readOptions, null, flaw)
    if (isInvalid(read)) throw invalid(command, read.error)
    const record = { topic, key: Buffer.from(String(id)), value: encoded(topic, value) }
    return headers === null ? record : { ...record, headers: { ...headers } }
  }

  function encoded(topic: string, value: generated.SendCommand): Buffer {
    try {
      return encoders.get(topic)!(value)
    } catch (error) {
      throw invalid(value, (error as Error).message)
    }
  }

  return {
    async send(commands) {
      const trace = activeTrace()
      const headers = trace && traceHeaders(trace)
      await publisher.publish(commands.map(command => toRecord(command, headers)))
    },
    async withdraw({ reason, until, by = settings.kafka.clientId, ...what }) {
      const scope = scopeOf(what)
      const known = bus && (await readControl(bus, settings).catch(sayWhatToCheck))
      const at = Date.now()
      const stamp = { begins: true, by, at, until: until ?? at + usualWithdrawalMs, reason }
      await publisher.publish(recordsOf(settings.topics.control, { ...scope, ...stamp }, known))
    },
    close: () => publisher.close(),
  }
}

function invalid(command: { id: unknown } | null, problem: string): InvalidCommandError {
  return new InvalidCommandError(`${nameOf(command?.id)}: ${problem}`)
}

/** Most characters of a wrong id in an error. */
const longestShownId = 32

/** An object's own toString may throw, and the digits of a huge bigint take seconds to compute. */
function nameOf(id: unknown): string {
  if (typeof id === 'bigint' && !isMessageId(id)) return 'a command with an id out of range'
  if (typeof id !== 'string' && typeof id !== 'number' && typeof id !== 'bigint') return 'a command without an id'
  return `command ${String(id).slice(0, longestShownId)}`
}

function scopeOf(what: WithdrawnNames): Withdrawn {
  const problem = what.id === undefined ? null : problemOfId(what.id)
  if (problem !== null) throw new Error(`withdraw: ${problem}`)
  const scope = withdrawnBy(what)
  if (scope) return scope
  throw new Error('withdraw: name one of campaign, correlationId, tenant and id')
}

async function publisherOf(
  settings: Settings,
  { kafka, producer, bus: given }: ProducerOptions,
): Promise<{ publisher: Pick<Publisher, 'publish' | 'close'>; bus: Bus | null }> {
  const { compression } = settings.kafka
  if (producer) return { publisher: kafkajsPublisher(producer, compression), bus: null }
  if (kafka) return { publisher: await connectKafkajsPublisher(kafka, compression), bus: null }
  const bus = given ?? openBus(settings, new Telemetry())
  const publisher = await bus.publisher()
  const close = async () => {
    await publisher.close()
    if (!given) await bus.close()
  }
  const publish = (records: OutgoingRecord[]) => publisher.publish(records).catch(sayWhatToCheck)
  return { publisher: { publish, close }, bus }
}

/** @throws the error; one that says which settings to check if no broker answers */
function sayWhatToCheck(error: unknown): never {
  if (!(error instanceof BusUnavailable || error instanceof Unanswered)) throw error
  throw new Error(`${error.message}: ${brokersHint}`, { cause: error })
}

function complete(command: NewCommand): generated.SendCommand {
  const { id, phone, type, message, account = 'default', deadline = null, delivery = 'DEFAULT', extra = {} } = command
  const { hook = null, correlationId = null, tenant = null, campaign = null } = command
  return {
    id: BigInt(id),
    phone: typeof phone === 'bigint' ? Number(phone) : phone, // a number that loses digits is too long for a phone
    account,
    deadline,
    delivery,
    hook,
    correlationId,
    tenant,
    campaign,
    extra,
    message: { [branchOf(type)]: message } as unknown as generated.SendCommand['message'],
  }
}
