import { byProcess, own, row, ruled } from './board.ts'
import { lines, stat } from './panels.ts'

const allowanceSteps = ['red', [0, 'orange'], [0.25, 'green']] as const

export const cost = row(
  'What does it cost?',
  lines({
    title: 'Balance',
    description:
      'As last read from the gateway (every gateway.balanceIntervalMs). It is not read while the account is held back.',
    width: 8,
    unit: 'short',
    queries: [[`min by (account, currency) (busgate_account_balance{${own}})`, '{{account}}, {{currency}}']],
    runbooks: ['BusgateBalanceLow'],
  }),
  lines({
    title: 'Messages sent per hour',
    description: 'By type, at the current rate. If a type is unexpected, ask its producer.',
    width: 8,
    unit: 'short',
    stacked: true,
    queries: [
      [
        `3600 * sum by (type) (rate(busgate_results_published_total{${own}, outcome="SENT"}[$__rate_interval])) > 0`,
        '{{type}}',
      ],
    ],
  }),
  lines({
    title: 'CPU cores used',
    description:
      'By process. A process uses about one core at most. Near 1 for long: add processes, up to the number of partitions.',
    width: 4,
    unit: 'short',
    queries: [byProcess(`rate(process_cpu_seconds_total{${own}}[$__rate_interval])`)],
  }),
  lines({
    title: 'Memory',
    description:
      'Resident memory, by process. At its container’s limit the process is killed, and others take over its partitions.',
    width: 4,
    unit: 'bytes',
    queries: [byProcess(`process_resident_memory_bytes{${own}}`)],
  }),
)

export const objectives = row(
  'Are the objectives met?',
  stat({
    title: 'Time allowance left',
    description:
      'Share left of the 1 % of 30 days in which a topic may be late (or of as many days as Prometheus keeps). At 0: stop risky changes, and repair what makes commands late.',
    width: 6,
    height: 6,
    unit: 'percentunit',
    queries: [[`min(1 - avg_over_time(busgate:too_old:bool{${ruled}}[30d]) / 0.01)`, 'left']],
    steps: allowanceSteps,
    runbooks: ['BusgateCommandsLate'],
  }),
  stat({
    title: 'Outcome allowance left',
    description:
      'Share left of the 0.1 % of commands of 30 days that may end UNRESOLVED (or of as many days as Prometheus keeps). At 0: find out what loses answers.',
    width: 6,
    height: 6,
    unit: 'percentunit',
    queries: [
      [
        `min(1 - avg_over_time(busgate:results_unresolved:rate5m{${ruled}}[30d]) / avg_over_time(busgate:results_final:rate5m{${ruled}}[30d]) / 0.001)`,
        'left',
      ],
    ],
    steps: allowanceSteps,
    runbooks: ['BusgateOutcomesUnknown'],
  }),
  lines({
    title: 'How fast the allowance is used',
    description:
      'Over the last hour. At 1 it lasts 30 days; at 14.4 two days, and an alert pages. See the runbook on objectives.',
    width: 12,
    height: 6,
    unit: 'suffix:×',
    queries: [
      [`busgate:too_old:ratio1h{${ruled}} / 0.01`, 'time, {{topic}}'],
      [`busgate:unresolved:ratio1h{${ruled}} / 0.001`, 'outcome'],
    ],
    steps: ['transparent', [14.4, 'red']],
    runbooks: ['objectives'],
  }),
)
