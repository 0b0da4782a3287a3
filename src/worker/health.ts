import type { Account } from '../accounts/account.ts'
import type { CircuitBreaker } from '../accounts/circuit-breaker.ts'
import { partitionsOf } from '../bus/partitions.ts'
import type { Bus, Membership, SessionState } from '../bus/port.ts'
import type { Clock } from '../clock.ts'
import { type Settings, topicsWhere } from '../config/index.ts'
import type { FollowedControls } from '../control/follow.ts'
import type { GaugeSource } from '../telemetry/definitions.ts'
import type { Telemetry } from '../telemetry/events.ts'
import { pauseKinds, withdrawalKinds } from '../vocabulary/control.ts'
import type { Resolver } from './doubts/resolver.ts'
import type { Dispatcher } from './sending/dispatcher.ts'

const breakerStates: Record<CircuitBreaker['state'], number> = { closed: 0, probing: 1, paused: 2 }

/** Current gauges of the role. */
export function* readGauges(
  membership: Membership | null,
  dispatcher: Dispatcher,
  resolver: Resolver,
  waits: readonly { oldestTimestamp(topic: string): number | null }[],
  accounts: ReadonlyMap<string, Account>,
  { controls, behindMs }: FollowedControls,
  topics: readonly string[],
  clock: Clock,
): ReturnType<GaugeSource['read']> & Generator {
  for (const { topic, partition, lag, windowUsed } of membership?.sessions() ?? []) {
    const labels = { topic, partition: String(partition) }
    yield { name: 'consumer_lag_records', labels, value: lag }
    yield { name: 'window_used_ratio', labels, value: windowUsed }
  }
  for (const topic of topics) {
    const since = waits.map(one => one.oldestTimestamp(topic)).filter(at => at !== null)
    const age = Math.max(0, clock.now() - Math.min(clock.now(), ...since)) / 1000
    yield { name: 'oldest_unsent_command_age_seconds', labels: { topic }, value: age }
  }
  for (const { name, breaker, keyRefused, limiter, learntRate, heldBack } of accounts.values()) {
    const labels = { account: name }
    yield { name: 'account_held_back_since_seconds', labels, value: (heldBack?.since ?? 0) / 1000 }
    yield { name: 'account_key_refused', labels, value: keyRefused ? 1 : 0 }
    yield { name: 'breaker_state', labels, value: breakerStates[breaker.state] }
    yield { name: 'rate_headroom_ratio', labels, value: limiter?.headroom(clock.monotonic()) ?? 1 }
    yield { name: 'rate_learnt_per_second', labels, value: Number.isFinite(learntRate) ? learntRate : 0 }
  }
  for (const kind of pauseKinds) yield { name: 'pauses', labels: { kind }, value: controls.count('paused', kind) }
  for (const kind of withdrawalKinds)
    yield { name: 'withdrawals', labels: { kind }, value: controls.count('withdrawn', kind) }
  yield { name: 'control_behind_seconds', labels: {}, value: behindMs / 1000 }
  yield { name: 'control_used_ratio', labels: {}, value: controls.used }
  yield { name: 'doubts_open', labels: {}, value: resolver.open }
  yield { name: 'intents_open', labels: {}, value: dispatcher.intents }
  yield { name: 'requests_in_flight', labels: {}, value: dispatcher.inFlight }
}

interface WatchdogOptions {
  sessions: () => Iterable<SessionState>
  /**
   * Whether commands wait for a known reason: an account that may not send, or an unavailable registry, results topic or group.
   */
  heldBack: () => boolean
  /** The topic of doubts, whose commands wait by design. */
  doubtsTopic: string
  /** gateway.timeoutMs, the longest that a request may take. */
  timeoutMs: number
  clock: Clock
  telemetry: Telemetry
  /** Called when the worker makes no progress for no known reason. */
  stuck: (error: Error) => void
}

/** Longer than any wait of a healthy worker, requests excepted. */
const leastPatienceMs = 300_000
const checkMs = 10_000

/**
 * Reports a worker that has work but commits nothing, so that its supervisor restarts it. One commit carries the progress of all
 * partitions, and every answer is followed by one. Waiting for a known reason is no standstill, nor is a partition that is not
 * open.
 * @returns a function that ends the watch
 */
export function watchProgress(options: WatchdogOptions): () => void {
  const { sessions, heldBack, doubtsTopic, telemetry, clock, stuck } = options
  const patienceMs = Math.max(leastPatienceMs, 2 * options.timeoutMs)
  let progressedAt = clock.monotonic()
  const progressed = () => {
    progressedAt = clock.monotonic()
  }
  telemetry.on('cycle.committed', progressed)

  const hasWork = ({ topic, open, committing, windowUsed }: SessionState) =>
    open && (committing || (topic !== doubtsTopic && windowUsed > 0 && !heldBack()))
  let cancel = clock.after(checkMs, check)
  function check(): void {
    const busy = [...sessions()].find(hasWork)
    if (!busy) progressed()
    else if (clock.monotonic() - progressedAt > patienceMs) {
      const place = `${busy.topic}/${busy.partition}`
      stuck(new Error(`no progress on ${place} for ${patienceMs / 1000} s, for no known reason: nothing is committed`))
    }
    cancel = clock.after(checkMs, check)
  }

  return () => {
    cancel()
    telemetry.off('cycle.committed', progressed)
  }
}

/**
 * Checks that the topics exist and that their cleanup.policy loses nothing.
 * @returns the number of partitions of commands and doubts together
 * @throws Error when the topics are not usable
 */
export async function checkTopics(bus: Bus, topics: Settings['topics']): Promise<number> {
  const lasting = lastingTopics(topics)
  const partitions = await partitionsOf(bus, [...lasting, topics.later])
  const policies = await bus.cleanup([...lasting, topics.later])
  const [wrong] = complaintsOf(policies, topics)
  if (wrong) throw new Error(wrong)
  return [...topics.commands, topics.doubts].reduce((sum, topic) => sum + partitions.get(topic)!, 0)
}

const lastingTopics = (topics: Settings['topics']) =>
  topicsWhere(topics, ({ lostByCompaction }) => lostByCompaction !== null)

const compactedOf = (policies: ReadonlyMap<string, string>, topics: Settings['topics']) =>
  lastingTopics(topics).filter(topic => policies.get(topic)?.includes('compact'))

/** What cleanup policies would lose, and how to mend it. */
function complaintsOf(policies: ReadonlyMap<string, string>, topics: Settings['topics']): string[] {
  const compacted = compactedOf(policies, topics)
  const expires = policies.get(topics.later)?.includes('delete') ?? false
  const waits = 'or commands that wait are lost without a result: set cleanup.policy=compact'
  return [
    ...(compacted.length > 0 ? [mustNotBeCompacted(compacted, topics)] : []),
    ...(expires ? [`${topics.later} must not be deleted by age, ${waits}`] : []),
  ]
}

function mustNotBeCompacted(compacted: readonly string[], topics: Settings['topics']): string {
  const answers = topicsWhere(topics, ({ lostByCompaction }) => lostByCompaction === 'answers')
  const why = compacted.every(topic => answers.includes(topic))
    ? 'or they no longer tell what was answered, and a reset of the progress sends it again'
    : 'or records are lost that nobody has read'
  return `${compacted.join(', ')} must not be compacted, ${why}: set cleanup.policy=delete`
}

const compactionCheckMs = 30_000

/** Checks periodically whether a cleanup.policy was changed so that records are lost. `warnings` say what to do. */
export function watchCleanup(bus: Bus, topics: Settings['topics'], clock: Clock, telemetry: Telemetry) {
  let policies: ReadonlyMap<string, string> = new Map()
  let isStopped = false
  let cancel = clock.after(compactionCheckMs, () => void check())
  async function check(): Promise<void> {
    const found = await bus.cleanup([...lastingTopics(topics), topics.later]).catch(() => policies)
    if (isStopped) return
    const told = compactedOf(policies, topics)
    const untold = compactedOf(found, topics).filter(topic => !told.includes(topic))
    policies = found
    if (untold.length > 0) telemetry.emit('topics.compacted', { topics: untold })
    cancel = clock.after(compactionCheckMs, () => void check())
  }
  return {
    warnings: () => complaintsOf(policies, topics),
    stop() {
      isStopped = true
      cancel()
    },
  }
}
