/**
 * Writes commands, and waits for what becomes of them.
 * @module busgate/producer
 */
import './supported-node.ts'

import { unlessAborted, type WaitLimit } from './abort.ts'
import { busOf } from './bus/open.ts'
import type { Bus } from './bus/opened.ts'
import { type Bus as BusPort, BusUnavailable, type OutgoingRecord, type Publisher } from './bus/port.ts'
import {
  connectKafkajsPublisher,
  type KafkajsClient,
  type KafkajsProducer,
  kafkajsPublisher,
} from './bus/write/kafkajs-publisher.ts'
import { brokersHint } from './config/errors.ts'
import { type Jwk, keyThatSeals, type SealingKey, type Settings } from './config/index.ts'
import { type CommandHandle, Handles, type OwnHandle } from './consumer/handle.ts'
import { watchesOf } from './consumer/watches.ts'
import type { Withdrawn } from './control/change.ts'
import { historyOf } from './control/history.ts'
import { readControl } from './control/read.ts'
import { recordsOf, usualWithdrawalMs, type WithdrawnNames, withdrawnBy } from './control/withdraw.ts'
import { CommandRecords, type NewCommand } from './records/command-record.ts'
import { problemOfId } from './records/new-command.ts'
import { registryOf, type SchemaRegistry } from './records/registry.ts'
import { Telemetry } from './telemetry/events.ts'
import { sendSpan, traceHeaders } from './telemetry/trace.ts'
import { requireTime, type Time, timeOf } from './time.ts'

export type { WaitLimit } from './abort.ts'
export type { Jwk } from './config/index.ts'
export type { CommandHandle, Verdict } from './consumer/handle.ts'
export { DeadLetterError } from './consumer/result-wait.ts'
export {
  type CommandProblem,
  InvalidCommandError,
  type NewCommand,
  type NewCommandOf,
  type NewMessage,
} from './records/command-record.ts'
export { toPhone } from './records/phone.ts'
export type { Time } from './time.ts'

/** Messages to withdraw: all of a campaign, a correlationId or a tenant, or a single one. */
export type NewWithdrawal = (
  | {
      /** All messages of this campaign. */
      campaign: string
    }
  | {
      /** All messages that carry this correlationId. */
      correlationId: string
    }
  | {
      /** All messages of this tenant. */
      tenant: string
    }
  | {
      /** The message with this id. */
      id: bigint | number
      /** The account of the message. Default: `default`. */
      account?: string
    }
) & {
  /** Every result repeats it: use no phone and no message text. */
  reason: string
  /** Commands written before this time are withdrawn too. Default: 24 hours from now; at most 30 days. */
  until?: Time
  /** Who withdraws; every result repeats it. Default: `kafka.clientId`. */
  by?: string
}

/**
 * Writes commands to the command topics.
 * @example
 * const producer = await createProducer(loadSettings({ env: process.env }))
 * const message = { sms_signature: 'Shop', sms_message: 'Hello' }
 * const [sent] = await producer.send([{ id: 1n, phone: 380501234567n, type: 'sms', message }])
 * console.log((await sent.result()).outcome)
 * await producer.close()
 */
export interface CommandProducer extends AsyncDisposable {
  /**
   * Writes the commands with the context of the active OpenTelemetry span. Resolves when all in-sync replicas hold them, with a
   * handle for each, in order. Calls may overlap. Over busgate's own connection, it rejects after at most 12 s without a broker's answer.
   * @throws InvalidCommandError before anything is written, whatever is wrong with a command; the signal's reason, or Error
   *   when the write was not confirmed: the commands may be on the topic. Sending them again unchanged is safe, since a repeated id is recognised.
   */
  send<const L extends readonly unknown[]>(commands: CommandsOf<L>, options?: WaitLimit): Promise<HandlesOf<L>>
  /**
   * Withdraws commands that are not sent yet, on all workers within two seconds: each ends EXPIRED with errorCode WITHDRAWN.
   * Commands that are written before the withdrawal ends are not sent either. Commands already accepted by the gateway are
   * unaffected. Resolves when all in-sync replicas hold the withdrawal. At most 10,000 withdrawals may be in force; with a
   * service's own kafkajs this is not checked.
   * @throws Error that says why the withdrawal is invalid; the signal's reason: it may come into force all the same
   */
  withdraw(withdrawal: NewWithdrawal, options?: WaitLimit): Promise<void>
  /**
   * Waits for sends and withdrawals that have begun, then closes the connections that busgate opened; a kafkajs producer of the service stays
   * connected. Rejects what waits for results, and later calls.
   */
  close(): Promise<void>
}

/** A list of commands. Each is checked as a `NewCommand`, with its unknown fields; of `L`, only the length counts. */
export type CommandsOf<L extends readonly unknown[]> = { readonly [I in keyof L]: NewCommand }
/** One handle for each command. */
export type HandlesOf<L extends readonly unknown[]> = { -readonly [I in keyof L]: CommandHandle }

/** How to connect, and how long to wait for it. Default: a connection that busgate opens with the settings `kafka.*`. */
export interface ProducerOptions extends WaitLimit {
  /** Your kafkajs client. busgate creates its own producer from it. Default: busgate's own connection. */
  kafka?: KafkajsClient
  /**
   * Your kafkajs producer: connected, idempotent, with kafkajs 2's default partitioner, which busgate cannot check. It stays
   * connected. Default: busgate's own.
   */
  producer?: KafkajsProducer
  /** A bus that you opened with `openBus`; `close` leaves it open. Default: the bus in the settings. */
  bus?: Bus
  /** Schema registry. Default: the one in the settings. */
  registry?: SchemaRegistry
  /**
   * Seals the content of messages, so that only workers read it: a public JWK, or a JWK Set, of which the first key is used. Default:
   * content is in the clear on the topic.
   */
  seal?: Jwk
}

/**
 * Creates a typed producer of commands in the Confluent wire format.
 * @throws SettingsError when the settings name no brokers; RegistryUnavailable; Error when it cannot connect, or when `seal` is no
 *   public key; the signal's reason
 */
export async function createProducer(settings: Settings, options: ProducerOptions = {}): Promise<CommandProducer> {
  options.signal?.throwIfAborted()
  const opening = openProducer(settings, options)
  try {
    return await unlessAborted(options.signal, () => opening)
  } catch (error) {
    opening.then(producer => producer.close()).catch(() => {})
    throw error
  }
}

async function openProducer(settings: Settings, options: ProducerOptions): Promise<CommandProducer> {
  const seal = options.seal ? sealingKeyOf(options.seal) : null
  const records = await CommandRecords.open(settings, options.registry ?? registryOf(settings), seal)
  const { publisher, bus } = await publisherOf(settings, options)

  const handles = new Handles(settings, () => watchesOf(settings, options))
  const writing = new Set<Promise<void>>()
  let isClosed = false
  const requireOpen = () => {
    if (isClosed) throw new Error('the producer is closed: nothing was written')
  }

  const write = (begin: () => Promise<void>, signal: AbortSignal | undefined) =>
    unlessAborted(signal, () => {
      const work = begin()
      writing.add(work)
      work.finally(() => writing.delete(work)).catch(() => {})
      return work
    })

  async function close(): Promise<void> {
    isClosed = true
    await handles.close()
    await Promise.allSettled(writing)
    await publisher.close()
  }

  return {
    async send<const L extends readonly unknown[]>(given: CommandsOf<L>, { signal }: WaitLimit = {}) {
      requireOpen()
      signal?.throwIfAborted()
      const commands = given as readonly NewCommand[]
      const since = Date.now()
      const drafts = records.of(commands)
      const sent = commands.map(({ id, account = 'default', type, notBefore = null }) =>
        handles.of({ id: BigInt(id), account, type, since, notBefore: timeOf(notBefore) }),
      )
      await write(async () => writeCommands(publisher, await records.recordsOf(drafts), sent), signal)
      return sent as readonly CommandHandle[] as HandlesOf<L>
    },
    async withdraw({ reason, until, by = settings.kafka.clientId, ...what }, { signal } = {}) {
      requireOpen()
      const scope = scopeOf(what)
      requireTexts({ reason, by })
      const end = until === undefined ? null : requireTime('until', until)
      const writeWithdrawal = async () => {
        const known = bus && (await readControl(bus, settings, signal).catch(sayWhatToCheck))
        const at = Date.now()
        const stamp = { begins: true, by, at, until: end ?? at + usualWithdrawalMs, reason }
        const records = recordsOf(settings.topics.control, { ...scope, ...stamp }, known)
        await publisher.publish(records)
        await publisher.publish(historyOf(settings.topics.history, records)).catch(warnOfHistory)
      }
      await write(writeWithdrawal, signal)
    },
    close,
    [Symbol.asyncDispose]: close,
  }
}

/** @throws Error that says what is wrong with the key */
function sealingKeyOf(given: Jwk): SealingKey {
  try {
    return keyThatSeals(given)
  } catch (error) {
    throw new Error(`createProducer: seal: ${(error as Error).message}`)
  }
}

/** Writes the records, and tells their handles where they are. */
async function writeCommands(
  publisher: Pick<Publisher, 'publish'>,
  records: readonly OutgoingRecord[],
  handles: readonly OwnHandle[],
): Promise<void> {
  const span = sendSpan(records.map(({ topic }) => topic))
  const headers = span.trace ? { ...traceHeaders(span.trace) } : {}
  try {
    await publisher.publish(
      records.map((record, i) => ({ ...record, headers, written: place => handles[i]!.written(place) })),
    )
    span.end(undefined)
    for (const handle of handles) handle.confirmed()
  } catch (error) {
    span.end(error)
    for (const handle of handles) handle.dismiss()
    throw error
  }
}

function scopeOf(what: WithdrawnNames): Withdrawn {
  const { campaign, correlationId, tenant, account } = what
  requireTexts({ campaign, correlationId, tenant, account })
  const problem = what.id === undefined ? null : problemOfId(what.id)
  if (problem !== null) throw new Error(`withdraw: ${problem}`)
  const scope = withdrawnBy(what)
  if (scope) return scope
  throw new Error('withdraw: name one of campaign, correlationId, tenant and id')
}

/** @throws Error that names the first value that is given and no text */
function requireTexts(values: Readonly<Record<string, unknown>>): void {
  for (const [name, value] of Object.entries(values)) {
    if (value !== undefined && typeof value !== 'string') throw new Error(`withdraw: ${name} must be text`)
  }
}

async function publisherOf(
  settings: Settings,
  { kafka, producer, bus: given }: ProducerOptions,
): Promise<{ publisher: Pick<Publisher, 'publish' | 'close'>; bus: BusPort | null }> {
  const { compression } = settings.kafka
  if (producer) return { publisher: kafkajsPublisher(producer, compression), bus: null }
  if (kafka) return { publisher: await connectKafkajsPublisher(kafka, compression), bus: null }
  const bus = await busOf(settings, given, new Telemetry())
  const publisher = await bus.publisher()
  const close = async () => {
    await publisher.close()
    if (!given) await bus.close()
  }
  const publish = async (records: OutgoingRecord[]) => {
    bus.closing.throwIfAborted()
    await publisher.publish(records).catch(sayWhatToCheck)
  }
  return { publisher: { publish, close }, bus }
}

/** The withdrawal is in force; only `busgate status --history` lacks it. */
function warnOfHistory(error: unknown): void {
  process.emitWarning(
    `the withdrawal is in force, but not in the history: ${(error as Error).message}`,
    'BusgateWarning',
  )
}

/** @throws the error; one that says which settings to check if no broker answers */
function sayWhatToCheck(error: unknown): never {
  if (!(error instanceof BusUnavailable)) throw error
  throw new BusUnavailable(`${error.message}: ${brokersHint}`, { cause: error })
}
