import type { Account } from '../accounts/account.ts'
import type { AccountGate } from '../accounts/gate.ts'
import { notOpen } from '../bus/partitions.ts'
import type { Membership } from '../bus/port.ts'
import type { Clock } from '../clock.ts'
import type { Controls } from '../control/controls.ts'
import type { GaugeSource } from '../telemetry/definitions.ts'
import { pauseKinds, withdrawalKinds } from '../telemetry/labels.ts'
import type { Resolver } from './doubts/resolver.ts'
import type { Dispatcher } from './sending/dispatcher.ts'

const breakerStates: Record<AccountGate['state'], number> = { closed: 0, probing: 1, paused: 2 }

/** Tells what keeps commands from being sent now. */
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

/** Tells how it is now, for the metrics. */
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
