import { type Outcome, outcomeCodes, outcomes, roles, type State, sendTypes, states } from '../protocol/index.ts'
import * as label from './labels.ts'

/* Upper bounds of the histograms' buckets, dense where a decision falls. */

/** Operations in an envelope: 1-2-5 steps past the default bound of 100, so that "full", "half empty" and "lone" tell apart. */
const envelopeOperations = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000]

/** One request to the gateway, in seconds: from a gateway next door to the default time-out of 30 s and twice that. */
const requestSeconds = [0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60]

/** One transaction, in seconds: a few milliseconds where brokers are near, seconds where one of them moves. */
const commitSeconds = [0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10]

/** Waiting for an account's rate, in seconds: below 20 ms it hides in the envelope's linger, past minutes the rate is too low. */
const rateWaitSeconds = [0.01, 0.02, 0.05, 0.1, 0.5, 1, 5, 15, 60, 300, 900]

/**
 * Buckets of the time from sending to the final status, in seconds: a code should arrive within 10 s; the longest life
 * of a message is 3 days.
 */
const deliverySeconds = [1, 2, 5, 10, 20, 30, 60, 90, 120, 180, 300, 600, 900, 3600, 14_400, 43_200, 86_400, 259_200]

/** A label's values: a closed list, or what it is that they name. */
export type LabelValues = readonly string[] | keyof typeof openLabels

/** Labels whose values are not listed here, and what bounds them. */
export const openLabels = {
  topic: 'topics of the settings',
  account: 'accounts of the settings',
  tenant: 'tenants that `gateway.tenantWeights` names; `other` for all others together',
  partition: 'partitions that this process owns',
  currency: 'three capital letters, one an account; `other` for anything else',
  version: 'the version that runs',
} as const

interface Definition {
  type: 'counter' | 'histogram' | 'gauge'
  labels: Readonly<Record<string, LabelValues>>
  /** One sentence. */
  meaning: string
  /** What somebody who looks at it does about it. */
  action: string
  /** Upper bounds, of histograms. */
  buckets?: readonly number[]
  /** Asked for at each scrape, rather than told by events. */
  asked?: true
  /** Combinations of closed labels that are there from the start, with 0; default: all of them. Each entry is multiplied out. */
  start?: readonly Readonly<Record<string, readonly string[]>>[]
}

const receivedTypes = [...sendTypes, label.other]
const verdictStates = ['DELIVERED', 'FAILED', 'UNKNOWN'] as const satisfies State[]

const resultCombinations = Object.entries(outcomeCodes).map(([outcome, codes]) => ({
  type: sendTypes,
  outcome: [outcome],
  error_code: codes.length > 0 ? codes : [''],
}))

/**
 * Every metric, once, without the prefix busgate_. The registry and docs/metrics.md are made from this; the names are
 * part of the contract, and dashboards and alerts hold on to them.
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
      'Records that were read again without a window, and passed over because the results or dead letters have their answer.',
    action:
      'Not 0: the committed offset was reset, or kafka.groupId is another one than before; see session.unchecked in the log.',
  },
  results_published_total: {
    type: 'counter',
    labels: { type: sendTypes, outcome: outcomes, error_code: label.resultCodes },
    start: resultCombinations,
    meaning: 'Results committed to the results topic; a command in doubt has an IN_DOUBT result before its final one.',
    action:
      'Watch the share of outcomes other than SENT. REJECTED names its cause in error_code; INVALID is a bug of the producer of the commands; UNRESOLVED needs a person to ask the gateway.',
  },
  parts_total: {
    type: 'counter',
    labels: { account: 'account', type: sendTypes },
    meaning: 'Message parts that the gateway billed, as the results tell.',
    action: 'Rising faster than the SENT results: longer texts, or other than Latin letters; see the producer.',
  },
  price_total: {
    type: 'counter',
    labels: { account: 'account', type: sendTypes },
    meaning: "Fees that the gateway named, in the account's currency; it names those of call/otp alone.",
    action: 'Rising faster than usual: somebody asks for many codes; find out who (tenant, campaign).',
  },
  tenant_results_total: {
    type: 'counter',
    labels: { tenant: 'tenant', outcome: outcomes },
    meaning: 'Results by tenant, counted as results_published_total.',
    action: 'One tenant has more than its share, or other outcomes than the rest: ask it; `busgate pause` holds it.',
  },
  tenant_parts_total: {
    type: 'counter',
    labels: { tenant: 'tenant' },
    meaning: 'Message parts billed, by tenant.',
    action: 'Tells which tenant costs most.',
  },
  oldest_unsent_command_age_seconds: {
    type: 'gauge',
    asked: true,
    labels: { topic: 'topic' },
    meaning:
      'Age of the oldest command read but not sent yet, those left out that operators have paused; 0 when none waits.',
    action:
      'Growing: see breaker_state (the gateway refuses), rate_headroom_ratio (the rate is used up), requests_in_flight (the gateway is slow).',
  },
  consumer_lag_records: {
    type: 'gauge',
    asked: true,
    labels: { topic: 'topic', partition: 'partition' },
    meaning: 'Records between the checkpoint and the end of a partition, also while nothing is fetched.',
    action:
      'Growing on all partitions: more is coming in than leaves, add workers or raise the rate. On one: see session.lost and session.openFailed in the log.',
  },
  window_used_ratio: {
    type: 'gauge',
    asked: true,
    labels: { topic: 'topic', partition: 'partition' },
    meaning: 'Used part of the 8,192 offsets above the checkpoint; at 1 nothing more is fetched.',
    action:
      'Near 1 for long: a record at the checkpoint does not end, see doubts, registry.unavailable and account.paused in the log.',
  },
  commit_duration_seconds: {
    type: 'histogram',
    buckets: commitSeconds,
    labels: {},
    meaning: 'Transactions with progress, intents and results that the brokers confirmed, and how long each took.',
    action:
      'Growing: the brokers are slow, and every command waits for two of them. Their count is the load on the brokers: one process makes 50 a second at most, whatever its partitions.',
  },
  envelopes_total: {
    type: 'counter',
    labels: { account: 'account', outcome: label.envelopeOutcomes },
    meaning: 'Requests with commands that ended; unknown: nobody can tell whether they were executed.',
    action:
      "denied: check the account's key. unknown: see doubts_total for the cause. refused: an envelope was refused as a whole and goes out in halves, unless everything is refused.",
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
    meaning: 'From the first byte of a request to its classified answer.',
    action:
      'Growing: the gateway or the way to it is slow; throughput is concurrency × operations / duration. Nearing gateway.timeoutMs makes doubts.',
  },
  gateway_retries_total: {
    type: 'counter',
    labels: { reason: label.retryReasons },
    meaning: 'Commands known not to have been sent, which go out again.',
    action:
      'throttled: set gateway.rate below what the gateway allows. unreachable: network or gateway down. denied: the key is refused. refused: whole envelopes are refused with a text that is not known; an outage if nothing passes.',
  },
  rate_wait_seconds: {
    type: 'histogram',
    buckets: rateWaitSeconds,
    labels: {},
    meaning: "How long an envelope waited for its account's rate.",
    action:
      'Minutes: the rate is too low for the load; agree on a higher one with the gateway, or shift bulk to other hours.',
  },
  rate_headroom_ratio: {
    type: 'gauge',
    asked: true,
    labels: { account: 'account' },
    meaning: "Unused part of this process's share of an account's rate; 0 is at the limit, 1 where no rate is set.",
    action: 'At 0 for long: the account sends as much as it may, see rate_wait_seconds.',
  },
  rate_learnt_per_second: {
    type: 'gauge',
    asked: true,
    labels: { account: 'account' },
    meaning:
      'Operations a second that this process allows itself of an account since the gateway throttled it; 0 when it did not lately.',
    action:
      'Above 0 steadily: the gateway allows less than gateway.rate says (or none is set): set it to what all processes come to.',
  },
  requests_in_flight: {
    type: 'gauge',
    asked: true,
    labels: {},
    meaning: 'Requests to the gateway that are not answered yet.',
    action: 'At gateway.concurrency for long: the gateway is slow, or more concurrency (or another worker) is needed.',
  },
  intents_open: {
    type: 'gauge',
    asked: true,
    labels: {},
    meaning:
      'Commands that a kill of the process now would leave in doubt, at most: sent or about to be, without a committed result.',
    action:
      'At delivery.maxIntents for long: commits to Kafka are slow, or the setting is too low for gateway.concurrency.',
  },
  breaker_state: {
    type: 'gauge',
    asked: true,
    labels: { account: 'account' },
    meaning: "An account's breaker. 0: closed, sending. 1: probing with one operation. 2: open, paused.",
    action:
      'Not 0: account.paused in the log names the reason, gateway_retries_total counts it. It closes by itself when a probe passes.',
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
    meaning: 'Partition sessions that ended because a newer owner took the partition.',
    action:
      'A few at each rebalance are normal. Steady: two processes fight for partitions, or one stalls longer than kafka.sessionTimeoutMs.',
  },
  doubts_open: {
    type: 'gauge',
    asked: true,
    labels: {},
    meaning: 'Commands in doubt on the partitions this process owns: perhaps sent, being resolved.',
    action: 'Growing: see doubts_total for the cause and status_polls_total for whether the gateway answers.',
  },
  doubts_total: {
    type: 'counter',
    labels: { cause: label.causesOfDoubts },
    meaning: 'Commands of which nobody can tell whether they were sent, each time it happens.',
    action:
      "timeout, reset, response_cut, response_too_large: the gateway or the network. http_status, foreign_body: something in front of the gateway answers. taken_over: workers were killed. contradiction, items_differ: ask the gateway's people.",
  },
  resolutions_total: {
    type: 'counter',
    labels: { outcome: ['SENT', 'UNRESOLVED'] satisfies Outcome[] },
    meaning: 'Doubts that came to their final result.',
    action: 'UNRESOLVED: nobody could tell; ask the gateway for these ids before sending anything again.',
  },
  status_polls_total: {
    type: 'counter',
    labels: { result: label.pollResults },
    meaning: 'Answers to questions for the status of a message, of doubts and of the reconciler.',
    action:
      'unanswered: the gateway is away or throttles. inconclusive steadily: name its texts in delivery.notFoundErrors, or it does not keep the status.',
  },
  dead_letters_total: {
    type: 'counter',
    labels: { stage: Object.keys(label.deadLetterCodes), code: Object.values(label.deadLetterCodes).flat() },
    start: Object.entries(label.deadLetterCodes).map(([stage, code]) => ({ stage: [stage], code })),
    meaning: 'Records that cannot be read, moved to the dead letters with their bytes and headers.',
    action:
      'Look at the dead letters and their busgate.error headers; mend the producer or register the schema, then replay them. NO_NUMERIC_ID: callbacks about messages of other systems.',
  },
  callbacks_total: {
    type: 'counter',
    labels: { type: receivedTypes, state: states, verified: ['true', 'false'] },
    meaning: 'Callbacks of the gateway whose status event is on the bus; verified: came to the address of one message.',
    action:
      'Zero while messages are sent: the gateway does not reach callbacks.publicUrl. FAILED rising: a channel or a sender name has trouble.',
  },
  callback_contradictions_total: {
    type: 'counter',
    labels: { type: receivedTypes },
    meaning: 'Callbacks whose status text says otherwise than their success, which decides.',
    action: "Not 0: show such status events to the gateway's people; their status and success are as they came.",
  },
  callback_rejections_total: {
    type: 'counter',
    labels: { reason: label.callbackRefusals },
    meaning: 'Callbacks that were refused; the gateway is expected to repeat those answered 503.',
    action:
      'not_published: the bus does not confirm. overloaded: add receivers. unknown_key: give this process the new callbacks.secret. forged, malformed, path: strangers. expired: see callbacks.tokenLifeMs.',
  },
  callbacks_missing_total: {
    type: 'counter',
    labels: { type: sendTypes },
    meaning: 'Messages whose verdict did not come in the expected time, so that the reconciler asks for it.',
    action:
      'Rising: callbacks get lost on the way; check the ingress in front of callbacks.publicUrl and callback_rejections_total.',
  },
  verdicts_found_total: {
    type: 'counter',
    labels: { type: sendTypes, state: verdictStates },
    meaning: 'Verdicts that the reconciler published in place of a callback; UNKNOWN: the gateway never told one.',
    action: "DELIVERED and FAILED are mended losses of callbacks. UNKNOWN: give the ids to the gateway's people.",
  },
  verdicts_total: {
    type: 'counter',
    labels: { type: receivedTypes, country: [...label.countries, label.other], state: verdictStates },
    start: [{ country: [label.other] }],
    meaning:
      "Verdicts that are verified, by their command's type and the country of its number: callbacks to addresses of messages, and what the reconciler found. One that is told again counts again.",
    action:
      'DELIVERED falls in one country or type: [BusgateDeliversLess](runbooks/BusgateDeliversLess.md). Statuses of pipelines are not verified: only what is found by asking counts.',
  },
  verdicts_forgotten_total: {
    type: 'counter',
    labels: {},
    meaning: 'Ids that the reconciler had to forget to stay within its memory.',
    action:
      'Not 0: messages may be asked for though their callback came; give the role reconciler more processes or partitions.',
  },
  reconciler_delay_seconds: {
    type: 'gauge',
    asked: true,
    labels: {},
    meaning: "How far the reconciler's walk is behind now, beyond reconciler.delayMs.",
    action: 'Growing: the reconciler does not keep up; raise reconciler.rate or run it in more processes.',
  },
  delivery_latency_seconds: {
    type: 'histogram',
    buckets: deliverySeconds,
    labels: { type: receivedTypes },
    meaning:
      "By the command's type, from the making of the hook address, shortly before sending, to the callback that says delivered.",
    action: 'A channel that slows down: compare the types; codes (telegram, call/otp, sms) should arrive within 10 s.',
  },
  offsets_lost_total: {
    type: 'counter',
    labels: {},
    meaning:
      'Offsets that were gone from a log before they were worked on: retention, deleted records, an unclean election, a deleted topic of doubts.',
    action:
      'log.cut and doubts.lost in the log name the partition, and what of it was certainly not sent. Not 0: give the topic a longer retention than the workers may be away, and find out who deletes records.',
  },
  records_shortened_total: {
    type: 'counter',
    labels: {},
    meaning:
      "Records written without a part of them, because the whole was larger than the topic's max.message.bytes; each attempt to write one counts.",
    action:
      'record.shortened in the log (level debug) names the topic: raise its max.message.bytes above that of the command topics, and restart.',
  },
  hooks_without_correlation_total: {
    type: 'counter',
    labels: {},
    meaning: 'Hook addresses that left out correlation, tenant and campaign to stay within callbacks.urlMaxLength.',
    action: 'Raise callbacks.urlMaxLength if the gateway takes longer addresses, or use a shorter callbacks.publicUrl.',
  },
  pauses: {
    type: 'gauge',
    asked: true,
    labels: { kind: label.pauseKinds },
    meaning:
      'Accounts, topics and tenants that operators have paused, and accounts in their quiet hours; every worker tells the same.',
    action:
      'Not 0 for long: `busgate status` says who paused what, when and why, and `busgate resume` lets it go on. Quiet hours end by themselves.',
  },
  withdrawals: {
    type: 'gauge',
    asked: true,
    labels: { kind: label.withdrawalKinds },
    meaning:
      'Campaigns, messages, correlationIds and tenants that operators have withdrawn; every worker tells the same.',
    action:
      '`busgate status --results` says who withdrew what and why, how much of it was sent before, and how much was not.',
  },
  ready: {
    type: 'gauge',
    asked: true,
    labels: { role: roles },
    meaning: 'Whether a role of this process does its work now: 1, or 0.',
    action: '0 for long: /readyz of the process gives the reasons.',
  },
  heap_limit_bytes: {
    type: 'gauge',
    labels: {},
    meaning: 'What the heap of this process may grow to; beyond it the process ends.',
    action:
      'nodejs_heap_size_used_bytes near it for long: raise --max-old-space-size and the memory, or look for a leak.',
  },
  build_info: {
    type: 'gauge',
    labels: { version: 'version', role: roles },
    meaning: 'The version that runs, a series for each role of the process; always 1.',
    action: 'Several versions for long: a roll-out is stuck. A role without any: nobody does its work.',
  },
} as const satisfies Record<string, Definition>

export type MetricName = keyof typeof metricDefinitions

type OfKind<K> = { [N in MetricName]: (typeof metricDefinitions)[N] extends K ? N : never }[MetricName]
export type CounterName = OfKind<{ type: 'counter' }>
export type HistogramName = OfKind<{ type: 'histogram' }>
export type GaugeName = OfKind<{ type: 'gauge'; asked: true }>
export type ToldGaugeName = Exclude<OfKind<{ type: 'gauge' }>, GaugeName>

/** A room's answer to "how is it now?". `labels` are those of the metric, no more and no less. */
export interface GaugeSource {
  read(): Iterable<{ name: GaugeName; labels: Record<string, string>; value: number }>
}

/** The labels of a metric, no more and no less. */
export type LabelsOf<N extends MetricName> = Record<keyof (typeof metricDefinitions)[N]['labels'] & string, string>

export const definitionOf = (name: MetricName): Definition => metricDefinitions[name]
