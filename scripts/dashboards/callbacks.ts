import type { Dashboard } from '@grafana/grafana-foundation-sdk/dashboard'
import { refusals } from '../../src/callbacks/refusals.ts'
import { states } from '../../src/vocabulary/lists.ts'
import { board, own, positiveRateBy, rateBy, row } from './board.ts'
import { colored, lines, stat } from './panels.ts'

const receiving = row(
  'Are callbacks arriving?',
  colored(
    lines({
      title: 'Callbacks on the bus',
      description:
        'By state. 0 while messages are sent: the gateway cannot reach callbacks.publicUrl; test it from the internet.',
      width: 8,
      unit: 'ops',
      stacked: true,
      queries: [positiveRateBy('state', 'callbacks_total')],
      runbooks: ['BusgateCallbacksSilent'],
    }),
    states,
  ),
  lines({
    title: 'By channel',
    description:
      'If a channel that you use is missing, the gateway ignores its hooks: enter the address that `busgate hooks url` prints at the gateway.',
    width: 8,
    unit: 'ops',
    stacked: true,
    queries: [positiveRateBy('type', 'callbacks_total')],
  }),
  stat({
    title: 'Verified',
    description:
      'Share of callbacks that came to their message’s own address. The others came to an account’s address, where nothing proves which message they are about: their events have verified=false.',
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
      'Hook addresses too short for correlationId, tenant and campaign: their events lack these fields. Raise callbacks.urlMaxLength, or shorten callbacks.publicUrl.',
    width: 4,
    height: 7,
    unit: 'short',
    queries: [[`sum(increase(busgate_hooks_without_correlation_total{${own}}[$__range]))`, 'addresses']],
    steps: ['green', [1, 'orange']],
  }),
)

/** Refusals that are answered 503, so that the sender retries. */
const ours = Object.entries(refusals)
  .filter(([, { status }]) => status === 503)
  .map(([reason]) => reason)
  .join('|')

const refusing = row(
  'Are callbacks accepted?',
  lines({
    title: 'Refused: our fault',
    description:
      'Answered 503; the gateway should retry. not_published: Kafka did not confirm. overloaded: add receivers. unknown_key: give the receiver the new callbacks.secret. failed: see the log.',
    width: 12,
    unit: 'ops',
    queries: [rateBy('reason', 'callback_rejections_total', `${own}, reason=~"${ours}"`)],
    runbooks: ['BusgateCallbacksRefused'],
  }),
  lines({
    title: 'Refused: the sender’s fault',
    description:
      'forged, malformed, path, method: strangers guess addresses; harmless. other_id, bad_body, bad_json, not_utf8: the gateway sends invalid callbacks. expired: older than 30 days.',
    width: 12,
    unit: 'ops',
    queries: [positiveRateBy('reason', 'callback_rejections_total', `${own}, reason!~"${ours}"`)],
    runbooks: ['BusgateHooksRefused'],
  }),
)

const reconciling = row(
  'Missing verdicts',
  lines({
    title: 'Overdue verdicts',
    description:
      'By the command’s type. No verdict came in the expected time, so the reconciler polls. The runbook names the usual causes.',
    width: 6,
    unit: 'ops',
    queries: [positiveRateBy('type', 'callbacks_missing_total')],
    runbooks: ['BusgateCallbacksMissing'],
  }),
  colored(
    lines({
      title: 'Found by polling',
      description:
        'Verdicts that the reconciler published. UNKNOWN: the gateway never reported one; ask its operator about these ids.',
      width: 6,
      unit: 'ops',
      stacked: true,
      queries: [positiveRateBy('state', 'verdicts_found_total')],
    }),
    states,
  ),
  lines({
    title: 'Reconciler delay',
    description: 'How late the reconciler is. Growing: raise reconciler.rate, or run more reconcilers.',
    width: 6,
    unit: 's',
    queries: [[`busgate_reconciler_delay_seconds{${own}}`, '{{instance}}']],
    steps: ['transparent', [1800, 'red']],
    runbooks: ['BusgateReconcilerBehind'],
  }),
  lines({
    title: 'Forgotten verdicts',
    description:
      'Ids that no longer fit into the reconciler’s memory: it may poll for messages that have a verdict. Add reconcilers or partitions.',
    width: 6,
    unit: 'ops',
    queries: [[`sum(rate(busgate_verdicts_forgotten_total{${own}}[$__rate_interval]))`, 'forgotten']],
    runbooks: ['BusgateReconcilerBehind'],
  }),
)

/** The dashboard of callbacks, refused callbacks and missing verdicts. */
export function callbacks(): Dashboard {
  return board({
    name: 'callbacks',
    title: 'Callbacks',
    description: 'Which callbacks arrive, which are refused, and which verdicts the reconciler has to poll for.',
    rows: [receiving, refusing, reconciling],
  })
}
