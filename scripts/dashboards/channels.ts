import type { Dashboard } from '@grafana/grafana-foundation-sdk/dashboard'
import { states } from '../../src/protocol/index.ts'
import { board, choice, own, row } from './board.ts'
import { bars, colored, lines, resultOutcomes, stat, table } from './panels.ts'

const chosen = `${own}, type=~"$type"`
const calledBack = `${chosen}, type!~"call/otp|hlr|pipeline"`
const results = `busgate_results_published_total{${chosen}, outcome!="IN_DOUBT"}`
const inRange = (series: string, by = '') => `sum${by}(increase(${series}[$__range]))`
const ofType = (metric: string, matchers = '') => inRange(`busgate_${metric}{${chosen}${matchers}}`, ' by (type) ')
const shareDelivered = (by: string) =>
  `sum by (${by}) (increase(busgate_verdicts_total{${chosen}, state="DELIVERED"}[1h])) / (sum by (${by}) (increase(busgate_verdicts_total{${chosen}}[1h])) > 0)`
const latency = (quantile: number, range: string) =>
  `histogram_quantile(${quantile}, sum by (type, le) (rate(busgate_delivery_latency_seconds_bucket{${chosen}}[${range}]))) >= 0`

const funnel = row(
  'From command to delivery, in the time shown',
  bars({
    title: 'Funnel',
    description:
      'What is left at each step. The largest loss says where to look: refusals below; missing verdicts on the Callbacks dashboard; failures with the operators. call/otp and hlr end with SENT. Verdicts are by the type of the command, from callbacks and from asking; those of pipelines come only from asking. What is told twice counts twice.',
    width: 8,
    height: 9,
    unit: 'short',
    queries: [
      [inRange(results), 'with a final result'],
      [inRange(`busgate_results_published_total{${chosen}, outcome="SENT"}`), 'taken by the gateway'],
      [inRange(`busgate_verdicts_total{${chosen}}`), 'with a verdict'],
      [inRange(`busgate_verdicts_total{${chosen}, state="DELIVERED"}`), 'delivered'],
    ],
  }),
  table({
    title: 'Commands by type',
    description:
      'Compare the shares with those of a week ago. Refused or unresolved stands out: see the codes below. Missing stands out: its callbacks do not come.',
    width: 9,
    height: 9,
    unit: 'short',
    by: 'type',
    queries: [
      [ofType('results_published_total', ', outcome="SENT"'), 'Sent'],
      [ofType('results_published_total', ', outcome=~"REJECTED|INVALID"'), 'Refused'],
      [ofType('results_published_total', ', outcome="EXPIRED"'), 'Expired'],
      [ofType('results_published_total', ', outcome="UNRESOLVED"'), 'Unresolved'],
      [ofType('callbacks_missing_total'), 'Missing'],
      [ofType('verdicts_total', ', state="DELIVERED"'), 'Delivered'],
      [latency(0.95, '$__range'), 'p95'],
    ],
    units: { p95: 's' },
  }),
  table({
    title: 'Verdicts by channel',
    description:
      'A callback names the channel that delivered: messages of combined types are under viber, rcs or sms, WhatsApp is under other. Failed stands out in one: an operator or a sender name; tell the gateway’s people.',
    width: 7,
    height: 9,
    unit: 'short',
    by: 'type',
    queries: [
      [`${ofType('callbacks_total', ', state="DELIVERED"')} > 0`, 'Delivered'],
      [`${ofType('callbacks_total', ', state="FAILED"')} > 0`, 'Failed'],
    ],
  }),
)

const sending = row(
  'Sending',
  colored(
    lines({
      title: 'Final results by outcome',
      description:
        'Of the chosen types. REJECTED: the gateway refuses, see beside. INVALID: a producer breaks the interface.',
      width: 8,
      unit: 'ops',
      stacked: true,
      queries: [[`sum by (outcome) (rate(${results}[$__rate_interval])) > 0`, '{{outcome}}']],
    }),
    resultOutcomes,
  ),
  lines({
    title: 'Share that was not sent',
    description:
      'By type. One type alone: its sender name, its operators or its producer; choose it above and see beside.',
    width: 8,
    unit: 'percentunit',
    queries: [
      [
        `sum by (type) (rate(busgate_results_published_total{${chosen}, outcome!~"SENT|IN_DOUBT"}[$__rate_interval])) / (sum by (type) (rate(${results}[$__rate_interval])) > 0)`,
        '{{type}}',
      ],
    ],
  }),
  lines({
    title: 'Why messages were not sent',
    description:
      'Of the chosen types. SENDER_INVALID: the alpha-name is not registered for that channel. OPERATOR_UNSUPPORTED: not reachable that way. VALIDATION: mend the producer.',
    width: 8,
    unit: 'ops',
    stacked: true,
    queries: [
      [
        `sum by (error_code) (rate(busgate_results_published_total{${chosen}, outcome!~"SENT|IN_DOUBT"}[$__rate_interval])) > 0`,
        '{{error_code}}',
      ],
    ],
  }),
)

const delivery = row(
  'Delivery',
  colored(
    lines({
      title: 'What the callbacks say',
      description:
        'FAILED rises in one channel: an operator or the sender name has trouble; tell the gateway’s people. UNKNOWN: a status that busgate does not know.',
      width: 6,
      unit: 'ops',
      stacked: true,
      queries: [[`sum by (state) (rate(busgate_callbacks_total{${chosen}}[$__rate_interval])) > 0`, '{{state}}']],
    }),
    states,
  ),
  lines({
    title: 'Share delivered by type',
    description:
      'Of the verdicts of each hour. It falls for one type: compare with the operators’ own announcements, consider another channel.',
    width: 6,
    unit: 'percentunit',
    max: 1,
    queries: [[shareDelivered('type'), '{{type}}']],
    runbooks: ['BusgateDeliversLess'],
  }),
  lines({
    title: 'Share delivered by country',
    description:
      'Of the verdicts of each hour, by the number’s country. It falls in one: an operator or a route there has trouble; tell the gateway’s people.',
    width: 6,
    unit: 'percentunit',
    max: 1,
    queries: [[shareDelivered('country'), '{{country}}']],
    runbooks: ['BusgateDeliversLess'],
  }),
  lines({
    title: 'From reading to delivered, p95',
    description:
      'From the reading of the command to the callback, by type. Codes should arrive within 10 s, or nobody waits for them.',
    width: 6,
    unit: 's',
    queries: [[latency(0.95, '$__rate_interval'), '{{type}}']],
    steps: [
      [null, 'transparent'],
      [10, 'orange'],
    ],
  }),
)

const missing = row(
  'Verdicts that did not come by themselves',
  lines({
    title: 'Missing after the expected time',
    description:
      'By channel. All channels: the gateway does not reach callbacks.publicUrl. One: the gateway keeps no hook of it; give it the address of `busgate hooks url`.',
    width: 10,
    unit: 'ops',
    queries: [[`sum by (type) (rate(busgate_callbacks_missing_total{${chosen}}[$__rate_interval])) > 0`, '{{type}}']],
    runbooks: ['BusgateCallbacksMissing'],
  }),
  lines({
    title: 'Found by asking',
    description: 'What the reconciler published instead. UNKNOWN: the gateway never told; give it the ids.',
    width: 10,
    unit: 'ops',
    queries: [
      [
        `sum by (type, state) (rate(busgate_verdicts_found_total{${chosen}}[$__rate_interval])) > 0`,
        '{{type}} {{state}}',
      ],
    ],
  }),
  stat({
    title: 'Delivered, of all sent',
    description:
      'In the time shown, of what has its own callbacks. Over 100 %: messages of before, or told of twice. Far below: missing or failed.',
    width: 4,
    height: 7,
    unit: 'percentunit',
    queries: [
      [
        `${inRange(`busgate_verdicts_total{${calledBack}, state="DELIVERED"}`)} / ${inRange(`busgate_results_published_total{${calledBack}, outcome="SENT"}`)}`,
        'delivered',
      ],
    ],
    steps: [
      [null, 'red'],
      [0.5, 'orange'],
      [0.8, 'green'],
    ],
  }),
)

const cost = row(
  'What it costs',
  lines({
    title: 'Parts billed an hour',
    description: 'By account and type. More than usual: longer texts, or letters that need more parts.',
    width: 8,
    unit: 'short',
    stacked: true,
    queries: [
      [
        `3600 * sum by (account, type) (rate(busgate_parts_total{${chosen}}[$__rate_interval])) > 0`,
        '{{account}} {{type}}',
      ],
    ],
  }),
  lines({
    title: 'Fees of codes an hour',
    description: 'Of call/otp, in the currency of the account. More than usual: somebody asks for many codes.',
    width: 4,
    unit: 'short',
    queries: [[`3600 * sum by (account) (rate(busgate_price_total{${chosen}}[$__rate_interval])) > 0`, '{{account}}']],
  }),
  lines({
    title: 'Parts billed an hour by tenant',
    description: 'Of all types; tenants that gateway.tenantWeights names, and all others together.',
    width: 6,
    unit: 'short',
    stacked: true,
    queries: [
      [`3600 * sum by (tenant) (rate(busgate_tenant_parts_total{${own}}[$__rate_interval])) > 0`, '{{tenant}}'],
    ],
  }),
  lines({
    title: 'Share not sent by tenant',
    description: 'Of all types. One tenant alone: its producer or its texts; `busgate pause --tenant` holds it.',
    width: 6,
    unit: 'percentunit',
    queries: [
      [
        `sum by (tenant) (rate(busgate_tenant_results_total{${own}, outcome!~"SENT|IN_DOUBT"}[$__rate_interval])) / (sum by (tenant) (rate(busgate_tenant_results_total{${own}, outcome!="IN_DOUBT"}[$__rate_interval])) > 0)`,
        '{{tenant}}',
      ],
    ],
  }),
)

/** The board shows what becomes of the messages of each channel, from command to verdict. */
export function channels(): Dashboard {
  return board({
    name: 'channels',
    title: 'Channels',
    description: 'What becomes of the messages of each channel, from the command to the verdict.',
    choices: [choice('type', 'Type or channel', `label_values(busgate_results_published_total{${own}}, type)`)],
    rows: [funnel, sending, delivery, missing, cost],
  })
}
