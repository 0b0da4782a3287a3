import type { Dashboard } from '@grafana/grafana-foundation-sdk/dashboard'
import { metricDefinitions } from '../../src/telemetry/definitions.ts'
import { board, choice, own, positiveRateBy, quantiles, rateBy, row } from './board.ts'
import { colored, lines, timeline } from './panels.ts'

const account = `${own}, account=~"$account"`

const accepted = row(
  'Does the gateway accept messages?',
  timeline({
    title: 'Accounts',
    description:
      'The worst process of each account. Paused: only probes are sent; the next panel shows why. An account with nothing to send may stay paused; this is harmless.',
    width: 8,
    unit: 'none',
    queries: [[`max by (account) (busgate_breaker_state{${account}})`, '{{account}}']],
    texts: { 0: 'sending', 1: 'probing', 2: 'paused' },
    steps: ['green', [1, 'orange'], [2, 'red']],
    runbooks: ['BusgateBreakerOpen', 'BusgateKeyRefused'],
  }),
  colored(
    lines({
      title: 'Envelopes by outcome',
      description:
        'denied: the key is refused. not_sent: unreachable or throttled; retried. refused: as a whole; retried in halves. unknown: the answer was lost; its commands are in doubt.',
      width: 8,
      unit: 'ops',
      stacked: true,
      queries: [positiveRateBy('outcome', 'envelopes_total', account)],
      runbooks: ['BusgateKeyRefused'],
    }),
    ['answered', 'refused', 'not_sent', 'unknown', 'denied'],
  ),
  lines({
    title: 'Commands to be retried',
    description:
      'Commands that were certainly not sent. throttled: set gateway.rate below what the gateway allows. unreachable: network, proxy or gateway is down. denied: check the key.',
    width: 8,
    unit: 'ops',
    queries: [rateBy('reason', 'gateway_retries_total')],
    runbooks: ['BusgateThrottled'],
  }),
)

const speed = row(
  'How fast is it?',
  lines({
    title: 'Request duration',
    description:
      'From the first byte to the answer. A process sends at most gateway.concurrency × operations per envelope in this time. Near gateway.timeoutMs, commands end in doubt.',
    width: 8,
    unit: 's',
    queries: quantiles('gateway_request_duration_seconds', [0.5, 0.95, 0.99]),
  }),
  lines({
    title: 'Requests in flight',
    description:
      'By process. At gateway.concurrency for long while commands wait: the gateway is slow; raise gateway.concurrency or add processes.',
    width: 8,
    unit: 'short',
    queries: [[`busgate_requests_in_flight{${own}}`, '{{instance}}']],
  }),
  lines({
    title: 'Operations per envelope',
    description:
      'Few under load: raise gateway.lingerMs. Always gateway.maxOperations: commands are queued; see their age on the overview.',
    width: 8,
    unit: 'short',
    queries: [
      [
        `sum(rate(busgate_envelope_operations_sum{${own}}[$__rate_interval])) / sum(rate(busgate_envelope_operations_count{${own}}[$__rate_interval]))`,
        'mean',
      ],
      ...quantiles('envelope_operations', [0.95]),
    ],
  }),
)

const rate = row(
  'Is the rate enough?',
  lines({
    title: 'Unused rate',
    description:
      'Of the busiest process of each account. At 0 for long with late commands: agree on a higher rate with the gateway’s operator, or let bulk wait. 100 %: no rate is set, or nothing is sent. While the gateway throttles, it is the unused part of the learnt rate.',
    width: 8,
    unit: 'percentunit',
    max: 1,
    queries: [
      [
        `min by (account) (busgate_rate_headroom_ratio{${account}} and on (namespace, job, instance) busgate_consumer_lag_records)`,
        '{{account}}',
      ],
    ],
    runbooks: ['BusgateRateSaturated'],
  }),
  lines({
    title: 'Wait for the rate',
    description: 'How long an envelope waited for the account’s rate. Minutes: the load is far above the rate.',
    width: 8,
    unit: 's',
    queries: quantiles('rate_wait_seconds', [0.5, 0.95]),
    runbooks: ['BusgateRateSaturated'],
  }),
  lines({
    title: 'Rate learnt from throttling',
    description:
      'Operations per second that all processes allow an account because the gateway throttled it. Above 0 for long: set gateway.rate slightly below it. 0: not throttled lately.',
    width: 8,
    unit: 'ops',
    queries: [[`sum by (account) (busgate_rate_learnt_per_second{${account}})`, '{{account}}']],
  }),
)

const doubts = row(
  'Doubts',
  lines({
    title: 'Commands in doubt if killed now',
    description: 'About so many, by process. At commands.maxInFlight, the most, for long: commits to Kafka are slow.',
    width: 6,
    unit: 'short',
    queries: [[`busgate_intents_open{${own}}`, '{{instance}}']],
  }),
  lines({
    title: 'New doubts by cause',
    description: metricDefinitions.doubts_total.action,
    width: 6,
    unit: 'ops',
    stacked: true,
    queries: [positiveRateBy('cause', 'doubts_total')],
    runbooks: ['BusgateDoubtsGrowing'],
  }),
  lines({
    title: 'Doubts open, and how they end',
    description:
      'A doubt stays open for minutes. UNRESOLVED: nobody can tell, and the policy forbids a retry; ask the gateway’s operator about these ids.',
    width: 6,
    unit: 'short',
    queries: [
      [`sum(busgate_doubts_open{${own}})`, 'open'],
      [`60 * sum by (outcome) (rate(busgate_resolutions_total{${own}}[$__rate_interval]))`, '{{outcome}} a minute'],
    ],
    runbooks: ['BusgateDoubtsGrowing', 'BusgateOutcomesUnknown'],
  }),
  colored(
    lines({
      title: 'Answers to status polls',
      description:
        'For doubts and overdue verdicts. unanswered: the gateway is down or throttles. Always inconclusive: its texts may belong into gateway.notFoundTexts. unreadable: it answers without words; see docs/assumptions.md.',
      width: 6,
      unit: 'ops',
      stacked: true,
      queries: [positiveRateBy('result', 'status_polls_total')],
    }),
    ['sent', 'verdict', 'inconclusive', 'unreadable', 'unanswered'],
  ),
)

/** The dashboard of the gateway: accepted and refused envelopes, speed, rate and doubts. */
export function gateway(): Dashboard {
  return board({
    name: 'gateway',
    title: 'Gateway',
    description: 'Whether the gateway accepts messages, how fast, at which rate, and which commands are in doubt.',
    choices: [choice('account', 'Account', `label_values(busgate_breaker_state{${own}}, account)`)],
    rows: [accepted, speed, rate, doubts],
  })
}
