import type { Dashboard } from '@grafana/grafana-foundation-sdk/dashboard'
import { states } from '../../src/protocol/index.ts'
import { board, choice, own, row } from './board.ts'
import { bars, colored, lines, resultOutcomes, stat, table } from './panels.ts'

const chosen = `${own}, type=~"$type"`
const results = `busgate_results_published_total{${chosen}, outcome!="IN_DOUBT"}`
const inRange = (series: string, by = '') => `sum${by}(increase(${series}[$__range]))`
const ofType = (metric: string, matchers = '') => inRange(`busgate_${metric}{${chosen}${matchers}}`, ' by (type) ')
const latency = (quantile: number, range: string) =>
  `histogram_quantile(${quantile}, sum by (type, le) (rate(busgate_delivery_latency_seconds_bucket{${chosen}}[${range}]))) >= 0`

const funnel = row(
  'From command to delivery, in the time shown',
  bars({
    title: 'Funnel',
    description:
      'What is left at each step. The largest loss says where to look: refusals below; missing verdicts on the Callbacks dashboard; failures with the operators. call/otp and hlr end with SENT. To follow a combined type, choose its channels too: a callback names the channel that delivered. What is read, or told twice, counts twice.',
    width: 8,
    height: 9,
    unit: 'short',
    queries: [
      [inRange(results), 'with a final result'],
      [inRange(`busgate_results_published_total{${chosen}, outcome="SENT"}`), 'taken by the gateway'],
      [inRange(`busgate_callbacks_total{${chosen}, state=~"DELIVERED|FAILED"}`), 'told by a callback'],
      [inRange(`busgate_callbacks_total{${chosen}, state="DELIVERED"}`), 'delivered'],
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
    ],
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
      [latency(0.95, '$__range'), 'p95'],
    ],
    units: { p95: 's' },
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
      width: 8,
      unit: 'ops',
      stacked: true,
      queries: [[`sum by (state) (rate(busgate_callbacks_total{${chosen}}[$__rate_interval])) > 0`, '{{state}}']],
    }),
    states,
  ),
  lines({
    title: 'Share of verdicts that say delivered',
    description:
      'By channel. It falls in one: compare with the operators’ own announcements, consider another channel.',
    width: 8,
    unit: 'percentunit',
    max: 1,
    queries: [
      [
        `sum by (type) (rate(busgate_callbacks_total{${chosen}, state="DELIVERED"}[$__rate_interval])) / (sum by (type) (rate(busgate_callbacks_total{${chosen}, state=~"DELIVERED|FAILED"}[$__rate_interval])) > 0)`,
        '{{type}}',
      ],
    ],
  }),
  lines({
    title: 'From reading to delivered, p95',
    description:
      'From the reading of the command to the callback, by channel. Codes should arrive within 10 s, or nobody waits for them.',
    width: 8,
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
      'In the time shown, of what has callbacks. Over 100 %: messages of before, or told of twice. Far below: missing or failed.',
    width: 4,
    height: 7,
    unit: 'percentunit',
    queries: [
      [
        `${inRange(`busgate_callbacks_total{${chosen}, state="DELIVERED"}`)} / ${inRange(`busgate_results_published_total{${chosen}, outcome="SENT", type!~"call/otp|hlr"}`)}`,
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

/** The board shows what becomes of the messages of each channel, from command to verdict. */
export function channels(): Dashboard {
  return board({
    name: 'channels',
    title: 'Channels',
    description: 'What becomes of the messages of each channel, from the command to the verdict.',
    choices: [choice('type', 'Type or channel', `label_values(busgate_results_published_total{${own}}, type)`)],
    rows: [funnel, sending, delivery, missing],
  })
}
