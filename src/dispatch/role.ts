import { type Account, accountsOf, shareRates } from '../accounts/account.ts'
import { readBalance } from '../accounts/balance.ts'
import { StatusPoller } from '../accounts/poller.ts'
import type { Bus, Membership, SessionListener } from '../bus/port.ts'
import type { Clock } from '../clock.ts'
import type { Settings } from '../config/index.ts'
import type { Controls } from '../control/controls.ts'
import { followControls } from '../control/follow.ts'
import { type Connection, connectGateway, envelopeOverhead } from '../gateway/connection.ts'
import { type Command, type CommandOptions, readCommand } from '../records/command.ts'
import { createDecoder } from '../records/decoder.ts'
import { createDoubtWriter } from '../records/doubt.ts'
import { createEncoder } from '../records/encoder.ts'
import type { Doubt, SendCommand, SendResult, StatusEvent } from '../records/generated.ts'
import type { SchemaRegistry } from '../records/registry.ts'
import { createResultWriter } from '../records/result.ts'
import { writeResultBytes } from '../records/result-bytes.ts'
import { schemas, subjectOf } from '../records/schemas.ts'
import type { GaugeSource } from '../telemetry/definitions.ts'
import type { Telemetry } from '../telemetry/events.ts'
import type { TraceContext } from '../telemetry/trace.ts'
import { commandSessions } from './command-sessions.ts'
import { Evidence } from './doubts/evidence.ts'
import { LostDoubts } from './doubts/lost-doubts.ts'
import { Resolver } from './doubts/resolver.ts'
import { checkTopics, readGauges, reasonsOf, watchCompaction, watchProgress } from './health.ts'
import { ResultsLookup } from './intake/results-lookup.ts'
import { RegistryOutage } from './intake/schema-wait.ts'
import { Outbox } from './outbox.ts'
import { Dispatcher } from './sending/dispatcher.ts'

export interface SendingOptions {
  settings: Settings & { gateway: { url: string } }
  bus: Bus
  registry: SchemaRegistry
  telemetry: Telemetry
  clock: Clock
  hookFor: CommandOptions['hookFor']
  /** Random number from 0 to 1, for jitter. */
  random: () => number
  /** Default: a connection to gateway.url. */
  connection?: Connection
  fatal: (error: Error) => void
}

/** The role `worker`: sends commands and writes results. */
export interface Sending {
  gauges: GaugeSource
  /** Reasons why commands are not sent now; empty if they are. */
  reasons(): string[]
  /** Problems that the operator should solve although commands are sent. */
  warnings(): string[]
  /** Pauses and withdrawals. */
  controls: Controls
  /** Finishes what is in flight within kafka.drainMs and leaves the group. */
  stop(): Promise<void>
}

/** Connections for other requests than envelopes, such as the balance. */
const spareConnections = 1
/**
 * Commands that all slots send while results are committed and the next envelopes are prepared, at a gateway that answers in 20
 * ms.
 */
const leastIntents = 6_400
/**
 * Longest answer per operation. An item of the gateway has some hundred bytes; a long answer takes several times its size in
 * memory for each slot.
 */
const answerBytesPerOperation = 4096
const leastAnswerBytes = 256 * 1024
/** Retry delay for the balance while an account pauses or its rate is used up. */
const balanceRetryMs = 10_000

/** @throws Error when a topic is missing or unusable, or when the bus or the registry is unavailable */
export async function startSending(options: SendingOptions): Promise<Sending> {
  const partitions = await checkTopics(options.bus, options.settings.topics)
  const parts = await partsOf(options)
  const sending = new CommandSending(options, parts, partitions)
  try {
    await sending.join()
    return sending
  } catch (error) {
    await sending.close()
    throw error
  }
}

class CommandSending implements Sending {
  readonly controls: Controls
  readonly #options: SendingOptions
  readonly #parts: Parts
  readonly #common: ReturnType<typeof commonOf>
  readonly #dispatcher: Dispatcher
  readonly #poller: StatusPoller
  readonly #resolver: Resolver
  readonly #lostDoubts: LostDoubts
  readonly #lookup: ResultsLookup | null
  readonly #intake: ReturnType<typeof intakeOf>
  #membership: Membership | null = null
  #stopWatching = () => {}
  #stopAsking = () => {}
  #compaction: ReturnType<typeof watchCompaction> | null = null

  /** @param partitions number of partitions of commands and doubts together */
  constructor(options: SendingOptions, parts: Parts, partitions: number) {
    const { settings, bus } = options
    const { delivery, topics } = settings
    this.#options = options
    this.#parts = parts
    this.controls = parts.followed.controls
    this.#common = commonOf(options, parts)
    const hasLease = () => this.#membership?.hasLease() ?? false
    this.#dispatcher = new Dispatcher({ ...this.#common, ...dispatchingOf(settings), hasLease })
    this.#poller = new StatusPoller({
      ...this.#common,
      hasLease,
      inSlot: request => this.#dispatcher.inSlot(request),
    })
    this.#resolver = this.#resolverOf()
    this.#intake = intakeOf(options)
    this.#lostDoubts = new LostDoubts({ ...options, topic: topics.doubts })
    const owned = () => this.#membership?.share().owned || partitions
    this.#lookup = delivery.checkResults
      ? new ResultsLookup({ ...this.#common, ...parts.decoders, bus, topics, owned })
      : null
  }

  get gauges(): GaugeSource {
    const { settings, clock } = this.#options
    const { accounts, controls } = this.#common
    const read = () =>
      readGauges(this.#joined, this.#dispatcher, this.#resolver, accounts, controls, settings.topics.commands, clock)
    return { read }
  }

  reasons(): string[] {
    return reasonsOf(this.#joined, this.#common.accounts, [
      this.#intake.outage.reason,
      this.#lookup?.reason ?? null,
      this.#lostDoubts.reason,
    ])
  }

  warnings(): string[] {
    const { trouble } = this.#parts.evidence
    return [
      ...(trouble === null ? [] : [trouble]),
      ...(this.#compaction?.warnings() ?? []),
      ...this.#intake.decoder.refusals(),
    ]
  }

  /** Joins the group and begins to send. */
  async join(): Promise<void> {
    const { settings, bus, clock, telemetry } = this.#options
    const { connection, accounts } = this.#common
    this.#membership = await join(this.#options, this.#listener())
    this.#shareChanged()
    this.#dispatcher.pump()
    this.#stopWatching = this.#watch()
    this.#compaction = watchCompaction(bus, settings.topics, clock, telemetry)
    this.#stopAsking = askBalances(connection, accounts, settings.gateway.balanceIntervalMs, this.#options)
  }

  async stop(): Promise<void> {
    const { gateway, kafka } = this.#options.settings
    this.#stopAsking()
    this.#compaction?.stop()
    this.#stopWatching()
    this.#poller.stop()
    this.#lookup?.stop()
    this.#lostDoubts.stop()
    this.#dispatcher.stop()
    await this.#joined.leave(Math.max(gateway.timeoutMs, kafka.drainMs))
    await this.close()
  }

  async close(): Promise<void> {
    await this.#parts.followed.close()
    await this.#parts.connection.close()
  }

  /** Non-null because callers get this object only after `join`. */
  get #joined(): Membership {
    return this.#membership!
  }

  #resolverOf(): Resolver {
    const { gateway, delivery } = this.#options.settings
    return new Resolver({
      ...this.#common,
      poller: this.#poller,
      evidence: this.#parts.evidence,
      policies: delivery.types,
      settleMs: gateway.timeoutMs + delivery.settleMs,
      sendAgain: pending => this.#dispatcher.push([pending]),
    })
  }

  #listener(): SessionListener {
    const { settings, telemetry, fatal } = this.#options
    const { writeResult, doubts, decoders } = this.#parts
    const intake = { ...this.#common, ...this.#intake, lookup: this.#lookup, writeResult }
    return commandSessions({
      doubtsTopic: settings.topics.doubts,
      commandIntake: {
        ...intake,
        objection: command => objection(command, this.#common.accounts, settings.gateway.maxBytes),
        ready: pendings => this.#dispatcher.push(pendings),
      },
      doubtIntake: { ...intake, doubts, resolver: this.#resolver, doubtDecoder: decoders.doubtDecoder },
      lostDoubts: this.#lostDoubts,
      dispatcher: this.#dispatcher,
      telemetry,
      shareChanged: () => this.#shareChanged(),
      fatal,
    })
  }

  #shareChanged(): void {
    const { accounts, clock } = this.#common
    if (this.#membership) shareRates(accounts, this.#membership.share(), clock.monotonic())
  }

  #watch(): () => void {
    const { settings, clock, telemetry, fatal } = this.#options
    return watchProgress({
      sessions: () => this.#joined.sessions(),
      heldBack: () =>
        this.#joined.trouble() !== null ||
        this.#intake.outage.reason !== null ||
        this.#lookup?.reason != null ||
        this.#dispatcher.heldBack,
      doubtsTopic: settings.topics.doubts,
      timeoutMs: settings.gateway.timeoutMs,
      clock,
      telemetry,
      stuck: fatal,
    })
  }
}

/** Opens what is needed before the first command is read: connection, controls, evidence, writers and decoders. */
async function partsOf(options: SendingOptions) {
  const { settings, bus, telemetry, clock } = options
  const writers = await writersOf(options)
  const decoders = decodersOf(options)
  const connection = options.connection ?? connect(settings.gateway)
  try {
    const evidence = await evidenceIn(options)
    const followed = await followControls({ bus, settings, clock, telemetry })
    return { ...writers, decoders, connection, followed, evidence }
  } catch (error) {
    await connection.close()
    throw error
  }
}

type Parts = Awaited<ReturnType<typeof partsOf>>

/** Options that the parts share. */
function commonOf(options: SendingOptions, { connection, outbox, followed: { controls } }: Parts) {
  const { settings, clock, telemetry } = options
  const accounts = accountsOf(settings, options)
  return { ...settings.gateway, ...settings.delivery, connection, accounts, outbox, controls, clock, telemetry }
}

async function writersOf({ settings: { topics, delivery }, registry, telemetry, clock }: SendingOptions) {
  const encodeResult = await createEncoder<SendResult>(
    subjectOf(topics.results),
    schemas.result,
    registry,
    writeResultBytes,
  )
  const encodeDoubt = await createEncoder<Doubt>(subjectOf(topics.doubts), schemas.doubt, registry)
  const writeResult = createResultWriter({
    ...{ topic: topics.results, encode: encodeResult, now: () => clock.now(), codes: delivery.codes },
  })
  const doubts = createDoubtWriter(topics.doubts, encodeDoubt)
  return { writeResult, doubts, outbox: new Outbox(writeResult, doubts, telemetry) }
}

function decodersOf({ registry, clock }: SendingOptions) {
  const patience = { clock, patient: true }
  return {
    resultDecoder: createDecoder<SendResult>(schemas.result, registry, patience),
    doubtDecoder: createDecoder<Doubt>(schemas.doubt, registry, patience),
  }
}

/** Options for reading commands and doubts. */
function intakeOf({ settings: { gateway, topics }, registry, clock, telemetry, hookFor }: SendingOptions) {
  const commandOptions = { ...gateway, hookFor }
  return {
    decoder: createDecoder<SendCommand>(schemas.command, registry, { clock, patient: true }),
    outage: new RegistryOutage({ clock, telemetry }),
    readCommand: (value: SendCommand, trace: TraceContext | null, flaw?: string) =>
      readCommand(value, commandOptions, trace, flaw),
    deadLetterTopic: topics.deadLetters,
  }
}

function connect({
  url,
  ssl,
  timeoutMs,
  keepAliveMs,
  concurrency,
  maxOperations,
}: Settings['gateway'] & { url: string }): Connection {
  return connectGateway({
    url,
    ca: ssl.ca,
    timeoutMs,
    keepAliveMs,
    connections: concurrency + spareConnections,
    maxResponseBytes: Math.max(leastAnswerBytes, answerBytesPerOperation * maxOperations),
  })
}

/** Command topics and the doubts topic, the most urgent first. */
function lanesOf({ commands: [urgent, ...others], doubts }: Settings['topics']): string[] {
  return [urgent!, doubts, ...others]
}

/** Options for the dispatcher alone. */
function dispatchingOf({ gateway, delivery, topics }: SendingOptions['settings']) {
  const { tenantWeights, concurrency, maxOperations } = gateway
  return {
    topics: lanesOf(topics),
    maxIntents: delivery.maxIntents ?? Math.max(leastIntents, 2 * concurrency * maxOperations),
    tenantWeights: new Map(Object.entries(tenantWeights)),
  }
}

function join({ settings: { topics, delivery }, bus }: SendingOptions, listener: SessionListener): Promise<Membership> {
  return bus.join(lanesOf(topics), listener, {
    lookBack: topic => (topic === topics.doubts ? 0 : delivery.dedupeWindow),
    lookBackMs: delivery.maxAgeMs,
    mayBeSent: topic => topic === topics.doubts,
  })
}

async function evidenceIn({ settings, bus, registry, clock, telemetry }: SendingOptions): Promise<Evidence> {
  const decoder = createDecoder<StatusEvent>(schemas.status, registry, { clock, patient: true })
  const evidence = new Evidence({ bus, topic: settings.topics.statuses, decoder, clock, telemetry })
  await evidence.count()
  return evidence
}

function objection(
  { account, bytes }: Command,
  accounts: ReadonlyMap<string, Account>,
  maxBytes: number,
): string | null {
  const known = accounts.get(account)
  if (!known) return `account must be one that gateway.accounts knows: ${[...accounts.keys()].join(', ')}`
  const room = maxBytes - envelopeOverhead(known.apiKey())
  return bytes > room ? `the operation is ${bytes} bytes long; gateway.maxBytes leaves room for ${room}` : null
}

function askBalances(
  connection: Connection,
  accounts: ReadonlyMap<string, Account>,
  intervalMs: number,
  { clock, telemetry }: Pick<SendingOptions, 'clock' | 'telemetry'>,
): () => void {
  if (intervalMs === 0) return () => {}
  let cancel = () => {}
  let stopped = false
  const ask = async () => {
    const asked = await Promise.all(
      [...accounts.values()].map(account => readBalance({ connection, account, clock, telemetry })),
    )
    if (stopped) return
    cancel = clock.after(asked.every(Boolean) ? intervalMs : Math.min(intervalMs, balanceRetryMs), () => void ask())
  }
  void ask()
  return () => {
    stopped = true
    cancel()
  }
}
