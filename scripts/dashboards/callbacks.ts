import type { Dashboard } from '@grafana/grafana-foundation-sdk/dashboard'
import { refusals } from '../../src/callbacks/refusals.ts'
import { states } from '../../src/protocol/index.ts'
import { board, own, row } from './board.ts'
import { colored, lines, stat } from './panels.ts'

const receiving = row(
  'Do they arrive?',
  colored(
    lines({
      title: 'Callbacks on the bus',
      description:
        'By what they say. Nothing while messages are sent: the gateway does not reach callbacks.publicUrl; try it from outside.',
      width: 8,
      unit: 'ops',
      stacked: true,
      queries: [[`sum by (state) (rate(busgate_callbacks_total{${own}}[$__rate_interval])) > 0`, '{{state}}']],
      runbooks: ['BusgateCallbacksSilent'],
    }),
    states,
  ),
  lines({
    title: 'By channel',
    description:
      'One is missing that is sent: the gateway keeps no hook of it; give it the address of `busgate hooks url`.',
    width: 8,
    unit: 'ops',
    stacked: true,
    queries: [[`sum by (type) (rate(busgate_callbacks_total{${own}}[$__rate_interval])) > 0`, '{{type}}']],
  }),
  stat({
    title: 'Verified',
    description:
      'Callbacks in the time shown that came to the address of their message. The rest came to the address of an account, where nothing proves whom they are about: events with verified=false.',
    width: 4,
    height: 7,
    unit: 'percentunit',
    queries: [
      [
        `sum(increase(busgate_callbacks_total{${own}, verified="true"}[$__range])) / sum(increase(busgate_callbacks_total{${own}}[$__range]))`,
        'verified',
      ],
    ],
  }),
  stat({
    title: 'Without correlation',
    description:
      'Hook addresses in the time shown that had no room for correlation and tenant: their events lack them. Raise callbacks.urlMaxLength, or shorten callbacks.publicUrl.',
    width: 4,
    height: 7,
    unit: 'short',
    queries: [[`sum(increase(busgate_hooks_without_correlation_total{${own}}[$__range]))`, 'addresses']],
    steps: [
      [null, 'green'],
      [1, 'orange'],
    ],
  }),
)

/** Answered 503: the sender is to try again. */
const ours = Object.entries(refusals)
  .filter(([, { status }]) => status === 503)
  .map(([reason]) => reason)
  .join('|')

const refusing = row(
  'Are they taken?',
  lines({
    title: 'Refused for a reason of ours',
    description:
      'Answered 503; the gateway should repeat them. not_published: the bus does not confirm. overloaded: add receivers. unknown_key: give the receiver the new callbacks.secret. failed: see the log.',
    width: 12,
    unit: 'ops',
    queries: [
      [
        `sum by (reason) (rate(busgate_callback_rejections_total{${own}, reason=~"${ours}"}[$__rate_interval]))`,
        '{{reason}}',
      ],
    ],
    runbooks: ['BusgateCallbacksRefused'],
  }),
  lines({
    title: 'Refused for a reason of theirs',
    description:
      'forged, malformed, path, method: strangers try addresses; harmless. other_id, bad_body, bad_json, not_utf8: the gateway sends what it should not. expired: see callbacks.tokenLifeMs.',
    width: 12,
    unit: 'ops',
    queries: [
      [
        `sum by (reason) (rate(busgate_callback_rejections_total{${own}, reason!~"${ours}"}[$__rate_interval])) > 0`,
        '{{reason}}',
      ],
    ],
    runbooks: ['BusgateHooksRefused'],
  }),
)

const reconciling = row(
  'What did not come by itself',
  lines({
    title: 'Missing after the expected time',
    description: 'By channel; the reconciler asks for them. See the runbook for the usual causes.',
    width: 6,
    unit: 'ops',
    queries: [[`sum by (type) (rate(busgate_callbacks_missing_total{${own}}[$__rate_interval])) > 0`, '{{type}}']],
    runbooks: ['BusgateCallbacksMissing'],
  }),
  colored(
    lines({
      title: 'Found by asking',
      description: 'Verdicts that the reconciler published. UNKNOWN: the gateway never told one; give it the ids.',
      width: 6,
      unit: 'ops',
      stacked: true,
      queries: [[`sum by (state) (rate(busgate_verdicts_found_total{${own}}[$__rate_interval])) > 0`, '{{state}}']],
    }),
    states,
  ),
  lines({
    title: 'Delay of the reconciler',
    description:
      'How far its walk is behind, beyond reconciler.delayMs. Growing: raise reconciler.rate, or run it in more processes.',
    width: 6,
    unit: 's',
    queries: [[`busgate_reconciler_delay_seconds{${own}}`, '{{instance}}']],
    steps: [
      [null, 'transparent'],
      [1800, 'red'],
    ],
    runbooks: ['BusgateReconcilerBehind'],
  }),
  lines({
    title: 'Forgotten verdicts',
    description:
      'Ids that the reconciler had to forget: it may ask for messages whose callback came. Give it more processes or partitions.',
    width: 6,
    unit: 'ops',
    queries: [[`sum(rate(busgate_verdicts_forgotten_total{${own}}[$__rate_interval]))`, 'forgotten']],
    runbooks: ['BusgateReconcilerBehind'],
  }),
)

/** The way back: what the gateway tells about messages, and what it does not. */
export function callbacks(): Dashboard {
  return board({
    name: 'callbacks',
    title: 'Callbacks',
    description: 'What the gateway tells about messages, what is refused, and what does not come by itself.',
    rows: [receiving, refusing, reconciling],
  })
}
