import { Account, shareRates } from '../accounts/account.ts'
import { readBalance } from '../accounts/balance.ts'
import { StatusPoller } from '../accounts/poller.ts'
import { partitionsOf } from '../bus/partitions-of.ts'
import type { Bus, Membership, SessionListener } from '../bus/port.ts'
import type { Clock } from '../clock.ts'
import { type Settings, topicsWhere } from '../config/index.ts'
import { type Connection, connectGateway } from '../gateway/connection.ts'
import { envelopeOverhead } from '../gateway/envelope.ts'
import { followPauses } from '../pauses/follow.ts'
import type { Pauses } from '../pauses/pauses.ts'
import { type Command, type CommandOptions, readCommand } from '../records/command.ts'
import { createDecoder } from '../records/decoder.ts'
import { createDoubtWriter } from '../records/doubt.ts'
import { createEncoder } from '../records/encoder.ts'
import type { Doubt, SendCommand, SendResult, StatusEvent } from '../records/generated.ts'
import type { SchemaRegistry } from '../records/registry.ts'
import { createResultWriter } from '../records/result.ts'
import { schemas, subjectOf } from '../records/schemas.ts'
import type { Telemetry } from '../telemetry/events.ts'
import type { GaugeSource } from '../telemetry/gauges.ts'
import type { TraceContext } from '../telemetry/trace.ts'
import { Answered } from './answered.ts'
import { commandSessions } from './command-sessions.ts'
import { Dispatcher } from './dispatcher.ts'
import { Evidence } from './evidence.ts'
import { readGauges, reasonsOf, watchRegistry } from './health.ts'
import { Outbox } from './outbox.ts'
import { Resolver } from './resolver.ts'
import { watchProgress } from './watchdog.ts'

export interface SendingOptions {
  settings: Settings & { gateway: { url: string } }
  bus: Bus
  registry: SchemaRegistry
  telemetry: Telemetry
  clock: Clock
  hookFor: CommandOptions['hookFor']
  /** 0 to 1, spreads pauses. */
  random: () => number
  /** Instead of one to gateway.url. */
  connection?: Connection
  fatal: (error: Error) => void
}

/** The role `worker`: commands in, results out. */
export interface Sending {
  gauges: GaugeSource
  /** Tells what keeps commands from being sent now; empty: nothing. */
  reasons(): string[]
  /** What operators have paused. */
  pauses: Pauses
  /** Finishes what is in flight within kafka.drainMs and leaves the group. */
  stop(): Promise<void>
}

/** Requests that are not envelopes of commands: a balance. */
const spareConnections = 1
/** What all the slots send while their results are committed and the next is prepared, at a gateway that takes 20 ms. */
const leastIntents = 6_400
/** While an account pauses or its rate is used up, its balance is asked for this much later. */
const balanceRetryMs = 10_000

/** @throws Error when a topic is missing, or when the bus or the registry cannot be reached. */
export async function startSending(options: SendingOptions): Promise<Sending> {
  const { settings, bus, telemetry, clock } = options
  const { gateway, topics, delivery } = settings
  const partitions = await checkTopics(bus, topics)
  const writers = await writersOf(options)
  const decoders = decodersOf(options)
  const connection = options.connection ?? connect(gateway)
  const accounts = accountsOf(options)
  const followed = await followPauses({ bus, topic: topics.control, clock, telemetry }).catch(async error => {
    await connection.close()
    throw error
  })
  const { pauses } = followed
  const evidence = await evidenceIn(options)

  let membership: Membership | null = null
  const leaseUntil = () => membership?.leaseUntil() ?? Number.NEGATIVE_INFINITY
  const { outbox } = writers
  const common = { ...gateway, ...delivery, connection, accounts, outbox, pauses, clock, telemetry }
  const dispatcher = new Dispatcher({ ...common, ...dispatchingOf(settings), leaseUntil })
  const poller = new StatusPoller({ ...common, leaseUntil, inSlot: request => dispatcher.inSlot(request) })
  const resolver = new Resolver({
    ...common,
    poller,
    evidence,
    policies: delivery.types,
    settleMs: gateway.timeoutMs + delivery.settleMs,
    sendAgain: pending => dispatcher.push([pending]),
  })
  const owned = () => membership?.share().owned || partitions
  const answered = delivery.checkResults ? new Answered({ ...common, ...decoders, bus, topics, owned }) : null
  const shareChanged = () => {
    if (membership) shareRates(accounts, membership.share(), clock.monotonic())
  }
  const intake = { ...common, ...intakeOf(options), answered, writeResult: writers.writeResult }
  const listener = commandSessions({
    doubtsTopic: topics.doubts,
    commandIntake: {
      ...intake,
      objection: command => objection(command, accounts, gateway.maxBytes),
      ready: pendings => dispatcher.push(pendings),
    },
    doubtIntake: { ...intake, doubts: writers.doubts, resolver, doubtDecoder: decoders.doubtDecoder },
    dispatcher,
    telemetry,
    shareChanged,
    fatal: options.fatal,
  })
  const closeConnections = async () => {
    await followed.close()
    await connection.close()
  }
  const joined = await join(options, listener).catch(async error => {
    await closeConnections()
    throw error
  })
  membership = joined
  shareChanged()
  dispatcher.pump()
  const registryTrouble = watchRegistry(telemetry, clock)
  const stopWatching = watchProgress({
    sessions: () => joined.sessions(),
    underWay: () => dispatcher.underWay(),
    isBusAway: () => joined.trouble() !== null,
    heldBack: () =>
      joined.trouble() !== null || registryTrouble() !== null || answered?.reason != null || dispatcher.heldBack,
    doubtsTopic: topics.doubts,
    timeoutMs: gateway.timeoutMs,
    clock,
    telemetry,
    stuck: options.fatal,
  })
  const stopAsking = askBalances(connection, accounts, gateway.balanceIntervalMs, options)

  return {
    gauges: { read: () => readGauges(joined, dispatcher, resolver, accounts, pauses, topics.commands, clock) },
    pauses,
    reasons: () => reasonsOf(joined, accounts, [registryTrouble(), answered?.reason ?? null]),
    async stop() {
      stopAsking()
      stopWatching()
      poller.stop()
      answered?.stop()
      dispatcher.stop()
      await joined.leave(Math.max(gateway.timeoutMs, settings.kafka.drainMs))
      await closeConnections()
    },
  }
}

async function writersOf({ settings: { topics }, registry, telemetry, clock }: SendingOptions) {
  const encodeResult = await createEncoder<SendResult>(subjectOf(topics.results), schemas.result, registry)
  const encodeDoubt = await createEncoder<Doubt>(subjectOf(topics.doubts), schemas.doubt, registry)
  const writeResult = createResultWriter(topics.results, encodeResult, () => clock.now())
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

/** Tells how records of commands and doubts are read. */
function intakeOf({ settings: { gateway, topics }, registry, clock, hookFor }: SendingOptions) {
  const commandOptions = { ...gateway, hookFor }
  return {
    decoder: createDecoder<SendCommand>(schemas.command, registry, { clock, patient: true }),
    readCommand: (value: SendCommand, trace: TraceContext | null) => readCommand(value, commandOptions, trace),
    deadLetterTopic: topics.deadLetters,
  }
}

function connect({ url, ssl, timeoutMs, concurrency }: SendingOptions['settings']['gateway']): Connection {
  return connectGateway({ url, ca: ssl.ca, timeoutMs, connections: concurrency + spareConnections })
}

function accountsOf({ settings, clock, random, telemetry }: SendingOptions): Map<string, Account> {
  return new Map(
    [...settings.gateway.accounts].map(([name, { apiKey, rate }]) => [
      name,
      new Account({ name, apiKey: () => apiKey.reveal(), rate, clock, random, telemetry }),
    ]),
  )
}

/** The topics that are sent from, the most urgent first. */
function lanesOf({ commands: [urgent, ...others], doubts }: Settings['topics']): string[] {
  return [urgent!, doubts, ...others]
}

/** Tells what only the dispatcher needs of the settings. */
function dispatchingOf({ gateway, delivery, topics }: SendingOptions['settings']) {
  const { accounts, tenantWeights, concurrency, maxOperations } = gateway
  return {
    topics: lanesOf(topics),
    maxIntents: delivery.maxIntents ?? Math.max(leastIntents, 2 * concurrency * maxOperations),
    weights: {
      accounts: new Map([...accounts].map(([name, { weight }]) => [name, weight])),
      tenants: new Map(Object.entries(tenantWeights)),
    },
  }
}

function join({ settings: { topics, delivery }, bus }: SendingOptions, listener: SessionListener): Promise<Membership> {
  return bus.join(lanesOf(topics), listener, {
    lookBack: topic => (topic === topics.doubts ? 0 : delivery.dedupeWindow),
    lookBackMs: delivery.maxAgeMs,
  })
}

async function evidenceIn({ settings, bus, registry, clock, telemetry }: SendingOptions): Promise<Evidence> {
  const decoder = createDecoder<StatusEvent>(schemas.status, registry, { clock, patient: true })
  const evidence = new Evidence({ bus, topic: settings.topics.statuses, decoder, clock, telemetry })
  await evidence.prepare()
  return evidence
}

/**
 * Doubts are keyed as commands are, so that a partition of theirs stands for one of the commands'.
 * @returns how many partitions of commands and doubts there are
 */
async function checkTopics(bus: Bus, topics: Settings['topics']): Promise<number> {
  const { doubts } = topics
  const lasting = topicsWhere(topics, ({ lostByCompaction }) => lostByCompaction !== null)
  const partitions = await partitionsOf(bus, lasting)
  const joined = topicsWhere(topics, ({ partitions }) => partitions === 'of commands')
  const unequal = joined.filter(topic => partitions.get(topic) !== partitions.get(doubts))
  if (unequal.length > 0) {
    throw new Error(
      `${doubts} has ${partitions.get(doubts)} partitions, but ${unequal.map(topic => `${topic} has ${partitions.get(topic)}`).join(', ')}: ` +
        'give the doubts and every command topic the same number',
    )
  }
  const compacted = await bus.compacted(lasting)
  if (compacted.length > 0) {
    const answers = topicsWhere(topics, ({ lostByCompaction }) => lostByCompaction === 'answers')
    const why = compacted.every(topic => answers.includes(topic))
      ? 'or they no longer tell what was answered, and a reset of the progress sends it again'
      : 'or records are lost that nobody has read'
    throw new Error(`${compacted.join(', ')} must not be compacted, ${why}: set cleanup.policy=delete`)
  }
  return joined.length * partitions.get(doubts)!
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
