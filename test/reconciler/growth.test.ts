import fc from 'fast-check'
import { expect, test } from 'vitest'
import { partitionOf } from '../../src/bus/murmur2.ts'
import type { Answer } from '../../src/gateway/connection.ts'
import { parseJson } from '../../src/protocol/index.ts'
import { createEncoder } from '../../src/records/encoder.ts'
import type { SendResult, StatusEvent } from '../../src/records/generated.ts'
import { embeddedRegistry } from '../../src/records/registry.ts'
import { schemas, subjectOf } from '../../src/records/schemas.ts'
import { Telemetry } from '../../src/telemetry/events.ts'
import { answered, itemsAnswer } from '../support/answers.ts'
import { openMemoryBus } from '../support/bus.ts'
import { ManualClock } from '../support/clock.ts'
import { joinReconciler } from '../support/reconciler.ts'
import { buildResult } from '../support/results.ts'
import { buildSettings } from '../support/settings.ts'
import { buildStatusEvent } from '../support/status-events.ts'

const second = 1000
const minute = 60 * second
const uses = ['results', 'statuses', 'overdue'] as const
type Use = (typeof uses)[number]

/** Starts a reconciler whose topics grow. Its gateway knows no verdict. */
async function startGrowing(partitions: number) {
  const clock = new ManualClock()
  const telemetry = new Telemetry()
  const registry = embeddedRegistry()
  const settings = buildSettings({
    reconciler: { expectMs: minute, graceMs: 20 * minute, rate: 1000 },
  })
  const { topics } = settings
  const options = { clock, telemetry, partitions, hop: async () => {} }
  const { broker, bus } = openMemoryBus(
    [...uses, 'deadLetters' as const].map(use => topics[use]),
    options,
  )
  const encodeResult = await createEncoder<SendResult>(subjectOf(topics.results), schemas.result, registry)
  const encodeStatus = await createEncoder<StatusEvent>(subjectOf(topics.statuses), schemas.status, registry)
  const polls: { id: number; at: number }[] = []
  const post = async (body: string): Promise<Answer> => {
    const { data } = parseJson(body) as { data: { type: string; id: number }[] }
    if (data[0]?.type === 'balance') return itemsAnswer({ success: true, data: {} })
    polls.push(...data.map(({ id }) => ({ id, at: clock.now() })))
    const items = data.map(({ id }) => ({ success: true, data: { id, status: 'ACCEPTED' } }))
    return answered({ success: true, data: items }, { request: body })
  }
  const start = () => joinReconciler({ settings, bus, registry, telemetry, clock, post })
  const starting = start()
  await clock.pass(second)
  let role = await starting
  const grown: { topic: string; since: number; count: number }[] = []
  /** Writes like a process that last looked at the topic that long ago. */
  const write = (use: Use, id: number, value: Buffer, behindMs: number) => {
    const topic = topics[use]
    const isKnown = (one: (typeof grown)[number]) => one.topic === topic && one.since <= clock.now() - behindMs
    const count = grown.findLast(isKnown)?.count ?? partitions
    const key = String(id)
    broker.append([{ topic, key, value, partition: partitionOf(key, count) }], clock.now())
  }
  return {
    clock,
    polls,
    sent(id: number, behindMs: number) {
      const times = { sentAt: clock.now(), completedAt: clock.now() }
      write('results', id, encodeResult(buildResult({ id: BigInt(id), ...times })), behindMs)
    },
    calledBack: (id: number, behindMs: number) =>
      write('statuses', id, encodeStatus(buildStatusEvent({ id: BigInt(id) })), behindMs),
    grow(use: Use, more: number) {
      const topic = topics[use]
      const count = broker.partitions(topic)! + more
      grown.push({ topic, since: clock.now(), count })
      broker.addPartitions(topic, count)
    },
    async restart() {
      const stopping = role.stop()
      await clock.pass(second)
      await stopping
      const starting = start()
      await clock.pass(second)
      role = await starting
    },
    async stop() {
      const stopping = role.stop()
      await clock.pass(second)
      await stopping
      await bus.close()
    },
  }
}

const behindMs = fc.oneof(fc.constant(0), fc.nat(5 * minute))
const steps = fc.array(
  fc.record({
    afterMs: fc.oneof(fc.nat(100), fc.nat(10 * second), fc.nat(4 * minute)),
    step: fc.oneof(
      {
        weight: 5,
        arbitrary: fc.record({
          kind: fc.constant('message' as const),
          resultBehindMs: behindMs,
          statusBehindMs: behindMs,
          // before its result if it was in doubt
          calledBackAfterMs: fc.oneof(
            fc.constant(null),
            fc.integer({ min: -4 * minute, max: minute }),
            fc.nat(20 * minute),
          ),
        }),
      },
      {
        weight: 2,
        arbitrary: fc.record({
          kind: fc.constant('growth' as const),
          uses: fc.subarray([...uses], { minLength: 1 }),
          more: fc.integer({ min: 1, max: 8 }),
        }),
      },
      { weight: 1, arbitrary: fc.record({ kind: fc.constant('restart' as const) }) },
    ),
  }),
  { minLength: 5, maxLength: 25 },
)

const message = (afterMs: number, calledBackAfterMs: number | null) => {
  return { afterMs, step: { kind: 'message' as const, resultBehindMs: 0, statusBehindMs: 0, calledBackAfterMs } }
}
const growth = (afterMs: number) => {
  return { afterMs, step: { kind: 'growth' as const, uses: ['results', 'overdue'] satisfies Use[], more: 2 } }
}
/** After the second growth, the last message is on a partition whose reader had no use for its verdict before. */
const grownTwice = [
  growth(0),
  ...[0, 0, 0, 0, null].map(called => message(0, called)),
  ...[46_575, 14_616].map(afterMs => message(afterMs, null)),
  growth(9),
  message(0, 0),
]

test('no message is polled for after its verdict, whenever partitions are added to a topic or the reconciler restarts', async () => {
  await fc.assert(
    fc.asyncProperty(fc.integer({ min: 1, max: 4 }), steps, async (partitions, life) => {
      const { clock, polls, ...world } = await startGrowing(partitions)
      const calledBack = new Map<number, number>()
      let ids = 0
      for (const { afterMs, step } of life) {
        await clock.pass(afterMs)
        if (step.kind === 'restart') await world.restart()
        if (step.kind === 'growth') for (const use of step.uses) world.grow(use, step.more)
        if (step.kind !== 'message') continue
        const id = ++ids
        const callbackMs = step.calledBackAfterMs
        clock.after(Math.max(0, -(callbackMs ?? 0)), () => world.sent(id, step.resultBehindMs))
        if (callbackMs === null) continue
        clock.after(Math.max(0, callbackMs), () => {
          calledBack.set(id, clock.now())
          world.calledBack(id, step.statusBehindMs)
        })
      }
      await clock.pass(90 * minute)
      const late = polls.filter(({ id, at }) => at > (calledBack.get(id) ?? Number.POSITIVE_INFINITY))
      const never = Array.from({ length: ids }, (_, i) => i + 1).filter(id => !calledBack.has(id))
      await world.stop()
      expect(late).toEqual([])
      expect(polls.map(({ id }) => id)).toEqual(expect.arrayContaining(never))
    }),
    { numRuns: 15, examples: [[1, grownTwice]] },
  )
})
