import { type Account, accountsOf, shareRates } from '../accounts/account.ts'
import { AccountWatch } from '../accounts/account-watch.ts'
import { StatusPoller } from '../accounts/status-poller.ts'
import { GroupPlace } from '../bus/membership/group-place.ts'
import type { Bus, JoinOptions, Membership, Session, TopicPartition } from '../bus/port.ts'
import type { Clock } from '../clock.ts'
import { doubtTimes, installationOf, type Settings } from '../config/index.ts'
import type { Controls } from '../control/controls.ts'
import { type FollowedControls, followControls } from '../control/follow.ts'
import { type Connection, connectGateway, envelopeOverhead } from '../gateway/connection.ts'
import { type Command, type CommandOptions, readCommand } from '../records/command.ts'
import { createDecoder } from '../records/decoder.ts'
import { createDoubtWriter } from '../records/doubt.ts'
import { createEncoder } from '../records/encoder.ts'
import type { Doubt, SendCommand, SendResult, StatusEvent } from '../records/generated.ts'
import { beyondHorizon, limitsOf } from '../records/limits.ts'
import { sentenceOf } from '../records/new-command.ts'
import type { SchemaRegistry } from '../records/registry.ts'
import { createResultWriter } from '../records/result.ts'
import { writeResultBytes } from '../records/result-bytes.ts'
import { schemas, subjectOf } from '../records/schemas.ts'
import type { GaugeSource } from '../telemetry/definitions.ts'
import type { Telemetry } from '../telemetry/events.ts'
import type { TraceContext } from '../telemetry/trace.ts'
import { type HeldAccount, heldPollsText, mendText, type StuckPartition } from '../vocabulary/holds.ts'
import { commandSessions } from './command-sessions.ts'
import { Evidence } from './doubts/evidence.ts'
import { Orphans, type OrphansOptions } from './doubts/orphans.ts'
import { Resolver } from './doubts/resolver.ts'
import { checkTopics, readGauges, watchCleanup, watchProgress } from './health.ts'
import type { Objection } from './intake/command-intake.ts'
import { EarlierEnds } from './intake/earlier-ends.ts'
import { Opener } from './intake/opener.ts'
import { repeatWindow } from './intake/recent-ids.ts'
import { ResultsLookup } from './intake/results-lookup.ts'
import { SchemaWaits } from './intake/schema-wait.ts'
import { Turns } from './intake/turns.ts'
import { UnknownAccounts } from './intake/unknown-accounts.ts'
import { Later } from './later/later.ts'
import { LaterTable } from './later/table.ts'
import { PartitionRates } from './partition-rates.ts'
import type { Pending } from './pending.ts'
import { Dispatcher } from './sending/dispatcher.ts'
import { Settler } from './settler.ts'

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

/** The role `worker`, which has reached the bus and the registry: sends commands and writes results. */
export interface Sending {
  /**
   * Waits until the gateway is proved, then joins the group and begins to send. May be called again after an error.
   * @throws Error when the bus refuses or is unavailable, or after `stop`
   */
  join(): Promise<void>
  gauges: GaugeSource
  /** Reasons why commands are not sent now; empty if they are. */
  reasons(): string[]
  /** Problems that the operator should solve although commands are sent. */
  warnings(): string[]
  /** What holds commands back, and what is owned. */
  state(): SendingState
  /** Pauses and withdrawals. */
  controls: Controls
  /** Finishes what is in flight within gateway.timeoutMs, commits it, and leaves the group. */
  stop(): Promise<void>
}

/** What a worker tells other programs of its state. */
export interface SendingState {
  /** Number of accounts in the settings. */
  accounts: number
  /** Accounts that are held back, and accounts whose status polls are. */
  held: HeldAccount[]
  polls: HeldAccount[]
  /** Operations a second that throttling has left this process, by account; without accounts that were not throttled lately. */
  learnt: ReadonlyMap<string, number>
  stuck: StuckPartition[]
  /** Each owned partition, with the number of records settled a second; null if unknown. */
  owned: (TopicPartition & { perSecond: number | null })[]
}

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

/**
 * Prepares the role. It holds no partition before `join`.
 * @throws Error when a topic is missing or unusable, or when the bus or the registry is unavailable
 */
export async function startSending(options: SendingOptions): Promise<Sending> {
  const { settings, bus, clock, telemetry } = options
  const { gateway } = settings
  const partitions = await checkTopics(bus, settings.topics)
  const writers = await writersOf(options)
  const evidence = await evidenceIn(options)
  const followed = await followControls({ bus, settings, clock, telemetry })
  const connection = options.connection ?? connect(gateway)
  const tools = { ...writers, connection, followed, controls: followed.controls, evidence }
  const accounts = accountsOf(settings, options)
  const watch = new AccountWatch({ ...options, gateway, connection, accounts, intervalMs: gateway.balanceIntervalMs })
  const place = new GroupPlace(watch, () => bus.join(lanesOf(settings.topics), parts.listener, joinOptionsOf(settings)))
  const parts = partsOf(options, { ...tools, accounts }, partitions, place)
  const cleanup = watchCleanup(bus, settings.topics, clock, telemetry)
  let stopWatching = () => {}
  return {
    ...reportsOf(options, parts, place, { watch, cleanup }),
    async join() {
      const joined = await place.take()
      parts.listener.shareChanged()
      parts.dispatcher.pump()
      stopWatching = watchOver(options, parts, joined)
    },
    async stop() {
      const { poller, lookup, later, orphans, dispatcher, rates } = parts
      for (const part of [watch, cleanup, poller, lookup, orphans, dispatcher, rates]) part?.stop()
      stopWatching()
      await place.leave(gateway.timeoutMs + lastCommitMs)
      later.stop()
      await followed.close()
      await connection.close()
    },
  }
}

/** Time to commit what a request brought that began right before a stop, and timed out. */
const lastCommitMs = 2_000

interface Tools extends Awaited<ReturnType<typeof writersOf>> {
  connection: Connection
  followed: FollowedControls
  controls: Controls
  evidence: Evidence
  accounts: ReadonlyMap<string, Account>
}

/**
 * The parts that read, send and resolve commands, once the group is joined.
 */
function partsOf(options: SendingOptions, tools: Tools, partitions: number, place: GroupPlace) {
  const { settings, bus, registry, clock, telemetry, fatal } = options
  const { gateway, commands, doubts, topics } = settings
  const { accounts } = tools
  const hasLease = () => place.membership?.hasLease() ?? false
  const common = { ...gateway, ...commands, ...doubts, ...tools, hasLease, clock, telemetry }
  const table = new LaterTable({ bus, topic: topics.later, clock, telemetry })
  const later = new Later({ ...common, table, deadLetterTopic: topics.deadLetters })
  const setAside = (pendings: readonly Pending[]) => later.setAside(pendings)
  const dispatcher = new Dispatcher({ ...common, ...dispatchingOf(settings), setAside })
  const poller = new StatusPoller({ ...common, inSlot: (account, request) => dispatcher.inSlot(account, request) })
  const sendAgain = (pending: Pending) => dispatcher.push([pending])
  const resolver = new Resolver({ ...common, ...doubtTimes(settings), poller, sendAgain })
  const patience = { clock, patient: true }
  const resultDecoder = createDecoder<SendResult>(schemas.result, registry, patience)
  const doubtDecoder = createDecoder<Doubt>(schemas.doubt, registry, patience)
  const owned = () => place.membership?.share().owned || partitions
  const movedUntil = (session: Session) => later.movedUntil(session)
  const lookup = new ResultsLookup({ ...common, bus, topics, resultDecoder, owned, movedUntil })
  const unknownAccounts = new UnknownAccounts({ ...common, isKnown: name => accounts.has(name) })
  const isHeld: OrphansOptions['isHeld'] = (session, message) => resolver.holds(session, message)
  const orphans = new Orphans({ ...common, bus, topics, resultDecoder, doubtDecoder, isHeld })
  const intake = { ...common, ...intakeOf(options), lookup, turns: new Turns(clock) }
  const earlierEnds = new EarlierEnds({ ...common, bus, topics, resultDecoder, commandDecoder: intake.decoder })
  const listener = {
    ...commandSessions({
      doubtsTopic: topics.doubts,
      commandIntake: {
        ...intake,
        earlierEnds,
        unknownAccounts,
        objection: objectionsOf(accounts, settings),
        horizon: horizonOf(settings, clock),
        ready: pendings => dispatcher.push(pendings),
      },
      doubtIntake: { ...intake, resolver, doubtDecoder, orphans },
      orphans,
      dispatcher,
      later,
      telemetry,
    }),
    shareChanged() {
      const share = place.membership?.share()
      if (share) shareRates(accounts, share, clock.monotonic())
    },
    fatal,
  }
  const rates = new PartitionRates(telemetry, clock)
  return { ...tools, dispatcher, later, poller, resolver, lookup, orphans, unknownAccounts, intake, listener, rates }
}

type Parts = ReturnType<typeof partsOf>

/** What the role tells of its state. */
function reportsOf(
  { settings, clock, bus }: SendingOptions,
  parts: Parts,
  place: GroupPlace,
  { watch, cleanup }: { watch: AccountWatch; cleanup: ReturnType<typeof watchCleanup> },
): Pick<Sending, 'controls' | 'gauges' | 'reasons' | 'warnings' | 'state'> {
  const { commands } = settings.topics
  const { accounts, controls, dispatcher, evidence, followed, intake, lookup, resolver, unknownAccounts } = parts
  const waits = [dispatcher, intake.schemaWaits, unknownAccounts]
  const read = () => readGauges(place.membership, dispatcher, resolver, waits, accounts, followed, commands, clock)
  const told = (troubles: (string | null)[]) => troubles.filter(trouble => trouble !== null)
  return {
    controls,
    gauges: { read },
    reasons: () => [...place.reasons(), ...told([controls.overfull, lookup.reason])],
    warnings: () => [
      ...intake.schemaWaits.warnings(),
      ...told([followed.trouble, evidence.trouble]),
      ...unknownAccounts.warnings(),
      ...resolver.held.map(one => `${heldPollsText(one)}. ${mendText(one.reason)}`),
      ...cleanup.warnings(),
      ...watch.warnings(account => dispatcher.waiting(account)),
    ],
    state: () => stateOf(parts, bus, place),
  }
}

function stateOf(
  { accounts, dispatcher, intake, resolver, unknownAccounts, rates }: Parts,
  bus: Bus,
  place: GroupPlace,
): SendingState {
  const all = [...accounts.values()]
  const held = all.flatMap(({ name, heldBack }) =>
    heldBack ? [{ ...heldBack, waiting: dispatcher.waiting(name) }] : [],
  )
  const blocked = bus.blocked().map(one => ({ ...one, why: 'transaction' as const }))
  const sessions = [...(place.membership?.sessions() ?? [])]
  return {
    accounts: accounts.size,
    held: [...held, ...unknownAccounts.held],
    polls: [
      ...all.flatMap(({ pollsHeldBack }) => (pollsHeldBack ? [{ ...pollsHeldBack, waiting: 0 }] : [])),
      ...resolver.held,
    ],
    learnt: new Map(all.flatMap(({ name, learntRate }) => (Number.isFinite(learntRate) ? [[name, learntRate]] : []))),
    stuck: [...intake.schemaWaits.blocked, ...blocked],
    owned: sessions.map(({ topic, partition }) => ({
      topic,
      partition,
      perSecond: rates.perSecond({ topic, partition }),
    })),
  }
}

/** Watches the progress. @returns a function that ends it */
function watchOver(
  { settings, clock, telemetry, fatal }: SendingOptions,
  parts: Parts,
  joined: Membership,
): () => void {
  const { dispatcher, intake, lookup, unknownAccounts } = parts
  return watchProgress({
    sessions: () => joined.sessions(),
    heldBack: () =>
      joined.trouble() !== null ||
      intake.schemaWaits.isBlocked ||
      lookup.reason !== null ||
      unknownAccounts.isHolding ||
      dispatcher.heldBack,
    doubtsTopic: settings.topics.doubts,
    timeoutMs: settings.gateway.timeoutMs,
    clock,
    telemetry,
    stuck: fatal,
  })
}

async function writersOf({ settings: { topics, results }, registry, telemetry, clock }: SendingOptions) {
  const resultsSubject = subjectOf(topics.results)
  const encode = await createEncoder<SendResult>(resultsSubject, schemas.result, registry, writeResultBytes)
  const encodeDoubt = await createEncoder<Doubt>(subjectOf(topics.doubts), schemas.doubt, registry)
  const now = () => clock.now()
  const writeResult = createResultWriter({ topic: topics.results, encode, now, codes: results.otpCode })
  const settler = new Settler(writeResult, createDoubtWriter(topics.doubts, encodeDoubt), telemetry)
  return { writeResult, settler }
}

/** Options for reading commands and doubts. */
function intakeOf({ settings: { gateway, sealing, topics }, registry, clock, telemetry, hookFor }: SendingOptions) {
  const commandOptions = { ...gateway, hookFor }
  return {
    decoder: createDecoder<SendCommand>(schemas.command, registry, { clock, patient: true }),
    schemaWaits: new SchemaWaits({ clock, telemetry }),
    readCommand: (value: SendCommand, trace: TraceContext | null, flaw?: string) =>
      readCommand(value, commandOptions, trace, flaw),
    opener: new Opener({
      keys: () => sealing.keys?.reveal() ?? [],
      readOpened: (value, trace, flaw) => readCommand(value, commandOptions, trace, flaw, true),
      clock,
    }),
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
  accounts,
}: Settings['gateway'] & { url: string }): Connection {
  return connectGateway({
    url,
    ca: ssl.ca,
    timeoutMs,
    keepAliveMs,
    connections: concurrency + accounts.size, // one of each account for its balance, which may never be answered
    maxResponseBytes: Math.max(leastAnswerBytes, answerBytesPerOperation * maxOperations),
  })
}

/** Command topics and the doubts topic, the most urgent first. */
function lanesOf({ commands: [urgent, ...others], doubts }: Settings['topics']): string[] {
  return [urgent!, doubts, ...others]
}

/** Options for the dispatcher alone. */
function dispatchingOf({ gateway, commands, topics }: SendingOptions['settings']) {
  const { tenantWeights, concurrency, maxOperations } = gateway
  return {
    topics: lanesOf(topics),
    maxIntents: commands.maxInFlight ?? Math.max(leastIntents, 2 * concurrency * maxOperations),
    tenantWeights: new Map(Object.entries(tenantWeights)),
  }
}

function joinOptionsOf(settings: SendingOptions['settings']): JoinOptions {
  const { topics, commands } = settings
  return {
    installation: installationOf(settings),
    lookBack: topic => (topic === topics.doubts ? 0 : repeatWindow),
    lookBackMs: commands.maxAgeMs,
    // their marks tell which doubts are finished, and no other record tells of the rest
    readsAll: topic => topic === topics.doubts,
    recordsOf: topic => (topic === topics.doubts ? 'doubts' : 'commands'),
  }
}

async function evidenceIn({ settings, bus, registry, clock, telemetry }: SendingOptions): Promise<Evidence> {
  const decoder = createDecoder<StatusEvent>(schemas.status, registry, { clock, patient: true })
  const evidence = new Evidence({ bus, topic: settings.topics.statuses, decoder, clock, telemetry })
  await evidence.look()
  return evidence
}

/** Finds why a command cannot wait as long as it says. */
function horizonOf({ commands }: Settings, clock: Clock) {
  return (command: Command): Objection | null => {
    const early = beyondHorizon(command, commands.horizonMs, clock.now())
    return early && { errorCode: 'VALIDATION', error: sentenceOf(early) }
  }
}

/** Finds why a valid command cannot be sent with these settings. */
function objectionsOf(accounts: ReadonlyMap<string, Account>, settings: Settings) {
  const limits = limitsOf(settings)
  return (command: Command): Objection | null => {
    const flaw = flawOf(command, accounts, settings.gateway.maxBytes)
    if (flaw !== null) return { errorCode: 'VALIDATION', error: flaw }
    const excess = limits(command)
    return excess && { errorCode: excess.errorCode, error: sentenceOf(excess) }
  }
}

function flawOf({ account, bytes }: Command, accounts: ReadonlyMap<string, Account>, maxBytes: number): string | null {
  const known = accounts.get(account)
  if (!known) return `account must be one that gateway.accounts knows: ${[...accounts.keys()].join(', ')}`
  const room = maxBytes - envelopeOverhead(known.apiKey())
  return bytes > room ? `the operation is ${bytes} bytes long; gateway.maxBytes leaves room for ${room}` : null
}
