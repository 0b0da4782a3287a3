import type { Dashboard } from '@grafana/grafana-foundation-sdk/dashboard'
import { board, own, row, ruled } from './board.ts'
import { cost, objectives } from './overview-costs.ts'
import { colored, firing, lines, resultOutcomes, stat, stepsOf } from './panels.ts'

const alerts = 'alertname=~"Busgate.+", alertstate="firing", namespace=~"$namespace"'

const health = row(
  'Is it healthy?',
  stat({
    title: 'Alerts that fire',
    description:
      'Page: somebody has to act now. Ticket: within working hours. The table below names each, with its runbook.',
    width: 4,
    unit: 'none',
    queries: [
      [`count(ALERTS{${alerts}, severity="page"}) or vector(0)`, 'page'],
      [`count(ALERTS{${alerts}, severity="ticket"}) or vector(0)`, 'ticket'],
    ],
    steps: [
      [null, 'green'],
      [1, 'red'],
    ],
  }).overrideByName('ticket', [
    stepsOf([
      [null, 'green'],
      [1, 'orange'],
    ]),
  ]),
  stat({
    title: 'Processes that do not answer',
    description:
      'Targets of busgate whose /metrics does not answer: look at the pod and its last log lines; the others take its partitions over. Not ready: roles that a process does not do now; its /readyz says why.',
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
    steps: [
      [null, 'green'],
      [1, 'red'],
    ],
    runbooks: ['BusgateTargetDown', 'BusgateAbsent', 'BusgateNotReady'],
  }).overrideByName('up', [
    stepsOf([
      [null, 'red'],
      [1, 'green'],
    ]),
  ]),
  stat({
    title: 'Commands',
    description:
      'Late: the oldest unsent command of some topic is older than its limit. See "What is late" below for the topic, and "Gateway" beside for the usual cause.',
    width: 4,
    unit: 'none',
    queries: [[`max(busgate:too_old:bool{${ruled}})`, 'late']],
    texts: { 0: 'in time', 1: 'LATE' },
    steps: [
      [null, 'green'],
      [1, 'red'],
    ],
    runbooks: ['BusgateCommandsGrowingOld', 'BusgateCommandsLate'],
  }),
  stat({
    title: 'Gateway',
    description:
      'The worst account of the worst process. Paused: nothing of that account is sent but probes; the Gateway dashboard says why. An account with nothing to send may stay paused, harmlessly.',
    width: 4,
    unit: 'none',
    queries: [[`max(busgate_breaker_state{${own}})`, 'breaker']],
    texts: { 0: 'sending', 1: 'probing', 2: 'PAUSED' },
    steps: [
      [null, 'green'],
      [1, 'orange'],
      [2, 'red'],
    ],
    runbooks: ['BusgateBreakerOpen', 'BusgateKeyRefused'],
  }),
  stat({
    title: 'Commands in doubt',
    description:
      'Perhaps sent: the answer was lost. They are being resolved, within minutes. Growing: the gateway loses answers, or does not answer when asked for a status.',
    width: 4,
    unit: 'short',
    queries: [[`sum(busgate_doubts_open{${own}})`, 'in doubt']],
    steps: [
      [null, 'green'],
      [100, 'orange'],
      [1000, 'red'],
    ],
    runbooks: ['BusgateDoubtsGrowing'],
  }),
  stat({
    title: 'Balance lasts',
    description:
      'How long the balance of the poorest account lasts at the pace of the last six hours. Top it up before it ends: what is refused for want of money is not sent again.',
    width: 4,
    unit: 'dtdurations',
    queries: [[`min(busgate:runway_seconds{${ruled}})`, 'lasts']],
    steps: [
      [null, 'red'],
      [86_400, 'orange'],
      [259_200, 'green'],
    ],
    runbooks: ['BusgateBalanceLow', 'BusgateBalanceEmpty'],
  }).noValue('nothing spent'),
  firing({
    title: 'What fires now',
    description: 'The name leads to the runbook: what it means, how to see, what to do, how to know that it is over.',
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
      'Out stays below in: commands pile up, see "What is late". Both at nothing: nobody produces, or nobody consumes.',
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
      'By topic, against its limit (dashed). Rising by a second a second: nothing leaves; paused account, used-up rate or a stuck consumer. 0: nothing waits.',
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
    title: 'Records that wait',
    description:
      'Between the checkpoints and the ends of the partitions. Doubts wait on purpose. A command topic that never comes down: see the Kafka dashboard for its partitions.',
    width: 6,
    unit: 'short',
    queries: [[`sum by (topic) (max by (topic, partition) (busgate_consumer_lag_records{${own}}))`, '{{topic}}']],
    runbooks: ['BusgateConsumerStuck'],
  }),
  lines({
    title: 'From reading to delivered',
    description:
      'How long half, and nineteen of twenty, delivered messages took from the reading of their command to the callback. Slower than usual, with nothing waiting: an operator or the gateway; the Channels dashboard tells the channel.',
    width: 6,
    unit: 's',
    queries: [0.5, 0.95].map(
      quantile =>
        [
          `histogram_quantile(${quantile}, sum by (le) (rate(busgate_delivery_latency_seconds_bucket{${own}}[$__rate_interval])))`,
          `p${quantile * 100}`,
        ] as const,
    ),
  }),
  lines({
    title: 'Paused by operators',
    description: 'Accounts, topics and tenants. `busgate status` says who paused what, and why; their commands wait.',
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
        'SENT is the aim. REJECTED: the gateway refuses, see the codes beside. INVALID: a producer breaks the interface. EXPIRED: too late to be sent. UNRESOLVED: nobody can tell; ask the gateway for these ids.',
      width: 8,
      unit: 'ops',
      stacked: true,
      queries: [
        [
          `sum by (outcome) (rate(busgate_results_published_total{${own}, outcome!="IN_DOUBT"}[$__rate_interval])) > 0`,
          '{{outcome}}',
        ],
      ],
      runbooks: ['BusgateOutcomesUnknown', 'BusgateCommandsExpired'],
    }),
    resultOutcomes,
  ),
  lines({
    title: 'Why commands were not sent',
    description:
      'Results other than SENT and IN_DOUBT, by code. INSUFFICIENT_FUNDS: top up. SENDER_INVALID, VALIDATION: mend the producer. DEADLINE, MAX_AGE: too late. RESPONSE_LOST: the answer was lost and the policy forbids another try.',
    width: 8,
    unit: 'ops',
    stacked: true,
    queries: [
      [
        `sum by (error_code) (rate(busgate_results_published_total{${own}, outcome!~"SENT|IN_DOUBT"}[$__rate_interval])) > 0`,
        '{{error_code}}',
      ],
    ],
    runbooks: ['BusgateBalanceEmpty', 'BusgateOutcomesUnknown'],
  }),
  lines({
    title: 'Lost on the way',
    description:
      'Dead letters: records that nobody could read; mend the producer and replay. Missing verdicts: messages whose callback did not come in time; the reconciler asks for them.',
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

/** The board is for whoever is woken: is it healthy, what is late, what became of the commands, what does it cost. */
export function overview(): Dashboard {
  return board({
    name: 'overview',
    title: 'Overview',
    description: 'Is it healthy? What is late? What becomes of the commands? What does it cost?',
    rows: [health, late, outcome, cost, objectives],
  })
}
