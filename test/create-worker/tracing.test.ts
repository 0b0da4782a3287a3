import { context, trace as tracing } from '@opentelemetry/api'
import { expect, test } from 'vitest'
import { readResults } from '../../src/consumer/index.ts'
import type { NewCommand } from '../../src/producer.ts'
import type { SendCommand } from '../../src/records/generated.ts'
import { traceHeaders } from '../../src/telemetry/trace.ts'
import { until } from '../support/bus.ts'
import { buildCommand, buildCommandOf, silentPhone } from '../support/commands.ts'
import { scrape } from '../support/metrics.ts'
import { buildTrace } from '../support/traces.ts'
import { startTracing } from '../support/tracing.ts'
import { startWorld, type World } from '../support/worker.ts'

/** Sends a command whose record has a trace numbered like its id. */
async function sendTraced(world: World, command: SendCommand, headers: object = {}): Promise<void> {
  await world.produceRaw(world.encode(command), {
    key: Buffer.from(String(command.id)),
    headers: { ...traceHeaders(buildTrace(Number(command.id))), ...headers },
  })
}

const traceparentOf = (id: number) => traceHeaders(buildTrace(id)).traceparent

interface TraceHeaders {
  traceparent: string | undefined
  tracestate: string | undefined
}

/** The trace headers of a topic's records, by key. Call it after `quiet`, to read the topic to its end. */
async function traceHeadersOn(world: World, topic: string): Promise<Map<string, TraceHeaders[]>> {
  const carried = new Map<string, TraceHeaders[]>()
  const reader = await world.bus.read([topic], 'earliest', (_, records) => {
    for (const { key, headers } of records) {
      const texts = { traceparent: headers.traceparent?.toString(), tracestate: headers.tracestate?.toString() }
      carried.set(String(key), [...(carried.get(String(key)) ?? []), texts])
    }
  })
  await until(() => expect(carried.has('end of the test')).toBe(true))
  await reader.close()
  return carried
}

const parentsOf = (carried: Map<string, TraceHeaders[]>, id: number) =>
  carried.get(String(id))?.map(({ traceparent }) => traceparent)

test("a command's trace is in its result and status, whatever the outcome", async () => {
  const world = await startWorld()
  const tracestate = 'vendor=1'
  await sendTraced(world, buildCommand({ id: 1n }), { tracestate })
  await sendTraced(world, buildCommand({ id: 2n, phone: 380501234590 })) // refused
  await sendTraced(world, buildCommand({ id: 3n, deadline: 1 }))
  await sendTraced(world, buildCommand({ id: 4n, phone: 0 })) // invalid
  await sendTraced(world, buildCommand({ id: 1n }))
  await sendTraced(world, buildCommand({ id: 6n }), { traceparent: 'not a traceparent' })
  await world.send([buildCommand({ id: 7n })])
  await world.finished(7)
  await until(() => expect(world.statuses()).toHaveLength(3))
  await world.quiet()

  const results = await traceHeadersOn(world, world.settings.topics.results)
  for (const id of [2, 3, 4]) expect(parentsOf(results, id)).toEqual([traceparentOf(id)])
  expect(results.get('1')).toHaveLength(2)
  expect(results.get('1')).toContainEqual({ traceparent: traceparentOf(1), tracestate })
  for (const id of [6, 7]) expect(parentsOf(results, id)).toEqual([undefined])
  const statuses = await traceHeadersOn(world, world.settings.topics.statuses)
  expect(statuses.get('1')).toEqual([{ traceparent: traceparentOf(1), tracestate: undefined }])
  for (const id of [6, 7]) expect(parentsOf(statuses, id)).toEqual([undefined])
})

test("a command's trace is kept through a doubt and a second POST", async () => {
  const world = await startWorld({
    settings: {
      gateway: { timeoutMs: 300, notFoundTexts: ['Message not found'] },
      doubts: { waitMs: 30 },
    },
  })
  world.sandbox.faults.next('reset-before')
  await sendTraced(world, buildCommand({ id: 1n }))
  await world.finished(1)
  await until(() => expect(world.statuses()).toHaveLength(1))
  await world.quiet()
  expect(world.results().map(({ outcome, attempts }) => [outcome, attempts])).toEqual([
    ['IN_DOUBT', 1],
    ['SENT', 2],
  ])
  const { results, statuses } = world.settings.topics
  expect(parentsOf(await traceHeadersOn(world, results), 1)).toEqual([traceparentOf(1), traceparentOf(1)])
  expect(parentsOf(await traceHeadersOn(world, statuses), 1)).toEqual([traceparentOf(1)])
})

test('a status lacks the trace, or a longer correlation, if it does not fit into the hook address', async () => {
  const world = await startWorld()
  const correlationId = 'x'.repeat(85)
  await sendTraced(world, buildCommand({ id: 1n, correlationId }))
  await until(() => expect(world.statuses()).toMatchObject([{ correlationId }]))
  await sendTraced(world, buildCommand({ id: 2n, correlationId: 'x'.repeat(150), tenant: 'acme' }))
  await until(() => expect(world.statuses()[1]).toMatchObject({ correlationId: null, tenant: null, country: 'UA' }))
  const metrics = await scrape(world.worker.ports.telemetry)
  expect(metrics.get('busgate_hooks_without_correlation_total')).toBe(1)
  await world.quiet()
  expect(parentsOf(await traceHeadersOn(world, world.settings.topics.statuses), 1)).toEqual([undefined])
})

test("a verdict from a poll has the command's correlation, tenant, campaign and trace", async () => {
  const world = await startWorld({
    settings: {
      roles: ['worker', 'callbacks', 'reconciler'],
      reconciler: { expectMs: 100, graceMs: 1000 },
    },
  })
  const marks = { correlationId: 'order-1', tenant: 'shop', campaign: 'spring' }
  await sendTraced(world, buildCommand({ id: 1n, phone: silentPhone, ...marks }))
  await until(() => expect(world.statuses()).toHaveLength(1))
  await world.quiet()
  const { msgId } = world.resultOf(1)
  expect(world.statuses()).toMatchObject([
    {
      ...{ msgId, account: 'default', type: 'sms', status: 'DELIVERED', final: true, success: null, source: 'POLL' },
      ...{ verified: true, ...marks, commandType: 'sms', country: 'UA', eventId: expect.any(String) },
    },
  ])
  expect(parentsOf(await traceHeadersOn(world, world.settings.topics.statuses), 1)).toEqual([traceparentOf(1)])
})

test('each envelope is a span under the trace of each of its commands, and each callback is a span', async () => {
  const { spans } = startTracing()
  const world = await startWorld({ settings: { gateway: { lingerMs: 200, maxOperations: 3 } } })
  await sendTraced(world, buildCommand({ id: 1n }))
  await world.send([buildCommand({ id: 2n })])
  await sendTraced(world, buildCommandOf('viber', { id: 3n }))
  await world.finished(3)
  await until(() => expect(world.statuses()).toHaveLength(3))
  await world.quiet()
  const envelopes = spans('POST gateway')
  expect(envelopes.map(({ attributes }) => attributes)).toMatchObject(
    Array(2).fill({ 'busgate.operations': 3, 'busgate.outcome': 'answered' }),
  )
  expect(envelopes.map(span => span.spanContext().traceId)).toEqual([1, 3].map(id => buildTrace(id).traceId))
  const traceIds = spans('POST /hooks').map(span => span.spanContext().traceId)
  expect(traceIds).toHaveLength(3)
  expect(traceIds).toEqual(expect.arrayContaining([1, 3].map(id => buildTrace(id).traceId)))
})

test("one trace shows a message from its service to the gateway's answer, its callback and its reader", async () => {
  const { spans } = startTracing()
  const world = await startWorld()
  const [message] = Object.values(buildCommand().message)
  const command = (id: bigint) => ({ id, phone: 380501234567, type: 'sms', message }) as NewCommand
  const span = tracing.getTracer('shop').startSpan('checkout')
  const { traceId, spanId } = span.spanContext()
  await context.with(tracing.setSpan(context.active(), span), () => world.producer.send([command(1n)]))
  span.end()
  await world.finished(1)
  await until(() => expect(world.statuses()).toHaveLength(1))
  for await (const { value } of readResults(world.settings, {
    bus: world.bus,
    registry: world.registry,
    from: 'earliest',
  })) {
    expect(value.id).toBe(1n)
    break
  }

  const { commands, results } = world.settings.topics
  const sending = spans(`send ${commands.at(-1)}`)[0]!
  expect(sending).toMatchObject({ parentSpanContext: { spanId } })
  const below = ['POST gateway', 'POST /hooks', `process ${results}`].flatMap(name => spans(name))
  expect(below.map(({ parentSpanContext }) => parentSpanContext?.spanId)).toEqual(
    Array(3).fill(sending.spanContext().spanId),
  )
  expect([sending, ...below].map(one => one.spanContext().traceId)).toEqual(Array(4).fill(traceId))
})
