import { randomInt } from 'node:crypto'
import type { Bus, Membership } from '../bus/port.ts'
import type { Clock } from '../clock.ts'
import type { Settings } from '../config/index.ts'
import { type Connection, connectGateway } from '../gateway/connection.ts'
import { envelopeOverhead } from '../gateway/envelope.ts'
import { type Command, type ReadOptions, readCommand } from '../records/command.ts'
import { createDecoder } from '../records/decoder.ts'
import { createEncoder } from '../records/encoder.ts'
import type { SendCommand, SendResult } from '../records/generated.ts'
import type { SchemaRegistry } from '../records/registry.ts'
import { schemas, subjectOf } from '../records/schemas.ts'
import type { Telemetry } from '../telemetry/events.ts'
import type { GaugeSource } from '../telemetry/gauges.ts'
import { type Account, createAccount } from './account.ts'
import { readBalance } from './balance.ts'
import { commandSessions } from './command-sessions.ts'
import { Dispatcher } from './dispatcher.ts'
import type { AccountGate } from './gate.ts'
import { createResultWriter } from './results.ts'

export interface SendingOptions {
  settings: Settings & { gateway: { url: string } }
  bus: Bus
  registry: SchemaRegistry
  telemetry: Telemetry
  clock: Clock
  hookFor: ReadOptions['hookFor']
  fatal: (error: Error) => void
}

/** The role `worker`: commands in, results out. */
export interface Sending {
  gauges: GaugeSource
  /** What keeps commands from being sent now; empty: nothing. */
  reasons(): string[]
  /** Finishes what is in flight within kafka.drainMs and leaves the group. */
  stop(): Promise<void>
}

const breakerStates: Record<AccountGate['state'], number> = { closed: 0, probing: 1, paused: 2 }
/** Requests that are not envelopes of commands: a balance. */
const spareConnections = 1

/** @throws Error when a topic is missing, or when the bus or the registry cannot be reached. */
export async function startSending(options: SendingOptions): Promise<Sending> {
  const { settings, bus, registry, telemetry, clock } = options
  const { gateway, topics, delivery } = settings
  await requireTopics(bus, [...topics.commands, topics.results, topics.deadLetters])
  const encodeResult = await createEncoder<SendResult>(subjectOf(topics.results), schemas.result, registry)
  const writeResult = createResultWriter(topics.results, encodeResult, () => clock.now())
  const { url, timeoutMs, concurrency } = gateway
  const connection = connectGateway({ url, timeoutMs, connections: concurrency + spareConnections })
  const accounts = new Map(
    [...gateway.accounts].map(([name, { apiKey, rate }]) => [
      name,
      createAccount(name, () => apiKey.reveal(), rate, chance),
    ]),
  )
  let membership: Membership | null = null
  const dispatcher = new Dispatcher({
    ...gateway,
    connection,
    accounts,
    topics: topics.commands,
    maxAgeMs: delivery.maxAgeMs,
    writeResult,
    leaseUntil: () => membership?.leaseUntil() ?? Number.NEGATIVE_INFINITY,
    clock,
    telemetry,
  })
  const changed = () => {
    if (membership) shareRates(accounts, membership, clock.monotonic())
  }
  const listener = commandSessions({
    dispatcher,
    telemetry,
    changed,
    fatal: options.fatal,
    intake: {
      decoder: createDecoder<SendCommand>(schemas.command, registry),
      readCommand: value => readCommand(value, { hookFor: options.hookFor, voiceHook: gateway.voiceHook }),
      objection: command => objection(command, accounts, gateway.maxBytes),
      writeResult,
      deadLetterTopic: topics.deadLetters,
      dedupeWindow: delivery.dedupeWindow,
      maxAgeMs: delivery.maxAgeMs,
      clock,
      telemetry,
      ready: pendings => dispatcher.push(pendings),
    },
  })
  membership = await bus.join(topics.commands, listener)
  const joined = membership
  changed()
  dispatcher.pump()
  const stopAsking = askBalances(connection, accounts, gateway.balanceIntervalMs, options)

  return {
    gauges: { read: () => readGauges(joined, dispatcher, accounts, topics.commands, clock) },
    reasons: () => reasonsOf(joined, accounts),
    async stop() {
      stopAsking()
      await joined.leave()
      dispatcher.stop()
      await connection.close()
    },
  }
}

/** 0 to 1, for spreading pauses. */
const chance = () => randomInt(1 << 30) / (1 << 30)

async function requireTopics(bus: Bus, wanted: string[]): Promise<void> {
  const existing = await bus.partitions(wanted)
  const missing = wanted.filter(topic => !existing.has(topic))
  if (missing.length > 0) {
    throw new Error(`missing on the bus: ${missing.join(', ')}; create them, or name others in the topics.* settings`)
  }
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

function shareRates(accounts: ReadonlyMap<string, Account>, membership: Membership, now: number): void {
  const { owned, total } = membership.share()
  for (const { limiter } of accounts.values()) limiter?.setShare(total > 0 ? owned / total : 0, now)
}

function askBalances(
  connection: Connection,
  accounts: ReadonlyMap<string, Account>,
  intervalMs: number,
  { clock, telemetry }: Pick<SendingOptions, 'clock' | 'telemetry'>,
): () => void {
  if (intervalMs === 0) return () => {}
  let cancel = () => {}
  const ask = () => {
    for (const account of accounts.values()) void readBalance({ connection, account, clock, telemetry })
    cancel = clock.after(intervalMs, ask)
  }
  ask()
  return () => cancel()
}

function reasonsOf(membership: Membership, accounts: ReadonlyMap<string, Account>): string[] {
  const closed = [...membership.sessions()].filter(({ open }) => !open)
  return [
    ...closed.map(({ topic, partition }) => `${topic}/${partition} is not open`),
    ...[...accounts.values()].flatMap(({ name, gate }) =>
      gate.reason ? [`account ${name} pauses: ${gate.reason}`] : [],
    ),
  ]
}

function* readGauges(
  membership: Membership,
  dispatcher: Dispatcher,
  accounts: ReadonlyMap<string, Account>,
  topics: readonly string[],
  clock: Clock,
): ReturnType<GaugeSource['read']> & Generator {
  for (const { topic, partition, lag, windowUsed } of membership.sessions()) {
    const labels = { topic, partition: String(partition) }
    yield { name: 'consumer_lag_records', labels, value: lag }
    yield { name: 'window_used_ratio', labels, value: windowUsed }
  }
  for (const topic of topics) {
    const oldest = dispatcher.oldestTimestamp(topic)
    const age = oldest === null ? 0 : Math.max(0, clock.now() - oldest) / 1000
    yield { name: 'oldest_unsent_command_age_seconds', labels: { topic }, value: age }
  }
  for (const { name, gate, limiter } of accounts.values()) {
    const labels = { account: name }
    yield { name: 'breaker_state', labels, value: breakerStates[gate.state] }
    yield { name: 'rate_headroom_ratio', labels, value: limiter?.headroom(clock.monotonic()) ?? 1 }
  }
  yield { name: 'requests_in_flight', labels: {}, value: dispatcher.inFlight }
}
