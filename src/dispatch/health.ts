import type { Account } from '../accounts/account.ts'
import type { AccountGate } from '../accounts/gate.ts'
import { notOpen, partitionsOf } from '../bus/partitions.ts'
import type { Bus, Membership, SessionState, TopicPartition } from '../bus/port.ts'
import type { Clock } from '../clock.ts'
import { type Settings, topicsWhere } from '../config/index.ts'
import type { Controls } from '../control/controls.ts'
import type { GaugeSource } from '../telemetry/definitions.ts'
import type { Telemetry } from '../telemetry/events.ts'
import { pauseKinds, withdrawalKinds } from '../telemetry/labels.ts'
import type { Resolver } from './doubts/resolver.ts'
import type { Dispatcher } from './sending/dispatcher.ts'

const breakerStates: Record<AccountGate['state'], number> = { closed: 0, probing: 1, paused: 2 }

/** Reasons why commands are not sent now. */
export function reasonsOf(
  membership: Membership,
  accounts: ReadonlyMap<string, Account>,
  waits: readonly (string | null)[],
): string[] {
  const trouble = membership.trouble()
  return [
    ...(trouble ? [trouble] : []),
    ...membership.unread(),
    ...waits.filter(reason => reason !== null),
    ...notOpen(membership.sessions()),
    ...[...accounts.values()].flatMap(({ name, gate }) =>
      gate.reason ? [`account ${name} pauses: ${gate.reason}`] : [],
    ),
  ]
}

/** Current gauges of the role. */
export function* readGauges(
  membership: Membership,
  dispatcher: Dispatcher,
  resolver: Resolver,
  accounts: ReadonlyMap<string, Account>,
  controls: Controls,
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
  for (const { name, gate, limiter, learntRate } of accounts.values()) {
    const labels = { account: name }
    yield { name: 'breaker_state', labels, value: breakerStates[gate.state] }
    yield { name: 'rate_headroom_ratio', labels, value: limiter?.headroom(clock.monotonic()) ?? 1 }
    yield { name: 'rate_learnt_per_second', labels, value: Number.isFinite(learntRate) ? learntRate : 0 }
  }
  for (const kind of pauseKinds) yield { name: 'pauses', labels: { kind }, value: controls.count('paused', kind) }
  for (const kind of withdrawalKinds)
    yield { name: 'withdrawals', labels: { kind }, value: controls.count('withdrawn', kind) }
  yield { name: 'doubts_open', labels: {}, value: resolver.open }
  yield { name: 'intents_open', labels: {}, value: dispatcher.intents }
  yield { name: 'requests_in_flight', labels: {}, value: dispatcher.inFlight }
}

export interface WatchdogOptions {
  sessions: () => Iterable<SessionState>
  /** Requests in flight. Each is the same object until its results are committed. */
  underWay: () => Iterable<{ what: string }>
  /**
   * Whether commands wait for a known reason: an account that may not send, or an unavailable registry, results topic or group.
   */
  heldBack: () => boolean
  /** Whether the bus is unavailable, so that no records arrive. */
  isBusAway: () => boolean
  /** Whether an open transaction blocks reading of the partition, which no restart cures. */
  isBlocked: (tp: TopicPartition) => boolean
  /** The topic of doubts, whose commands wait by design. */
  doubtsTopic: string
  /** gateway.timeoutMs, the longest that a request may take. */
  timeoutMs: number
  clock: Clock
  telemetry: Telemetry
  /** Called when the worker makes no progress for no known reason. */
  stuck: (error: Error) => void
}

/** A state that counts as a standstill if it lasts for `patienceMs`. */
interface Standstill {
  /** Changes with any progress. */
  key: unknown
  what: string
  patienceMs: number
}

/** Longer than any wait of a healthy worker, requests excepted. */
const leastPatienceMs = 300_000
/**
 * Brokers abort an open transaction, which blocks reading, after 15 minutes at most (the default of
 * transaction.max.timeout.ms).
 */
const readingPatienceMs = 1_200_000
const checkMs = 10_000

/**
 * Reports a worker that has work but makes no progress, so that its supervisor restarts it. Waiting is no standstill as long as
 * other commands progress or the reason is known; nor is a partition that is not open.
 * @returns a function that ends the watch
 */
export function watchProgress(options: WatchdogOptions): () => void {
  const { telemetry, clock, stuck } = options
  const commits = new Map<string, number>()
  let steps = 0
  const committed = (tp: { topic: string; partition: number }) => void commits.set(nameOf(tp), ++steps)
  telemetry.on('cycle.committed', committed)

  let since = new Map<unknown, number>()
  let cancel = clock.after(checkMs, check)
  function check(): void {
    const now = clock.monotonic()
    const standstills = [...standstillsIn(options, commits, steps)]
    since = new Map(standstills.map(({ key }) => [key, since.get(key) ?? now]))
    for (const { key, what, patienceMs } of standstills) {
      if (now - since.get(key)! <= patienceMs) continue
      stuck(new Error(`no progress for ${patienceMs / 1000} s, for no known reason: ${what}`))
    }
    cancel = clock.after(checkMs, check)
  }

  return () => {
    cancel()
    telemetry.off('cycle.committed', committed)
  }
}

function* standstillsIn(
  { sessions, underWay, heldBack, isBusAway, isBlocked, doubtsTopic, timeoutMs }: WatchdogOptions,
  commits: ReadonlyMap<string, number>,
  steps: number,
): Generator<Standstill> {
  const patienceMs = Math.max(leastPatienceMs, 2 * timeoutMs)
  for (const request of underWay()) {
    yield { key: request, what: `${request.what} does not end`, patienceMs }
  }
  const open = [...sessions()].filter(session => session.open)
  for (const session of open) {
    const name = nameOf(session)
    const key = `${name}, last commit ${commits.get(name)}`
    const { committing, lag, windowUsed } = session
    if (committing) yield { key: `commit of ${key}`, what: `a commit of ${name} does not end`, patienceMs }
    if (lag > 0 && windowUsed === 0 && !isBusAway() && !isBlocked(session)) {
      const what = `no records of ${name} arrive`
      yield { key: `reading of ${key}`, what, patienceMs: readingPatienceMs }
    }
  }
  const waiting = open.find(({ topic, windowUsed }) => topic !== doubtsTopic && windowUsed > 0)
  if (waiting && !heldBack()) {
    yield {
      key: `step ${steps}`,
      what: `nothing is sent or committed, though ${nameOf(waiting)} has commands`,
      patienceMs,
    }
  }
}

const nameOf = ({ topic, partition }: { topic: string; partition: number }) => `${topic}/${partition}`

/**
 * Checks the topics' partitions and clean-up policies. A doubt has its command's key, so the doubts topic needs as many
 * partitions as the command topics.
 * @returns number of partitions of commands and doubts together
 * @throws Error when the topics are not usable
 */
export async function checkTopics(bus: Bus, topics: Settings['topics']): Promise<number> {
  const { doubts } = topics
  const lasting = lastingTopics(topics)
  const partitions = await partitionsOf(bus, lasting)
  const joined = topicsWhere(topics, ({ partitions }) => partitions === 'of commands')
  const unequal = joined.filter(topic => partitions.get(topic) !== partitions.get(doubts))
  if (unequal.length > 0) {
    throw new Error(
      `${doubts} has ${partitions.get(doubts)} partitions, but ${unequal.map(topic => `${topic} has ${partitions.get(topic)}`).join(', ')}: ` +
        'give the topic of doubts and every command topic the same number',
    )
  }
  const compacted = await bus.compacted(lasting)
  if (compacted.length > 0) throw new Error(mustNotBeCompacted(compacted, topics))
  return joined.length * partitions.get(doubts)!
}

const lastingTopics = (topics: Settings['topics']) =>
  topicsWhere(topics, ({ lostByCompaction }) => lostByCompaction !== null)

function mustNotBeCompacted(compacted: readonly string[], topics: Settings['topics']): string {
  const answers = topicsWhere(topics, ({ lostByCompaction }) => lostByCompaction === 'answers')
  const why = compacted.every(topic => answers.includes(topic))
    ? 'or they no longer tell what was answered, and a reset of the progress sends it again'
    : 'or records are lost that nobody has read'
  return `${compacted.join(', ')} must not be compacted, ${why}: set cleanup.policy=delete`
}

const compactionCheckMs = 30_000

/** Checks periodically whether a topic has been set to be compacted. `warnings` name such topics, and what to do. */
export function watchCompaction(bus: Bus, topics: Settings['topics'], clock: Clock, telemetry: Telemetry) {
  let compacted: readonly string[] = []
  let isStopped = false
  let cancel = clock.after(compactionCheckMs, () => void check())
  async function check(): Promise<void> {
    const found = await bus.compacted(lastingTopics(topics)).catch(() => compacted)
    if (isStopped) return
    const untold = found.filter(topic => !compacted.includes(topic))
    compacted = found
    if (untold.length > 0) telemetry.emit('topics.compacted', { topics: untold })
    cancel = clock.after(compactionCheckMs, () => void check())
  }
  return {
    warnings: () => (compacted.length > 0 ? [mustNotBeCompacted(compacted, topics)] : []),
    stop() {
      isStopped = true
      cancel()
    },
  }
}
