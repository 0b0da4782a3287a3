import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client'
import { deliverySeconds, operations, rateWaitSeconds, requestSeconds } from './buckets.ts'
import { codeOf } from './error.ts'
import type { Telemetry } from './events.ts'
import { type GaugeSource, registerGauges } from './gauges.ts'

export interface MetricsOptions {
  /** Version of the program, for build_info. */
  version?: string
  /** Asked anew at each scrape; may grow and shrink meanwhile. */
  gauges?: Iterable<GaugeSource>
}

/** Types that a message can have. Callbacks name their type in a body that anybody may write: others count as `other`. */
const knownTypes = new Set(
  'sms viber viber+sms rcs rcs+sms rcs+viber+sms telegram voice pipeline call/otp hlr'.split(' '),
)

/** What brokers call the error of an owner whose partition has a newer one. */
const fencedCodes = new Set(['INVALID_PRODUCER_EPOCH', 'PRODUCER_FENCED'])

/** Turns events into metrics under names that stay. No label holds an id, a phone number or a text from outside. */
export function createMetrics(telemetry: Telemetry, options: MetricsOptions = {}): Registry {
  const registry = new Registry()
  collectDefaultMetrics({ register: registry })
  gauge(registry, 'build_info', 'The version that runs; always 1.', ['version']).set(
    { version: options.version ?? 'unknown' },
    1,
  )
  registerGauges(registry, options.gauges ?? [])
  countCommands(telemetry, registry)
  countRequests(telemetry, registry)
  countTrouble(telemetry, registry)
  countCallbacks(telemetry, registry)
  return registry
}

function countCommands(telemetry: Telemetry, registry: Registry): void {
  const consumed = counter(registry, 'commands_consumed_total', 'Commands read.', ['topic'])
  telemetry.on('commands.consumed', ({ topic, count }) => consumed.inc({ topic }, count))

  const results = counter(registry, 'results_published_total', 'Results committed.', ['type', 'outcome', 'error_code'])
  telemetry.on('results.published', ({ type, outcome, errorCode, count }) =>
    results.inc({ type, outcome, error_code: errorCode ?? '' }, count),
  )
}

function countRequests(telemetry: Telemetry, registry: Registry): void {
  const envelopes = counter(registry, 'envelopes_total', 'Envelopes posted.', ['account', 'outcome'])
  const sizes = histogram(registry, 'envelope_operations', 'Operations in an envelope.', [], operations)
  const took = histogram(
    registry,
    'gateway_request_duration_seconds',
    'From the first byte to the classified answer.',
    [],
    requestSeconds,
  )
  telemetry.on('envelope.finished', ({ account, outcome, operations, seconds }) => {
    envelopes.inc({ account, outcome })
    sizes.observe(operations)
    took.observe(seconds)
  })

  const retries = counter(registry, 'gateway_retries_total', 'Commands to be posted again.', ['reason'])
  telemetry.on('gateway.retry', ({ reason, count }) => retries.inc({ reason }, count))

  const waits = histogram(
    registry,
    'rate_wait_seconds',
    "Waits of an envelope for its account's rate.",
    [],
    rateWaitSeconds,
  )
  telemetry.on('rate.waited', ({ seconds }) => waits.observe(seconds))

  const balances = gauge(registry, 'account_balance', 'Balance as last read.', ['account', 'currency'])
  telemetry.on('balance.read', ({ account, currency, amount }) =>
    balances.set({ account, currency: /^[A-Z]{3}$/.test(currency) ? currency : 'other' }, amount),
  )
}

function countTrouble(telemetry: Telemetry, registry: Registry): void {
  const fenced = counter(registry, 'sessions_fenced_total', 'Partition sessions that a newer owner ended.', [])
  telemetry.on('session.lost', ({ error }) => {
    if (fencedCodes.has(codeOf(error) ?? '')) fenced.inc()
  })

  const doubts = counter(registry, 'doubts_total', 'Commands of which nobody can tell whether they were sent.', [
    'cause',
  ])
  telemetry.on('doubt.opened', ({ cause, count }) => doubts.inc({ cause }, count))

  const resolutions = counter(registry, 'resolutions_total', 'Doubts that came to their final result.', ['outcome'])
  telemetry.on('doubt.resolved', ({ outcome }) => resolutions.inc({ outcome }))

  const polls = counter(registry, 'status_polls_total', 'Answers to questions for the status of a message.', ['result'])
  telemetry.on('status.polled', ({ result }) => polls.inc({ result }))

  const deadLetters = counter(registry, 'dead_letters_total', 'Records that cannot be read.', ['stage', 'code'])
  telemetry.on('deadLetter.published', ({ stage, code, count }) => deadLetters.inc({ stage, code }, count))
}

function countCallbacks(telemetry: Telemetry, registry: Registry): void {
  const accepted = counter(registry, 'callbacks_total', 'Callbacks on the bus.', ['type', 'state', 'verified'])
  telemetry.on('callback.accepted', ({ type, state, verified }) =>
    accepted.inc({ type: known(type), state, verified: String(verified) }),
  )

  const refused = counter(registry, 'callback_rejections_total', 'Callbacks that were refused.', ['reason'])
  telemetry.on('callback.refused', ({ reason }) => refused.inc({ reason }))

  const shortened = counter(registry, 'hooks_without_correlation_total', 'Hook addresses too long for correlation.', [])
  telemetry.on('hook.shortened', () => shortened.inc())

  const latency = histogram(
    registry,
    'delivery_latency_seconds',
    'From sending to the final status.',
    ['type'],
    deliverySeconds,
  )
  telemetry.on('delivery.latency', ({ type, seconds }) => latency.observe({ type: known(type) }, seconds))
}

function known(type: string): string {
  return knownTypes.has(type) ? type : 'other'
}

function counter<L extends string>(registry: Registry, name: string, help: string, labelNames: L[]): Counter<L> {
  return new Counter({ name: `busgate_${name}`, help, labelNames, registers: [registry] })
}

function gauge<L extends string>(registry: Registry, name: string, help: string, labelNames: L[]): Gauge<L> {
  return new Gauge({ name: `busgate_${name}`, help, labelNames, registers: [registry] })
}

function histogram<L extends string>(
  registry: Registry,
  name: string,
  help: string,
  labelNames: L[],
  buckets: number[],
) {
  return new Histogram({ name: `busgate_${name}`, help, labelNames, buckets, registers: [registry] })
}
