import { type Account, accountsOf, shareRates } from '../accounts/account.ts'
import { watchBalances } from '../accounts/balance.ts'
import { StatusPoller } from '../accounts/poller.ts'
import type { Bus, JoinOptions, Membership } from '../bus/port.ts'
import type { Clock } from '../clock.ts'
import type { Settings } from '../config/index.ts'
import type { Controls } from '../control/controls.ts'
import { type FollowedControls, followControls } from '../control/follow.ts'
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
import { EarlierEnds } from './intake/earlier-ends.ts'
import { ResultsLookup } from './intake/results-lookup.ts'
import { SchemaWaits } from './intake/schema-wait.ts'
import { UnknownAccounts } from './intake/unknown-accounts.ts'
import { Outbox } from './outbox.ts'
import type { Pending } from './pending.ts'
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

/** @throws Error when a topic is missing or unusable, or when the bus or the registry is unavailable */
export async function startSending(options: SendingOptions): Promise<Sending> {
  const { settings, bus, clock, telemetry } = options
  const { gateway, kafka } = settings
  const partitions = await checkTopics(bus, settings.topics)
  const writers = await writersOf(options)
  const connection = options.connection ?? connect(gateway)
  let close = () => connection.close()
  try {
    const evidence = await evidenceIn(options)
    const followed = await followControls({ bus, settings, clock, telemetry })
    close = () => followed.close().then(() => connection.close())
    let joined: Membership | null = null
    const parts = partsOf(
      options,
      { ...writers, connection, followed, controls: followed.controls, evidence },
      partitions,
      () => joined,
    )
    joined = await bus.join(lanesOf(settings.topics), parts.listener, joinOptionsOf(settings))
    parts.listener.shareChanged()
    parts.dispatcher.pump()
    const { stop, ...watched } = watch(options, parts, joined)
    return {
      ...reportsOf(options, parts, joined, watched),
      async stop() {
        stop()
        await joined!.leave(Math.max(gateway.timeoutMs, kafka.drainMs))
        await close()
      },
    }
  } catch (error) {
    await close()
    throw error
  }
}

interface Tools extends Awaited<ReturnType<typeof writersOf>> {
  connection: Connection
  followed: FollowedControls
  controls: Controls
  evidence: Evidence
}

/**
 * The parts that read, send and resolve commands, once the group is joined.
 * @param partitions number of partitions of commands and doubts together
 * @param group null until it is joined
 */
function partsOf(options: SendingOptions, tools: Tools, partitions: number, group: () => Membership | null) {
  const { settings, bus, registry, clock, telemetry, fatal } = options
  const { gateway, delivery, topics } = settings
  const accounts = accountsOf(settings, options)
  const hasLease = () => group()?.hasLease() ?? false
  const common = { ...gateway, ...delivery, ...tools, accounts, hasLease, clock, telemetry }
  const dispatcher = new Dispatcher({ ...common, ...dispatchingOf(settings) })
  const poller = new StatusPoller({ ...common, inSlot: request => dispatcher.inSlot(request) })
  const sendAgain = (pending: Pending) => dispatcher.push([pending])
  const settleMs = gateway.timeoutMs + delivery.settleMs
  const resolver = new Resolver({ ...common, poller, policies: delivery.types, settleMs, sendAgain })
  const patience = { clock, patient: true }
  const resultDecoder = createDecoder<SendResult>(schemas.result, registry, patience)
  const doubtDecoder = createDecoder<Doubt>(schemas.doubt, registry, patience)
  const owned = () => group()?.share().owned || partitions
  const lookup = delivery.checkResults
    ? new ResultsLookup({ ...common, bus, topics, resultDecoder, doubtDecoder, owned })
    : null
  const earlierEnds = delivery.checkResults ? new EarlierEnds({ ...common, bus, topics, resultDecoder }) : null
  const unknownAccounts = new UnknownAccounts({ ...common, isKnown: name => accounts.has(name) })
  const lostDoubts = new LostDoubts({ ...options, topic: topics.doubts })
  const intake = { ...common, ...intakeOf(options), lookup }
  const listener = {
    ...commandSessions({
      doubtsTopic: topics.doubts,
      commandIntake: {
        ...intake,
        earlierEnds,
        unknownAccounts,
        objection: command => objection(command, accounts, gateway.maxBytes),
        ready: pendings => dispatcher.push(pendings),
      },
      doubtIntake: { ...intake, resolver, doubtDecoder },
      lostDoubts,
      dispatcher,
      telemetry,
    }),
    shareChanged() {
      const share = group()?.share()
      if (share) shareRates(accounts, share, clock.monotonic())
    },
    fatal,
  }
  return { ...tools, accounts, dispatcher, poller, resolver, lookup, lostDoubts, unknownAccounts, intake, listener }
}

type Parts = ReturnType<typeof partsOf>

/** What the role tells of its state. */
function reportsOf(
  { settings, clock }: SendingOptions,
  { accounts, controls, dispatcher, evidence, followed, intake, lookup, lostDoubts, resolver, unknownAccounts }: Parts,
  joined: Membership,
  { balances, compaction }: Omit<ReturnType<typeof watch>, 'stop'>,
): Omit<Sending, 'stop'> {
  const { commands } = settings.topics
  const waits = [dispatcher, intake.schemaWaits, unknownAccounts]
  const read = () => readGauges(joined, dispatcher, resolver, waits, accounts, followed, commands, clock)
  const outages = () => [controls.overfull, intake.schemaWaits.reason, lookup?.reason ?? null, lostDoubts.reason]
  return {
    controls,
    gauges: { read },
    reasons: () => reasonsOf(joined, accounts, outages()),
    warnings: () => [
      ...[followed.trouble, evidence.trouble].filter(trouble => trouble !== null),
      ...unknownAccounts.warnings(),
      ...compaction.warnings(),
      ...balances.warnings(),
    ],
  }
}

/** Starts what runs by time. @returns a function that stops it, and all that would begin further requests */
function watch({ settings, bus, clock, telemetry, fatal }: SendingOptions, parts: Parts, joined: Membership) {
  const { connection, accounts, dispatcher, poller, intake, lookup, lostDoubts, unknownAccounts } = parts
  const heldBack = () =>
    joined.trouble() !== null ||
    intake.schemaWaits.reason !== null ||
    lookup?.reason != null ||
    unknownAccounts.isHolding ||
    dispatcher.heldBack
  const stopWatching = watchProgress({
    sessions: () => joined.sessions(),
    heldBack,
    doubtsTopic: settings.topics.doubts,
    timeoutMs: settings.gateway.timeoutMs,
    clock,
    telemetry,
    stuck: fatal,
  })
  const compaction = watchCompaction(bus, settings.topics, clock, telemetry)
  const { balanceIntervalMs: intervalMs } = settings.gateway
  const balances = watchBalances({ connection, accounts, intervalMs, clock, telemetry })
  const stop = () => {
    balances.stop()
    compaction.stop()
    stopWatching()
    for (const part of [poller, lookup, lostDoubts, dispatcher]) part?.stop()
  }
  return { balances, compaction, stop }
}

async function writersOf({ settings: { topics, delivery }, registry, telemetry, clock }: SendingOptions) {
  const resultsSubject = subjectOf(topics.results)
  const encode = await createEncoder<SendResult>(resultsSubject, schemas.result, registry, writeResultBytes)
  const encodeDoubt = await createEncoder<Doubt>(subjectOf(topics.doubts), schemas.doubt, registry)
  const now = () => clock.now()
  const writeResult = createResultWriter({ topic: topics.results, encode, now, codes: delivery.codes })
  const outbox = new Outbox(writeResult, createDoubtWriter(topics.doubts, encodeDoubt), telemetry)
  return { writeResult, outbox }
}

/** Options for reading commands and doubts. */
function intakeOf({ settings: { gateway, topics }, registry, clock, telemetry, hookFor }: SendingOptions) {
  const commandOptions = { ...gateway, hookFor }
  return {
    decoder: createDecoder<SendCommand>(schemas.command, registry, { clock, patient: true }),
    schemaWaits: new SchemaWaits({ clock, telemetry }),
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

function joinOptionsOf({ topics, delivery }: Settings): JoinOptions {
  return {
    lookBack: topic => (topic === topics.doubts ? 0 : delivery.dedupeWindow),
    lookBackMs: delivery.maxAgeMs,
    mayBeSent: topic => topic === topics.doubts,
  }
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
