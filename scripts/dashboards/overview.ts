import type { Dashboard } from '@grafana/grafana-foundation-sdk/dashboard'
import { board, own, positiveRateBy, quantiles, row, ruled } from './board.ts'
import { cost, objectives } from './overview-costs.ts'
import { colored, firing, lines, resultOutcomes, stat, stepsOf } from './panels.ts'

const alerts = 'alertname=~"Busgate.+", alertstate="firing", namespace=~"$namespace"'

const health = row(
  'Is it healthy?',
  stat({
    title: 'Firing alerts',
    description: 'Page: act now. Ticket: act within working hours. The table below names each alert, with its runbook.',
    width: 4,
    unit: 'none',
    queries: [
      [`count(ALERTS{${alerts}, severity="page"}) or vector(0)`, 'page'],
      [`count(ALERTS{${alerts}, severity="ticket"}) or vector(0)`, 'ticket'],
    ],
    steps: ['green', [1, 'red']],
  }).overrideByName('ticket', [stepsOf('green', [1, 'orange'])]),
  stat({
    title: 'Processes that do not answer',
    description:
      '/metrics does not answer: look at the pod and its last log lines; other processes take over its partitions. Not ready: a role of the process does not work; its /readyz says why.',
    width: 4,
    unit: 'none',
    queries: [
      [
        `count(up{${own}} == 0 and on (namespace, job) group by (namespace, job) (last_over_time(busgate_build_info{${ruled}}[1d]))) or vector(0)`,
        'down',
      ],
      [`sum(busgate:not_ready{${ruled}}) or vector(0)`, 'not ready'],
      [`count(group by (namespace, job, instance) (busgate_build_info{${own}})) or vector(0)`, 'up'],
    ],
    steps: ['green', [1, 'red']],
    runbooks: ['BusgateTargetDown', 'BusgateAbsent', 'BusgateNotReady'],
  }).overrideByName('up', [stepsOf('red', [1, 'green'])]),
  stat({
    title: 'Commands',
    description:
      'Late: the oldest unsent command of a topic is older than the topic’s limit. "What is late?" below shows the topic, "Gateway" the usual cause.',
    width: 4,
    unit: 'none',
    queries: [[`max(busgate:too_old:bool{${ruled}})`, 'late']],
    texts: { 0: 'in time', 1: 'LATE' },
    steps: ['green', [1, 'red']],
    runbooks: ['BusgateCommandsGrowingOld', 'BusgateCommandsLate'],
  }),
  stat({
    title: 'Gateway',
    description:
      'The worst account of the worst process. Paused: only probes are sent for it; the Gateway dashboard shows why. An account with nothing to send may stay paused; this is harmless.',
    width: 4,
    unit: 'none',
    queries: [[`max(busgate_breaker_state{${own}})`, 'breaker']],
    texts: { 0: 'sending', 1: 'probing', 2: 'PAUSED' },
    steps: ['green', [1, 'orange'], [2, 'red']],
    runbooks: ['BusgateBreakerOpen', 'BusgateKeyRefused'],
  }),
  stat({
    title: 'Commands in doubt',
    description:
      'Perhaps sent: the answer was lost. They are resolved within minutes. Growing: the gateway loses answers, or does not answer status polls.',
    width: 4,
    unit: 'short',
    queries: [[`sum(busgate_doubts_open{${own}})`, 'in doubt']],
    steps: ['green', [100, 'orange'], [1000, 'red']],
    runbooks: ['BusgateDoubtsGrowing'],
  }),
  stat({
    title: 'Balance lasts',
    description:
      'How long the poorest account’s balance lasts at the rate of the last six hours. Top it up in time: commands that end INSUFFICIENT_FUNDS are not retried.',
    width: 4,
    unit: 'dtdurations',
    queries: [[`min(busgate:runway_seconds{${ruled}})`, 'lasts']],
    steps: ['red', [86_400, 'orange'], [259_200, 'green']],
    runbooks: ['BusgateBalanceLow', 'BusgateBalanceEmpty'],
  }).noValue('nothing spent'),
  firing({
    title: 'Firing alerts by name',
    description: 'Click a name for its runbook: meaning, diagnosis, mitigation.',
    width: 12,
    queries: [[`ALERTS{${alerts}}`, '']],
    columns: {
      alertname: 'Alert',
      severity: 'Severity',
      account: 'Account',
      topic: 'Topic',
      reason: 'Reason',
      code: 'Code',
      role: 'Role',
      instance: 'Process',
    },
  }),
  lines({
    title: 'Commands in, final results out',
    description:
      'If out stays below in, commands pile up: see "What is late?". Both 0: nobody produces, or nobody consumes.',
    width: 12,
    unit: 'ops',
    queries: [
      [`sum(rate(busgate_commands_consumed_total{${own}}[$__rate_interval]))`, 'commands in'],
      [
        `sum(rate(busgate_results_published_total{${own}, outcome!="IN_DOUBT"}[$__rate_interval]))`,
        'final results out',
      ],
    ],
    runbooks: ['BusgateConsumerStuck'],
  }),
)

const late = row(
  'What is late?',
  lines({
    title: 'Age of the oldest unsent command',
    description:
      'By topic, with its limit (dashed). Rising by one second per second: nothing is sent, because an account is paused or held back, the rate is used up, or the consumer is stuck. 0: the queue is empty.',
    width: 6,
    unit: 's',
    queries: [
      [`max by (topic) (busgate_oldest_unsent_command_age_seconds{${own}})`, '{{topic}}'],
      ['max by (topic) (busgate:limit_age_seconds{namespace=~"$namespace|", topic!=""})', 'limit of {{topic}}'],
      ['max(busgate:limit_age_seconds{namespace=~"$namespace|", topic=""})', 'limit of the others'],
    ],
    runbooks: ['BusgateCommandsGrowingOld', 'BusgateCommandsLate'],
  }),
  lines({
    title: 'Consumer lag',
    description:
      'Records from the checkpoints to the ends of the partitions. Doubts wait on purpose. If a command topic never falls, see its partitions on the Kafka dashboard.',
    width: 6,
    unit: 'short',
    queries: [[`sum by (topic) (max by (topic, partition) (busgate_consumer_lag_records{${own}}))`, '{{topic}}']],
    runbooks: ['BusgateConsumerStuck'],
  }),
  lines({
    title: 'From reading to delivered',
    description:
      'From reading a command to its callback, p50 and p95 of delivered messages. Slower than usual without lag: a mobile operator or the gateway is slow; the Channels dashboard shows the channel.',
    width: 6,
    unit: 's',
    queries: quantiles('delivery_latency_seconds', [0.5, 0.95]),
  }),
  lines({
    title: 'Paused',
    description:
      'By operators (accounts, topics, tenants) or quiet hours (accounts); their commands wait. `busgate status` says who paused each, and why.',
    width: 6,
    unit: 'short',
    queries: [[`max by (kind) (busgate_pauses{${own}})`, '{{kind}}']],
    runbooks: ['BusgatePausedForLong'],
  }),
)

const outcome = row(
  'What becomes of the commands?',
  colored(
    lines({
      title: 'Final results by outcome',
      description:
        'REJECTED: refused by the gateway, see the codes in the next panel. INVALID: a producer violates the interface, or exceeds a limit. EXPIRED: not sent in time. UNRESOLVED: nobody can tell; ask the gateway’s operator about these ids.',
      width: 8,
      unit: 'ops',
      stacked: true,
      queries: [positiveRateBy('outcome', 'results_published_total', `${own}, outcome!="IN_DOUBT"`)],
      runbooks: ['BusgateOutcomesUnknown', 'BusgateCommandsExpired'],
    }),
    resultOutcomes,
  ),
  lines({
    title: 'Why commands were not sent',
    description:
      'Results other than SENT and IN_DOUBT, by code. INSUFFICIENT_FUNDS: top up. SENDER_INVALID, VALIDATION, COUNTRY, PARTS: repair the producer. DEADLINE, MAX_AGE: not sent in time. RESPONSE_LOST: the answer was lost, and the policy forbids a retry.',
    width: 8,
    unit: 'ops',
    stacked: true,
    queries: [positiveRateBy('error_code', 'results_published_total', `${own}, outcome!~"SENT|IN_DOUBT"`)],
    runbooks: ['BusgateBalanceEmpty', 'BusgateOutcomesUnknown'],
  }),
  lines({
    title: 'Dead letters and overdue verdicts',
    description:
      'Dead letters: records that cannot be read; repair the producer, then replay them. Overdue verdicts: no callback came in time; the reconciler polls.',
    width: 8,
    unit: 'ops',
    queries: [
      [`sum(rate(busgate_dead_letters_total{${own}}[$__rate_interval]))`, 'dead letters'],
      [`sum(rate(busgate_callbacks_missing_total{${own}}[$__rate_interval]))`, 'missing verdicts'],
      [`sum(rate(busgate_callback_rejections_total{${own}}[$__rate_interval]))`, 'refused callbacks'],
    ],
    runbooks: ['BusgateDeadLetters', 'BusgateCallbacksMissing', 'BusgateCallbacksRefused'],
  }),
)

/** The dashboard for the person on call: health, late commands, outcomes and cost. */
export function overview(): Dashboard {
  return board({
    name: 'overview',
    title: 'Overview',
    description: 'Is it healthy? What is late? What becomes of the commands? What does it cost?',
    rows: [health, late, outcome, cost, objectives],
  })
}
