import { sendTypes } from '../protocol/index.ts'
import { pauseKinds, withdrawalKinds } from '../vocabulary/control.ts'
import { type Outcome, outcomes, roles, states } from '../vocabulary/lists.ts'
import * as label from './labels.ts'

/* Upper bounds of the histograms' buckets, dense where a decision falls. */

/**
 * Operations per envelope: 1-2-5 steps beyond the default limit of 100, to distinguish full, half-full and single-command
 * envelopes.
 */
const envelopeOperations = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000]

/** Seconds per request to the gateway: from a gateway in the same data centre to twice the default time-out of 30 s. */
const requestSeconds = [0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60]

/** Seconds per transaction: milliseconds with brokers nearby, seconds while a broker fails over. */
const commitSeconds = [0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10]

/** Seconds of waiting for an account's rate: below 20 ms it is part of the linger time; at minutes the rate is too low. */
const rateWaitSeconds = [0.01, 0.02, 0.05, 0.1, 0.5, 1, 5, 15, 60, 300, 900]

/** Seconds from sending to the final status: a code should arrive within 10 s; the longest lifetime of a message is 3 days. */
const deliverySeconds = [1, 2, 5, 10, 20, 30, 60, 90, 120, 180, 300, 600, 900, 3600, 14_400, 43_200, 86_400, 259_200]

/** The same by country: few buckets, because there are many countries. */
const countrySeconds = [10, 60, 300, 3600]

interface Definition {
  type: 'counter' | 'histogram' | 'gauge'
  labels: Readonly<Record<string, label.LabelValues>>
  /** One sentence. */
  meaning: string
  /** What to do about it. */
  action: string
  /** Upper bounds of a histogram's buckets. */
  buckets?: readonly number[]
  /** Whether the value is read at each scrape instead of set by events. */
  readAtScrape?: true
  /**
   * Label combinations that exist from the start, with 0. Default: all combinations of closed labels. Each entry is multiplied
   * out.
   */
  start?: readonly Readonly<Record<string, readonly string[]>>[]
}

/**
 * All metrics, without the prefix busgate_. The registry and docs/metrics.md are generated from this. Names are part of the
 * contract: dashboards and alerts depend on them.
 */
export const metricDefinitions = {
  commands_consumed_total: {
    type: 'counter',
    labels: { topic: 'topic' },
    meaning: 'Commands read from a command topic.',
    action:
      'Its rate is the incoming load. Flat while consumer_lag_records grows: the consumer is stuck, see window_used_ratio and the log.',
  },
  commands_answered_before_total: {
    type: 'counter',
    labels: { topic: 'topic' },
    meaning:
      'Records skipped because the results or dead letters already hold their answer; happens where the committed offset has no window.',
    action: 'Not 0: the committed offset was reset, or kafka.groupId was changed; see session.unchecked in the log.',
  },
  results_published_total: {
    type: 'counter',
    labels: { type: sendTypes, outcome: outcomes, error_code: label.resultCodes },
    start: label.resultCombinations,
    meaning: 'Results committed to the results topic; a command in doubt has an IN_DOUBT result before its final one.',
    action:
      'Watch the share of outcomes other than SENT. REJECTED names its cause in error_code; INVALID is a bug of the producer of the commands; UNRESOLVED: ask the gateway.',
  },
  parts_total: {
    type: 'counter',
    labels: { account: 'account', type: sendTypes },
    meaning: 'Message parts that the gateway billed, by the results.',
    action: 'Rising faster than SENT results: texts got longer or use non-Latin letters; ask the producer.',
  },
  price_total: {
    type: 'counter',
    labels: { account: 'account', type: sendTypes },
    meaning: "Prices that the gateway reported, in the account's currency; it reports them for call/otp only.",
    action: 'Rising faster than usual: somebody requests many codes; find the tenant or campaign.',
  },
  country_refusals_total: {
    type: 'counter',
    labels: { account: 'account', country: 'country' },
    start: [{ country: [label.other] }],
    meaning:
      'Results with errorCode COUNTRY: commands to a country that `gateway.countries` does not list, by account and country.',
    action: 'A sudden rise: [BusgateCountriesRefused](runbooks/BusgateCountriesRefused.md).',
  },
  tenant_results_total: {
    type: 'counter',
    labels: { tenant: 'tenant', outcome: outcomes },
    meaning: 'Results by tenant, counted as results_published_total.',
    action:
      'One tenant sends more than its share, or has other outcomes than the rest: ask it; `busgate pause` stops it.',
  },
  tenant_parts_total: {
    type: 'counter',
    labels: { tenant: 'tenant' },
    meaning: 'Message parts billed, by tenant.',
    action: 'Shows which tenant costs most.',
  },
  oldest_unsent_command_age_seconds: {
    type: 'gauge',
    readAtScrape: true,
    labels: { topic: 'topic' },
    meaning: 'Age of the oldest command that is read but not sent, without paused ones; 0 if there is none.',
    action:
      'Growing: see breaker_state (the gateway refuses), rate_headroom_ratio (the rate is used up), requests_in_flight (the gateway is slow).',
  },
  consumer_lag_records: {
    type: 'gauge',
    readAtScrape: true,
    labels: { topic: 'topic', partition: 'partition' },
    meaning: 'Consumer lag: records between the committed offset and the end of a partition.',
    action:
      'Growing on all partitions: add workers or raise the rate. On one: see session.lost and session.openFailed in the log.',
  },
  window_used_ratio: {
    type: 'gauge',
    readAtScrape: true,
    labels: { topic: 'topic', partition: 'partition' },
    meaning: 'Used part of the window of 8,192 offsets above the committed one; at 1 nothing more is fetched.',
    action:
      'Near 1 for long: the oldest record does not finish; see doubts_open, and registry.unavailable and account.paused in the log.',
  },
  commit_duration_seconds: {
    type: 'histogram',
    buckets: commitSeconds,
    labels: {},
    meaning: 'Duration of confirmed transactions (results, intents, offsets).',
    action:
      'Growing: the brokers are slow, and every command waits for two transactions. One process makes at most 50 a second, for any number of partitions.',
  },
  envelopes_total: {
    type: 'counter',
    labels: { account: 'account', outcome: label.envelopeOutcomes },
    meaning: 'Finished requests with commands; unknown: nobody can tell whether they were executed.',
    action:
      "denied: check the account's key. unknown: see doubts_total for the cause. refused: the gateway refused a whole envelope, which is retried in halves.",
  },
  envelope_operations: {
    type: 'histogram',
    buckets: envelopeOperations,
    labels: {},
    meaning: 'Operations in an envelope.',
    action:
      'Small under load: raise gateway.lingerMs. Always at gateway.maxOperations: commands wait, see the age of the oldest one.',
  },
  gateway_request_duration_seconds: {
    type: 'histogram',
    buckets: requestSeconds,
    labels: {},
    meaning: 'Time from the first byte of a request to its classified answer.',
    action:
      'Growing: the gateway or the network is slow; throughput is concurrency × operations / duration. Near gateway.timeoutMs, requests end in doubt.',
  },
  gateway_retries_total: {
    type: 'counter',
    labels: { reason: label.retryReasons },
    meaning: 'Retries of commands that were certainly not sent.',
    action:
      'throttled: set gateway.rate below what the gateway allows. unreachable: network or gateway down. denied: the key is refused. refused: whole envelopes are refused with an unknown text; an outage if nothing passes.',
  },
  rate_wait_seconds: {
    type: 'histogram',
    buckets: rateWaitSeconds,
    labels: {},
    meaning: "How long an envelope waited for its account's rate.",
    action:
      'Minutes: the rate is too low for the load; agree on a higher one with the operator of the gateway, or move bulk to other hours.',
  },
  rate_headroom_ratio: {
    type: 'gauge',
    readAtScrape: true,
    labels: { account: 'account' },
    meaning:
      "Unused part of this process's share of an account's rate, or of the rate learnt from throttling if that is lower; 0: at the limit; 1: there is neither.",
    action:
      'At 0 for long: the rate is used up (see rate_wait_seconds), or the gateway throttles (see rate_learnt_per_second).',
  },
  rate_learnt_per_second: {
    type: 'gauge',
    readAtScrape: true,
    labels: { account: 'account' },
    meaning: 'Rate that this process learnt from throttling, in operations a second; 0 if it was not throttled lately.',
    action:
      'Above 0 for long: the gateway allows less than gateway.rate, or none is set. Set it to the sum over all processes.',
  },
  requests_in_flight: {
    type: 'gauge',
    readAtScrape: true,
    labels: {},
    meaning: 'Requests to the gateway in flight.',
    action: 'At gateway.concurrency for long: the gateway is slow, or more concurrency (or another worker) is needed.',
  },
  intents_open: {
    type: 'gauge',
    readAtScrape: true,
    labels: {},
    meaning: 'Commands that are sent or about to be, without an answer: about as many as a kill would leave in doubt.',
    action:
      'At commands.maxInFlight for long: commits to Kafka are slow, or the setting is too low for gateway.concurrency.',
  },
  breaker_state: {
    type: 'gauge',
    readAtScrape: true,
    labels: { account: 'account' },
    meaning: "An account's breaker. 0: closed, sending. 1: probing with one operation. 2: open, held back.",
    action:
      'Not 0: account.paused in the log names the reason, gateway_retries_total counts it. It closes by itself when a probe passes.',
  },
  account_held_back_since_seconds: {
    type: 'gauge',
    readAtScrape: true,
    labels: { account: 'account' },
    meaning: 'When the process began to hold the account back, in seconds since 1970; 0 while it does not.',
    action: 'Not 0 for long: busgate status says why, and who can change that.',
  },
  account_key_refused: {
    type: 'gauge',
    readAtScrape: true,
    labels: { account: 'account' },
    meaning: "1 while the gateway's last definite answer refused the account's API key, else 0.",
    action: '1: replace the key ([BusgateKeyRefused](runbooks/BusgateKeyRefused.md)). It is tried again by itself.',
  },
  account_balance: {
    type: 'gauge',
    labels: { account: 'account', currency: 'currency' },
    meaning: 'Balance of an account as last read from the gateway.',
    action: 'Low: top it up; at zero commands end REJECTED with INSUFFICIENT_FUNDS.',
  },
  sessions_fenced_total: {
    type: 'counter',
    labels: {},
    meaning: 'Sessions that ended because another process took over the partition.',
    action:
      'A few at each rebalance are normal. Steady: two processes have one kafka.instanceId, or one stalls longer than kafka.sessionTimeoutMs.',
  },
  doubts_open: {
    type: 'gauge',
    readAtScrape: true,
    labels: {},
    meaning: 'Commands in doubt on the partitions this process owns: perhaps sent, being resolved.',
    action: 'Growing: see doubts_total for the cause and status_polls_total for whether the gateway answers.',
  },
  doubts_total: {
    type: 'counter',
    labels: { cause: label.causesOfDoubts },
    meaning: 'Commands whose outcome became unknown: perhaps sent.',
    action:
      "timeout, reset, response_cut, response_too_large: the gateway or the network. http_status, foreign_body: something in front of the gateway answers. taken_over: workers were killed. progress_reset: somebody reset the group's offsets. contradiction, items_differ: ask the gateway's operator.",
  },
  resolutions_total: {
    type: 'counter',
    labels: { outcome: ['SENT', 'UNRESOLVED'] satisfies Outcome[] },
    meaning: 'Doubts that were resolved.',
    action: 'UNRESOLVED: nobody can tell; ask the gateway about these ids before anyone resends them.',
  },
  status_polls_total: {
    type: 'counter',
    labels: { result: label.pollResults },
    meaning: 'Status polls by their result, for doubts and by the reconciler.',
    action:
      'unanswered: the gateway is unreachable or throttles. inconclusive for long: add its texts to gateway.notFoundTexts, or it does not keep statuses. unreadable: the gateway answers without words, or refuses the key; doubts then end UNRESOLVED.',
  },
  dead_letters_total: {
    type: 'counter',
    labels: { stage: Object.keys(label.deadLetterCodes), code: Object.values(label.deadLetterCodes).flat() },
    start: Object.entries(label.deadLetterCodes).map(([stage, code]) => ({ stage: [stage], code })),
    meaning: 'Records that cannot be read or handled, moved to the dead letters with their bytes and headers.',
    action:
      'Read the busgate.error headers. Register the schema, then replay them; or repair the producer, which writes them again. NO_NUMERIC_ID: callbacks about messages of other systems.',
  },
  faults_total: {
    type: 'counter',
    labels: { handling: label.handlings },
    meaning: 'Errors of busgate itself while it handled one thing from outside; only that thing is affected.',
    action: 'Not 0: a bug. Report the log line fault.contained, which says where; find the record in the dead letters.',
  },
  callbacks_total: {
    type: 'counter',
    labels: { type: label.receivedTypes, state: states, verified: ['true', 'false'] },
    meaning: "Callbacks whose event is on the topic, by channel; verified: it came to the message's own address.",
    action:
      'Zero while messages are sent: the gateway does not reach callbacks.publicUrl. FAILED rising: a channel or a sender name has trouble.',
  },
  callback_contradictions_total: {
    type: 'counter',
    labels: { type: label.receivedTypes },
    meaning: 'Callbacks whose status text contradicts their success, which decides.',
    action: "Not 0: show these status events to the gateway's operator; their status and success are unchanged.",
  },
  callback_rejections_total: {
    type: 'counter',
    labels: { reason: label.callbackRefusals },
    meaning: 'Refused callbacks; the gateway is expected to retry those answered 503.',
    action:
      'not_published: the bus does not confirm. overloaded: add receivers. unknown_key: give this process the new callbacks.secret. forged, malformed, path: strangers. expired: older than 30 days.',
  },
  callbacks_missing_total: {
    type: 'counter',
    labels: { type: sendTypes },
    meaning: 'Messages without a verdict in the expected time, which the reconciler polls for.',
    action:
      'Rising: callbacks get lost on the way; check the ingress in front of callbacks.publicUrl and callback_rejections_total.',
  },
  verdicts_found_total: {
    type: 'counter',
    labels: { type: sendTypes, state: label.verdictStates },
    meaning: 'Verdicts that the reconciler found by polling; UNKNOWN: given up.',
    action: "DELIVERED, FAILED: their callbacks were lost. UNKNOWN: give the ids to the gateway's operator.",
  },
  verdicts_total: {
    type: 'counter',
    labels: { type: label.receivedTypes, country: [...label.countries, label.other], state: label.verdictStates },
    start: [{ country: [label.other] }],
    meaning:
      "Verified verdicts by the command's type and the number's country: callbacks to messages' own addresses, and polls of the reconciler. A repeated callback counts again.",
    action:
      'DELIVERED falls in one country or type: [BusgateDeliversLess](runbooks/BusgateDeliversLess.md). Pipelines count only if polled: their callbacks are not verified.',
  },
  verdicts_forgotten_total: {
    type: 'counter',
    labels: {},
    meaning: 'Ids with a verdict that the reconciler forgot because its memory was full.',
    action:
      'Not 0: it may poll for messages whose callback came; add partitions to the topics of results and statuses, or shorten reconciler.expectMs.',
  },
  reconciler_delay_seconds: {
    type: 'gauge',
    readAtScrape: true,
    labels: {},
    meaning: 'How far the reconciler is behind.',
    action: 'Growing: the reconciler does not keep up; raise reconciler.rate or run it in more processes.',
  },
  delivery_latency_seconds: {
    type: 'histogram',
    buckets: deliverySeconds,
    labels: { type: label.receivedTypes },
    meaning:
      "Time from the creation of the hook address, shortly before sending, to the callback that says delivered, by the command's type.",
    action: 'A channel that slows down: compare the types; codes (telegram, call/otp, sms) should arrive within 10 s.',
  },
  country_delivery_latency_seconds: {
    type: 'histogram',
    buckets: countrySeconds,
    labels: { country: [...label.countries, label.other] },
    start: [{ country: [label.other] }],
    meaning: "The same time, by the country of the phone's number.",
    action: "A country that slows down while others do not: tell the gateway's operator about its route.",
  },
  offsets_lost_total: {
    type: 'counter',
    labels: {},
    meaning:
      'Offsets that disappeared from a log before they were processed: retention, deleted records, an unclean election.',
    action:
      'Not 0: log.cut in the log, and dead letters with RECORDS_DELETED, name the offsets, and which were certainly not sent. Keep records longer than workers may be stopped, and find out who deletes them.',
  },
  records_shortened_total: {
    type: 'counter',
    labels: {},
    meaning: "Records shortened to fit the topic's max.message.bytes; each attempt to write one counts.",
    action:
      'record.shortened in the log (level debug) names the topic: raise its max.message.bytes above that of the command topics, and restart.',
  },
  hooks_without_correlation_total: {
    type: 'counter',
    labels: {},
    meaning: 'Hook addresses without correlationId, tenant and campaign, to stay within callbacks.urlMaxLength.',
    action: 'Raise callbacks.urlMaxLength if the gateway takes longer addresses, or use a shorter callbacks.publicUrl.',
  },
  pauses: {
    type: 'gauge',
    readAtScrape: true,
    labels: { kind: pauseKinds },
    meaning:
      'Paused accounts, topics, campaigns and tenants, and accounts in their quiet hours; the same on every worker.',
    action:
      'Not 0 for long: `busgate status` says who paused what, when and why; `busgate resume` resumes it. Quiet hours end by themselves.',
  },
  withdrawals: {
    type: 'gauge',
    readAtScrape: true,
    labels: { kind: withdrawalKinds },
    meaning: 'Withdrawn campaigns, messages, correlationIds and tenants; the same on every worker.',
    action:
      '`busgate status --results` says who withdrew what and why, how much of it was sent before, and how much was not.',
  },
  control_behind_seconds: {
    type: 'gauge',
    readAtScrape: true,
    labels: {},
    meaning: 'Seconds since new pauses and withdrawals were last seen; 0 while they are.',
    action: 'Not 0: /readyz says why. Messages that are paused or withdrawn now may still be sent.',
  },
  control_used_ratio: {
    type: 'gauge',
    readAtScrape: true,
    labels: {},
    meaning: 'Used share of the room for pauses and withdrawals: 100,000, or 64 MiB.',
    action:
      'At 1 nothing is sent, since a withdrawn message cannot be taken back. `busgate status` shows what is in force.',
  },
  ready: {
    type: 'gauge',
    readAtScrape: true,
    labels: { role: roles },
    meaning: '1 if the role works in this process, else 0.',
    action: '0 for long: /readyz of the process gives the reasons.',
  },
  heap_limit_bytes: {
    type: 'gauge',
    labels: {},
    meaning: 'Heap limit of this process; at the limit it dies.',
    action:
      'nodejs_heap_size_used_bytes near it for long: raise --max-old-space-size and the memory, or look for a leak.',
  },
  build_info: {
    type: 'gauge',
    labels: { version: 'version', role: roles },
    meaning: 'Always 1; the labels name the version and each role of the process.',
    action: 'Several versions for long: a roll-out is stuck. A role without any: nobody does its work.',
  },
} as const satisfies Record<string, Definition>

export type MetricName = keyof typeof metricDefinitions

type OfKind<K> = { [N in MetricName]: (typeof metricDefinitions)[N] extends K ? N : never }[MetricName]
export type CounterName = OfKind<{ type: 'counter' }>
export type HistogramName = OfKind<{ type: 'histogram' }>
export type GaugeName = OfKind<{ type: 'gauge'; readAtScrape: true }>
export type EventGaugeName = Exclude<OfKind<{ type: 'gauge' }>, GaugeName>

/** Current values of gauges. `labels` are exactly those of the metric. */
export interface GaugeSource {
  read(): Iterable<{ name: GaugeName; labels: Record<string, string>; value: number }>
}

/** Exactly the labels of a metric. */
export type LabelsOf<N extends MetricName> = Record<keyof (typeof metricDefinitions)[N]['labels'] & string, string>

export const definitionOf = (name: MetricName): Definition => metricDefinitions[name]
