import type { Dashboard } from '@grafana/grafana-foundation-sdk/dashboard'
import { states } from '../../src/vocabulary/lists.ts'
import { board, choice, own, positiveRateBy, row } from './board.ts'
import { bars, colored, lines, resultOutcomes, stat, table } from './panels.ts'

const chosen = `${own}, type=~"$type"`
const calledBack = `${chosen}, type!~"call/otp|hlr|pipeline"`
const results = `busgate_results_published_total{${chosen}, outcome!="IN_DOUBT"}`
const inRange = (series: string, by = '') => `sum${by}(increase(${series}[$__range]))`
const ofType = (metric: string, matchers = '') => inRange(`busgate_${metric}{${chosen}${matchers}}`, ' by (type) ')
const ofCountry = (metric: string, matchers: string) =>
  `${inRange(`busgate_${metric}{${chosen}${matchers}}`, ' by (country) ')} > 0`
// This metric has no label type, so it covers all types. Prometheus 3 writes le="10" as "10.0".
const arrival = (part: 'sum' | 'count' | 'bucket', matchers = '') =>
  inRange(`busgate_country_delivery_latency_seconds_${part}{${own}${matchers}}`, ' by (country) ')
const arrived = `(${arrival('count')} > 0)`
const shareDelivered = (by: string) =>
  `sum by (${by}) (increase(busgate_verdicts_total{${chosen}, state="DELIVERED"}[1h])) / (sum by (${by}) (increase(busgate_verdicts_total{${chosen}}[1h])) > 0)`
const latency = (quantile: number, range: string) =>
  `histogram_quantile(${quantile}, sum by (type, le) (rate(busgate_delivery_latency_seconds_bucket{${chosen}}[${range}]))) >= 0`

const funnel = row(
  'From command to delivery, in the time shown',
  bars({
    title: 'Funnel',
    description:
      'Messages left at each step. Look where most are lost: refusals are below, overdue verdicts on the Callbacks dashboard, failures with the mobile operators. call/otp and hlr end with SENT. Verdicts are by the command’s type, from callbacks and polls; those of pipelines come from polls only. A repeated callback counts twice.',
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
      'Compare the shares with a week ago. Many refused or unresolved: see the codes below. Many missing: callbacks do not arrive.',
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
      'By the channel that delivered: a viber+sms message counts as viber or sms, WhatsApp as other. Many failed in one channel: a mobile operator or a sender name has trouble; tell the gateway’s operator.',
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
        'Of the selected types. REJECTED: refused by the gateway, see the next panels. INVALID: a producer violates the interface, or exceeds a limit.',
      width: 8,
      unit: 'ops',
      stacked: true,
      queries: [[`sum by (outcome) (rate(${results}[$__rate_interval])) > 0`, '{{outcome}}']],
    }),
    resultOutcomes,
  ),
  lines({
    title: 'Share not sent',
    description:
      'By type. If one type stands out, its sender name, mobile operators or producer has trouble: select the type above and see the next panel.',
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
      'Of the selected types. SENDER_INVALID: the sender name is not registered for the channel. OPERATOR_UNSUPPORTED: the channel does not reach this phone. VALIDATION: repair the producer. COUNTRY, PARTS: beyond a limit of the settings.',
    width: 8,
    unit: 'ops',
    stacked: true,
    queries: [positiveRateBy('error_code', 'results_published_total', `${chosen}, outcome!~"SENT|IN_DOUBT"`)],
  }),
)

const delivery = row(
  'Delivery',
  colored(
    lines({
      title: 'What the callbacks say',
      description:
        'FAILED rises in one channel: a mobile operator or the sender name has trouble; tell the gateway’s operator. UNKNOWN: a status that busgate does not know.',
      width: 8,
      unit: 'ops',
      stacked: true,
      queries: [positiveRateBy('state', 'callbacks_total', chosen)],
    }),
    states,
  ),
  lines({
    title: 'Share delivered by type',
    description:
      'Of each hour’s verdicts. If one type falls, check the mobile operators’ announcements; consider another channel.',
    width: 8,
    unit: 'percentunit',
    max: 1,
    queries: [[shareDelivered('type'), '{{type}}']],
    runbooks: ['BusgateDeliversLess'],
  }),
  lines({
    title: 'Share delivered by country',
    description:
      'Of each hour’s verdicts, by the phone’s country. If one country falls, a mobile operator or route there has trouble: tell the gateway’s operator.',
    width: 8,
    unit: 'percentunit',
    max: 1,
    queries: [[shareDelivered('country'), '{{country}}']],
    runbooks: ['BusgateDeliversLess'],
  }),
  lines({
    title: 'From reading to delivered, p95',
    description: 'From reading the command to its callback, by type. One-time passwords should arrive within 10 s.',
    width: 12,
    unit: 's',
    queries: [[latency(0.95, '$__rate_interval'), '{{type}}']],
    steps: ['transparent', [10, 'orange']],
  }),
  table({
    title: 'Countries',
    description:
      'Verdicts and delivery times in the time shown, by the phone’s country. If one country is slower than the others, tell the gateway’s operator about its route. Times are those of callbacks, of all types.',
    width: 12,
    unit: 'short',
    by: 'country',
    queries: [
      [ofCountry('verdicts_total', ', state="DELIVERED"'), 'Delivered'],
      [ofCountry('verdicts_total', ', state="FAILED"'), 'Failed'],
      [`${arrival('sum')} / ${arrived}`, 'Average'],
      [`${arrival('bucket', ', le=~"10|10[.]0"')} / ${arrived}`, 'In 10 s'],
      [`${arrival('bucket', ', le=~"60|60[.]0"')} / ${arrived}`, 'In a minute'],
    ],
    units: { Average: 's', 'In 10 s': 'percentunit', 'In a minute': 'percentunit' },
  }),
  lines({
    title: 'Refused countries',
    description:
      'Commands to a country that gateway.countries does not list, by account; of all types. A sudden rise: strangers try out expensive numbers. Find the form that they use.',
    width: 24,
    unit: 'ops',
    stacked: true,
    queries: [
      [
        `sum by (account, country) (rate(busgate_country_refusals_total{${own}}[$__rate_interval])) > 0`,
        '{{account}} {{country}}',
      ],
    ],
    runbooks: ['BusgateCountriesRefused'],
  }),
)

const missing = row(
  'Missing verdicts',
  lines({
    title: 'Overdue verdicts',
    description:
      'By channel. All channels: the gateway cannot reach callbacks.publicUrl. One: the gateway ignores its hooks; enter the address that `busgate hooks url` prints at the gateway.',
    width: 10,
    unit: 'ops',
    queries: [positiveRateBy('type', 'callbacks_missing_total', chosen)],
    runbooks: ['BusgateCallbacksMissing'],
  }),
  lines({
    title: 'Found by polling',
    description:
      'Verdicts that the reconciler published instead. UNKNOWN: the gateway never reported one; ask its operator about these ids.',
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
    title: 'Share of sent messages delivered',
    description:
      'Of messages with their own callback address. Above 100 %: callbacks of earlier messages, or repeated ones. Far below: verdicts are missing or failed.',
    width: 4,
    height: 7,
    unit: 'percentunit',
    queries: [
      [
        `${inRange(`busgate_verdicts_total{${calledBack}, state="DELIVERED"}`)} / ${inRange(`busgate_results_published_total{${calledBack}, outcome="SENT"}`)}`,
        'delivered',
      ],
    ],
    steps: ['red', [0.5, 'orange'], [0.8, 'green']],
  }),
)

const cost = row(
  'Costs',
  lines({
    title: 'Parts billed per hour',
    description: 'By account and type. Higher than usual: longer texts, or alphabets that need more parts.',
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
    title: 'Fees for codes per hour',
    description: 'Of call/otp, in the account’s currency. Higher than usual: somebody requests many codes.',
    width: 4,
    unit: 'short',
    queries: [[`3600 * sum by (account) (rate(busgate_price_total{${chosen}}[$__rate_interval])) > 0`, '{{account}}']],
  }),
  lines({
    title: 'Parts billed per hour, by tenant',
    description: 'Of all types. Tenants that gateway.tenantWeights does not name are counted together.',
    width: 6,
    unit: 'short',
    stacked: true,
    queries: [
      [`3600 * sum by (tenant) (rate(busgate_tenant_parts_total{${own}}[$__rate_interval])) > 0`, '{{tenant}}'],
    ],
  }),
  lines({
    title: 'Share not sent, by tenant',
    description:
      'Of all types. If one tenant stands out, its producer or texts are at fault: `busgate pause --tenant` stops it.',
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

/** The dashboard of each channel's messages, from command to verdict. */
export function channels(): Dashboard {
  return board({
    name: 'channels',
    title: 'Channels',
    description: 'Messages of each channel, from the command to the verdict.',
    choices: [choice('type', 'Type or channel', `label_values(busgate_results_published_total{${own}}, type)`)],
    rows: [funnel, sending, delivery, missing, cost],
  })
}
