import { own, row, ruled } from './board.ts'
import { lines, stat } from './panels.ts'

const allowanceSteps = [
  [null, 'red'],
  [0, 'orange'],
  [0.25, 'green'],
] as const

export const cost = row(
  'What does it cost?',
  lines({
    title: 'Balance',
    description: 'As last read from the gateway (gateway.balanceIntervalMs). Not asked for while an account pauses.',
    width: 8,
    unit: 'short',
    queries: [[`min by (account, currency) (busgate_account_balance{${own}})`, '{{account}}, {{currency}}']],
    runbooks: ['BusgateBalanceLow'],
  }),
  lines({
    title: 'Messages sent an hour',
    description:
      'By type, at the pace of the moment: what is paid for. A type that should not be there: ask its producer.',
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
    title: 'Processors used',
    description:
      'By process; one is the most a process can use. Near one for long: add processes, up to the number of partitions.',
    width: 4,
    unit: 'short',
    queries: [
      [
        `rate(process_cpu_seconds_total{${own}}[$__rate_interval]) and on (namespace, job, instance) busgate_build_info`,
        '{{instance}}',
      ],
    ],
  }),
  lines({
    title: 'Memory',
    description:
      'Resident, by process. Near the limit of its container: it will be killed, and its partitions taken over.',
    width: 4,
    unit: 'bytes',
    queries: [
      [`process_resident_memory_bytes{${own}} and on (namespace, job, instance) busgate_build_info`, '{{instance}}'],
    ],
  }),
)

export const objectives = row(
  'Are the objectives kept?',
  stat({
    title: 'Time allowance left',
    description:
      'Of the 1 % of 30 days in which a topic may be late (or of as many days as Prometheus keeps). None left: slow down changes, work on what makes it late.',
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
      'Of the 0.1 % of the commands of 30 days that may end UNRESOLVED (or of as many days as Prometheus keeps). None left: find out who loses the answers.',
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
      'Over the last hour; 1 uses it up in just 30 days, 14.4 in two, and then somebody is woken. See objectives.',
    width: 12,
    height: 6,
    unit: 'suffix:×',
    queries: [
      [`busgate:too_old:ratio1h{${ruled}} / 0.01`, 'time, {{topic}}'],
      [`busgate:unresolved:ratio1h{${ruled}} / 0.001`, 'outcome'],
    ],
    steps: [
      [null, 'transparent'],
      [14.4, 'red'],
    ],
    runbooks: ['objectives'],
  }),
)
