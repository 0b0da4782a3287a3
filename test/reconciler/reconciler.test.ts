import { describe, expect, onTestFinished, test } from 'vitest'
import { MemoryBus } from '../../src/bus/memory/bus.ts'
import type { OutgoingRecord, RecordHeaders } from '../../src/bus/port.ts'
import type { Answer } from '../../src/gateway/connection.ts'
import { parseJson } from '../../src/protocol/index.ts'
import { errorHeaders } from '../../src/records/dead-letter.ts'
import { createDecoder } from '../../src/records/decoder.ts'
import { createEncoder } from '../../src/records/encoder.ts'
import type { SendResult, StatusEvent } from '../../src/records/generated.ts'
import { embeddedRegistry, type SchemaRegistry } from '../../src/records/registry.ts'
import { schemas, subjectOf } from '../../src/records/schemas.ts'
import { Telemetry } from '../../src/telemetry/events.ts'
import { itemsAnswer, refusal } from '../support/answers.ts'
import { ManualClock } from '../support/clock.ts'
import { BrokerWithDamagedBatches, buildDamagedBatch } from '../support/damaged-batches.ts'
import { laggingRegistry } from '../support/lagging-registry.ts'
import { joinReconciler } from '../support/reconciler.ts'
import { buildResult } from '../support/results.ts'
import { buildSettings } from '../support/settings.ts'
import { buildStatusEvent } from '../support/status-events.ts'

const minute = 60_000

/** A network without delay. */
const hop = async () => {}

interface Options {
  /** The gateway's status of a message at a time; null: no answer. */
  statusOf?: (id: number, now: number) => string | null
  /** Further fields of the gateway's answer about a message. */
  also?: (id: number) => object
  /** max.message.bytes of each topic. */
  maxMessageBytes?: number
  reconciler?: object
  gateway?: object
  /** A key that the gateway refuses. */
  denied?: string
  registry?: SchemaRegistry
  /** kafka.startFrom */
  startFrom?: 'fail' | 'earliest' | 'latest'
  /** Ids of messages that were sent before the reconciler first started. */
  earlier?: readonly number[]
}

interface SentOptions {
  /** Seconds. */
  lifetime?: number
  /** Further headers of its record. */
  headers?: RecordHeaders
  /** How far the clock of the result's writer is ahead, in milliseconds. */
  aheadMs?: number
}

/** Starts a reconciler on an in-memory bus with a manual clock. */
async function startReconciler(options: Options = {}) {
  const { statusOf = () => 'ACCEPTED', also = () => ({}), maxMessageBytes, reconciler = {}, gateway = {} } = options
  let { denied } = options
  const clock = new ManualClock()
  const broker = new BrokerWithDamagedBatches(clock)
  const telemetry = new Telemetry()
  const registry = options.registry ?? embeddedRegistry()
  const settings = buildSettings({
    gateway,
    kafka: { startFrom: options.startFrom ?? 'fail' },
    reconciler: { expectMs: minute, graceMs: 10 * minute, ...reconciler },
  })
  const { topics } = settings
  broker.createTopics(
    [topics.results, topics.statuses, topics.overdue, topics.deadLetters].map(topic => ({ topic, partitions: 1 })),
  )
  if (maxMessageBytes) for (const topic of [topics.statuses, topics.overdue]) broker.limit(topic, maxMessageBytes)
  const bus = new MemoryBus({ broker, groupId: 'g', clock, telemetry, drainMs: 5000, startFrom: 'earliest', hop })
  const encodeResult = await createEncoder<SendResult>(subjectOf(topics.results), schemas.result, registry)
  const encodeStatus = await createEncoder<StatusEvent>(subjectOf(topics.statuses), schemas.status, registry)
  const decodeStatus = createDecoder<StatusEvent>(schemas.status, registry)
  await decodeStatus.prepare(await registry.idOf(subjectOf(topics.statuses), schemas.status))
  const polls: { id: number; at: number }[] = []
  const post = async (body: string): Promise<Answer> => {
    const { auth, data } = parseJson(body) as { auth: string; data: { type: string; id: number }[] }
    if (auth === denied) return refusal('Access denied')
    if (data[0]?.type === 'balance') return itemsAnswer({ success: true, data: { amount: 100, currency: 'UAH' } })
    polls.push(...data.map(({ id }) => ({ id, at: clock.now() })))
    const items = data.map(({ id }) => ({ id, status: statusOf(id, clock.now()), ...also(id) }))
    if (items.some(({ status }) => status === null)) return { kind: 'lost', cause: 'timeout', message: 'timeout' }
    const answer = { success: true, data: items.map(item => ({ success: true, data: item })) }
    return { kind: 'response', request: body, status: 200, body: JSON.stringify(answer), retryAfterMs: null }
  }
  const resultRecord = (id: number, result: Partial<SendResult> = {}, headers: RecordHeaders = {}) => {
    const value = encodeResult(
      buildResult({ id: BigInt(id), sentAt: clock.now(), completedAt: clock.now(), ...result }),
    )
    return { topic: topics.results, key: Buffer.from(String(id)), value, headers }
  }
  broker.append(
    (options.earlier ?? []).map(id => resultRecord(id)),
    clock.now(),
  )
  const start = () => joinReconciler({ settings, bus, registry, telemetry, clock, post })
  const starting = start()
  await clock.pass(1000)
  let role = await starting
  onTestFinished(() => bus.close())
  const append = (records: OutgoingRecord[]) => broker.append(records, clock.now())
  const missing: string[] = []
  telemetry.on('callback.missing', ({ type }) => missing.push(type))
  const unreadable: string[] = []
  telemetry.on('result.unreadable', ({ offset, error }) => unreadable.push(`${offset}: ${error}`))

  return {
    clock,
    polls,
    missing,
    unreadable,
    /** Writes an unreadable batch. */
    rot: (topic: 'results' | 'statuses') => append([buildDamagedBatch(topics[topic])]),
    sent(
      id: number,
      { lifetime, headers: others = {}, aheadMs = 0, ...overrides }: Partial<SendResult> & SentOptions = {},
    ) {
      const headers = { ...others, ...(lifetime !== undefined && { 'busgate.lifetime': String(lifetime) }) }
      broker.append([resultRecord(id, overrides, headers)], clock.now() + aheadMs)
    },
    calledBack(id: number, overrides: Partial<StatusEvent> = {}) {
      const event = buildStatusEvent({ id: BigInt(id), ...overrides })
      append([{ topic: topics.statuses, key: Buffer.from(String(id)), value: encodeStatus(event) }])
    },
    events(): StatusEvent[] {
      return broker.read({ topic: topics.statuses, partition: 0 }, 0, 1_000_000).records.map(({ value }) => {
        const decoded = decodeStatus.decode(value)
        if (!decoded.ok) throw new Error('a status event cannot be read')
        return decoded.value
      })
    },
    /** Deletes the records before this offset, as retention does. */
    cut: (topic: 'results' | 'overdue', before: number) =>
      broker.cut({ topic: topics[topic], partition: 0 }, { start: before }),
    /** Topic, first and last offset of each range that dead letters tell of, and whether commands were perhaps sent. */
    lost: () =>
      broker.read({ topic: topics.deadLetters, partition: 0 }, 0, 1_000_000).records.map(({ headers }) => {
        const [first, last = first] = [headers[errorHeaders.offset], headers[errorHeaders.lastOffset]]
        const perhapsSent = errorHeaders.perhapsSent in headers
        return { topic: headers[errorHeaders.topic], first: Number(first), last: Number(last), perhapsSent }
      }),
    overdue: () => broker.read({ topic: topics.overdue, partition: 0 }, 0, 1_000_000).records.length,
    behind: () => [...role.gauges.read()][0]!.value,
    readiness: () => ({ reasons: role.reasons(), warnings: role.warnings() }),
    /** From now on, the gateway refuses this key, and no other. */
    deny(key: string | undefined) {
      denied = key
    },
    async restart(pauseMs: number) {
      const stopping = role.stop()
      await clock.pass(pauseMs)
      await stopping
      const starting = start()
      await clock.pass(1000)
      role = await starting
    },
  }
}

const verdicts = (events: StatusEvent[]) => events.map(({ id, source, state }) => `${id} ${source} ${state}`)

describe('the reconciler', () => {
  test("polls for an overdue verdict, and publishes the gateway's answer", async () => {
    const world = await startReconciler({ statusOf: () => 'UNDELIVERABLE' })
    world.sent(7, { correlationId: 'order-1' })
    await world.clock.pass(minute - 2000)
    expect(world.polls).toEqual([])
    await world.clock.pass(5000)
    expect(world.events()).toMatchObject([
      {
        ...{ id: 7n, source: 'POLL', verified: true, correlationId: 'order-1' },
        ...{ status: 'UNDELIVERABLE', state: 'FAILED', final: true },
      },
    ])
    expect(world.missing).toEqual(['sms'])
  })

  test.each([
    ['fail', [1, 2]],
    ['earliest', [1, 2]],
    ['latest', [2]],
  ] as const)('first polls for messages as kafka.startFrom says: %s', async (startFrom, polled) => {
    const world = await startReconciler({ startFrom, earlier: [1], statusOf: () => 'DELIVERED' })
    world.sent(2)
    await world.clock.pass(2 * minute)
    expect(world.polls.map(({ id }) => id)).toEqual(polled)
  })

  test("publishes neither the account's key nor a phone that the gateway's answer names", async () => {
    const error = 'test-key may not send to +380 67 111-22-33'
    const also = () => ({ phone: '380671112233', error, note: [error] })
    const world = await startReconciler({ statusOf: () => 'UNDELIVERABLE', also })
    world.sent(7)
    await world.clock.pass(2 * minute)
    expect(world.events()).toMatchObject([
      { error: '*** may not send to +***', extra: '{"phone":"***","note":["*** may not send to +***"]}' },
    ])
  })

  test('polls for a result whose schema was missing for an hour, and gives up one that is missing for a week', async () => {
    const registry = laggingRegistry()
    const world = await startReconciler({ statusOf: () => 'UNDELIVERABLE', registry })
    registry.isLagging = true
    world.sent(7)
    await world.clock.pass(60 * minute)
    expect(world.events()).toEqual([])
    expect(world.unreadable[0]).toMatch(/^0: no schema \d+ It is read again later\.$/)
    registry.isLagging = false
    await world.clock.pass(10 * minute)
    expect(verdicts(world.events())).toEqual(['7 POLL FAILED'])
    registry.isLagging = true
    await world.restart(minute)
    world.sent(8)
    for (let hour = 0; hour < 8 * 24; hour++) await world.clock.pass(60 * minute)
    expect(world.unreadable.at(-1)).toMatch(/: null$/)
    const { length } = world.unreadable
    await world.clock.pass(60 * minute)
    expect(world.unreadable).toHaveLength(length)
  })

  test('tells by a dead letter of messages whose results were deleted before their verdict came', async () => {
    const world = await startReconciler()
    for (const id of [1, 2, 3]) world.sent(id)
    await world.restart(1000)
    for (const id of [4, 5]) world.sent(id)
    world.cut('results', 4)
    await world.restart(1000)
    await world.clock.pass(3 * minute)
    expect(world.lost()).toEqual([{ topic: 'busgate.results', first: 0, last: 3, perhapsSent: false }])
    expect(new Set(world.polls.map(({ id }) => id))).toEqual(new Set([5]))
    await world.restart(1000)
    expect(world.lost()).toHaveLength(1)
  })

  /** The messages 7 and 8 are sent. Only 7 has a verdict, whose schema the registry does not find from then on. */
  async function loseSchemaOfVerdict() {
    const registry = laggingRegistry()
    const world = await startReconciler({ statusOf: () => 'DELIVERED', registry })
    registry.only = await registry.idOf('busgate.statuses-value', schemas.status)
    registry.isLagging = true
    for (const id of [7, 8]) world.sent(id)
    world.calledBack(7)
    return { registry, world, pollsOf: (id: number) => world.polls.filter(one => one.id === id).length }
  }

  test.each([false, true])(
    'neither polls for a message nor gives it a second verdict while the schema of its verdict is missing (restarted: %o)',
    async restarts => {
      const { registry, world, pollsOf } = await loseSchemaOfVerdict()
      for (let i = 0; i < 30; i++) {
        await world.clock.pass(2 * minute)
        if (restarts && i % 10 === 5) await world.restart(1000)
      }
      expect([pollsOf(7), pollsOf(8)]).toEqual([0, 1]) // the other message is not held up
      registry.isLagging = false
      for (let i = 0; i < 30; i++) await world.clock.pass(2 * minute)
      expect(pollsOf(7)).toBe(0)
      expect(verdicts(world.events())).toEqual(['7 CALLBACK DELIVERED', '8 POLL DELIVERED'])
    },
  )

  test('polls again once a status event whose schema was missing turns out to be no verdict', async () => {
    const registry = laggingRegistry()
    const world = await startReconciler({ statusOf: () => 'DELIVERED', registry })
    registry.only = await registry.idOf('busgate.statuses-value', schemas.status)
    registry.isLagging = true
    world.sent(7)
    world.calledBack(7, { state: 'PENDING', status: 'ACCEPTED', final: false })
    await world.clock.pass(20 * minute)
    expect(world.polls).toEqual([])
    registry.isLagging = false
    await world.clock.pass(10 * minute)
    expect(verdicts(world.events()).at(-1)).toBe('7 POLL DELIVERED')
  })

  test('uses success if the answer has no status, and invents no verdict', async () => {
    const answers: object[] = [
      { status: 'SEEN', success: true },
      { status: 'NO ANSWER', success: false, error: 'Nobody answered' },
      { status: 'DELIVERED', updated: '2026-03-14T12:00:00Z', price: 0.05 },
    ]
    const world = await startReconciler({ also: id => answers[id - 1]! })
    for (const id of [1, 2, 3]) world.sent(id)
    await world.clock.pass(2 * minute)
    expect(world.events()).toMatchObject([
      { status: 'SEEN', state: 'DELIVERED', final: true, success: true, extra: null },
      { status: 'NO ANSWER', state: 'FAILED', final: true, success: false, error: 'Nobody answered' },
      { state: 'DELIVERED', final: true, success: null, updatedAt: Date.UTC(2026, 2, 14, 12), extra: '{"price":0.05}' },
    ])
  })

  test('keeps a status without words as the gateway wrote it', async () => {
    const world = await startReconciler({ statusOf: () => '5', also: () => ({ success: true }) })
    world.sent(1)
    await world.clock.pass(2 * minute)
    expect(world.events()).toMatchObject([{ status: '5', state: 'DELIVERED', final: true, success: true }])
  })

  test('polls again for an unknown status, unless success is given', async () => {
    const world = await startReconciler({ statusOf: () => 'TELEPORTED' })
    world.sent(1)
    await world.clock.pass(5 * minute)
    expect(world.polls.length).toBeGreaterThan(1)
    expect(world.events()).toEqual([])
  })

  test('does not poll for a message with a verdict, whether it came before or after the result', async () => {
    const world = await startReconciler()
    world.calledBack(1)
    world.sent(1)
    world.sent(2)
    await world.clock.pass(30_000)
    world.calledBack(2)
    await world.clock.pass(5 * minute)
    expect(world.polls).toEqual([])
    expect(world.events()).toHaveLength(2)
  })

  test('polls for a message with its own hook if its verdict is unverified, and publishes the answer', async () => {
    const world = await startReconciler({ statusOf: () => 'UNDELIVERABLE' })
    world.sent(1)
    world.sent(2, { hooked: false })
    for (const id of [1, 2]) world.calledBack(id, { verified: false })
    await world.clock.pass(5 * minute)
    expect(world.polls.map(({ id }) => id)).toEqual([1])
    expect(verdicts(world.events())).toContain('1 POLL FAILED')
  })

  test('accepts an unverified verdict for an overdue message without a hook', async () => {
    const world = await startReconciler({ maxMessageBytes: 20_000 })
    const headers = { mirrored: 'x'.repeat(30_000) }
    world.sent(1, { type: 'pipeline', hooked: false, headers })
    world.sent(2)
    await world.clock.pass(2.5 * minute)
    for (const id of [1, 2]) world.calledBack(id, { verified: false })
    const before = world.polls.length
    await world.clock.pass(20 * minute)
    expect(new Set(world.polls.slice(before).map(({ id }) => id))).toEqual(new Set([2]))
  })

  test('waits for a schema that the registry lacks for a while, without skipping a message or verdict', async () => {
    const registry = laggingRegistry()
    const world = await startReconciler({ registry, statusOf: () => 'DELIVERED' })
    registry.isLagging = true
    world.sent(1)
    world.sent(2)
    await world.clock.pass(5000)
    registry.isLagging = false
    await world.clock.pass(10_000)
    registry.isLagging = true // the statuses are read once the first message is overdue
    world.calledBack(1)
    await world.clock.pass(minute - 10_000)
    registry.isLagging = false
    await world.clock.pass(minute)
    expect(world.polls.map(({ id }) => id)).toEqual([2])
    expect(verdicts(world.events())).toEqual(['1 CALLBACK DELIVERED', '2 POLL DELIVERED'])
  })

  test('polls for a message that has only PENDING statuses', async () => {
    const world = await startReconciler({ statusOf: () => 'DELIVERED' })
    world.sent(1)
    world.calledBack(1, { status: 'ROUTING', state: 'PENDING', final: false })
    await world.clock.pass(2 * minute)
    expect(verdicts(world.events())).toEqual(['1 CALLBACK PENDING', '1 POLL DELIVERED'])
  })

  test('skips unreadable batches of results and statuses, and reports those of results', async () => {
    const world = await startReconciler({ statusOf: () => 'DELIVERED' })
    world.rot('results')
    world.rot('statuses')
    world.sent(1)
    world.calledBack(1)
    world.sent(2)
    await world.clock.pass(2 * minute)
    expect(world.polls.map(({ id }) => id)).toEqual([2])
    expect(world.unreadable).toEqual([
      '0: The batch at offset 0 cannot be read: its checksum is wrong. Have it produced again.',
    ])
  })

  test('treats the same id in another account as another message', async () => {
    const world = await startReconciler({ statusOf: () => 'DELIVERED' })
    world.sent(1)
    world.calledBack(1, { account: 'shop' })
    await world.clock.pass(2 * minute)
    expect(verdicts(world.events())).toEqual(['1 CALLBACK DELIVERED', '1 POLL DELIVERED'])
  })

  test('polls with increasing intervals until there is a verdict', async () => {
    let start = 0
    const world = await startReconciler({ statusOf: (_, now) => (now - start > 12 * minute ? 'DELIVERED' : 'ROUTING') })
    start = world.clock.now()
    world.sent(1)
    await world.clock.pass(30 * minute)
    expect(verdicts(world.events())).toEqual(['1 POLL DELIVERED'])
    const waits = world.polls.map(({ at }, i) => Math.round((at - (world.polls[i - 1]?.at ?? start)) / minute))
    expect(waits).toEqual([1, 1, 2, 4, 8])
    expect(world.missing).toEqual(['sms'])
  })

  test.each([
    ['the shortest time in which a verdict is expected', { voice: 3 * minute }, 3],
    ['15 minutes if verdicts are expected later', {}, 15],
  ])('reads results after %s', async (_, sooner, minutes) => {
    const world = await startReconciler({ reconciler: { expectMs: 24 * 60 * minute, expect: sooner } })
    world.sent(1)
    await world.clock.pass((minutes - 0.5) * minute)
    expect(world.overdue()).toBe(0)
    await world.clock.pass(minute)
    expect([world.overdue(), world.polls]).toEqual([1, []])
  })

  test('gives up a message after its lifetime and reconciler.graceMs, with one final UNKNOWN', async () => {
    const world = await startReconciler()
    const start = world.clock.now()
    world.sent(1, { lifetime: 60 })
    await world.clock.pass(40 * minute)
    expect(world.events()).toMatchObject([
      { status: 'UNKNOWN', state: 'UNKNOWN', final: true, source: 'POLL', success: null },
    ])
    expect((world.events()[0]!.receivedAt - start) / minute).toBeCloseTo(11, 0)
  })

  test('waits while the gateway does not answer, and gives up the message if it never does', async () => {
    const world = await startReconciler({ statusOf: () => null })
    world.sent(1, { lifetime: 60 })
    await world.clock.pass(19 * minute)
    expect(world.events()).toEqual([])
    await world.clock.pass(20 * minute)
    expect(verdicts(world.events())).toEqual(['1 POLL UNKNOWN'])
    expect(world.missing).toEqual(['sms'])
  })

  test('does not poll for messages that have no status or were not sent', async () => {
    const world = await startReconciler()
    world.sent(1, { type: 'hlr' })
    world.sent(2, { type: 'call/otp' })
    world.sent(3, { outcome: 'REJECTED' })
    world.sent(4, { outcome: 'IN_DOUBT', final: false })
    world.sent(5, { type: 'a future type' })
    await world.clock.pass(10 * minute)
    expect(world.polls).toEqual([])
    expect(world.overdue()).toBe(0)
  })

  test('polls for at most ten messages a second in each account, in envelopes', async () => {
    const world = await startReconciler({ statusOf: () => 'DELIVERED' })
    for (let id = 1; id <= 100; id++) world.sent(id)
    await world.clock.pass(minute + 3000)
    expect(world.polls.length).toBeLessThanOrEqual(40)
    expect(world.behind()).toBeGreaterThan(1)
    await world.clock.pass(20_000)
    expect(world.events()).toHaveLength(100)
    expect(new Set(world.polls.map(({ id }) => id)).size).toBe(100)
    expect(world.behind()).toBe(0)
  })

  test('accepts late callbacks while many messages wait for their poll', async () => {
    const world = await startReconciler()
    for (let id = 1; id <= 1000; id++) world.sent(id)
    await world.clock.pass(1.5 * minute)
    const before = world.polls.length
    expect(before).toBeGreaterThan(0)
    for (let id = 1; id <= 1000; id++) world.calledBack(id)
    await world.clock.pass(10 * minute)
    expect(world.polls.length - before).toBeLessThan(10)
    expect(world.behind()).toBe(0)
  })

  test('gives up no message after a single unanswered poll, even after days of downtime', async () => {
    let back = Number.POSITIVE_INFINITY
    const world = await startReconciler({ statusOf: (_, now) => (now < back ? null : 'DELIVERED') })
    world.sent(1, { lifetime: 60 })
    back = world.clock.now() + 120 * minute + 20_000
    await world.restart(120 * minute)
    await world.clock.pass(10 * minute)
    expect(world.polls.length).toBeGreaterThan(1)
    expect(verdicts(world.events())).toEqual(['1 POLL DELIVERED'])
  })

  test("is not delayed by a result whose writer's clock is hours ahead", async () => {
    const world = await startReconciler({ statusOf: () => 'DELIVERED' })
    world.sent(1, { aheadMs: 5 * 60 * minute })
    world.sent(2)
    await world.clock.pass(3 * minute)
    expect(verdicts(world.events())).toContain('2 POLL DELIVERED')
  })

  test('is not delayed by an account whose key is refused', async () => {
    const world = await startReconciler({
      gateway: { accounts: { shop: { apiKey: 'old-key' } } },
      denied: 'old-key',
      statusOf: () => 'DELIVERED',
    })
    for (let id = 1; id <= 1000; id++) world.sent(id, { account: 'shop' })
    world.sent(6000)
    await world.clock.pass(10 * minute)
    expect(verdicts(world.events())).toEqual(['6000 POLL DELIVERED'])
  })

  test('is unready from the first poll that the gateway refuses with the key of every account, until a key is accepted', async () => {
    const world = await startReconciler({ statusOf: () => 'DELIVERED' })
    world.deny('test-key')
    world.sent(1)
    await world.clock.pass(2 * minute)
    expect(world.readiness()).toEqual({
      reasons: ['the gateway refuses the keys of all accounts'],
      warnings: [
        expect.stringMatching(/^account default has been held back since \S+, because the gateway refuses its key/),
      ],
    })
    world.deny(undefined)
    await world.clock.pass(minute)
    expect(world.readiness()).toEqual({ reasons: [], warnings: [] })
    expect(verdicts(world.events())).toEqual(['1 POLL DELIVERED'])
  })

  test('stays ready while some account has an accepted key', async () => {
    const accounts = { shop: { apiKey: 'old-key' } }
    const world = await startReconciler({ gateway: { accounts }, statusOf: () => 'DELIVERED' })
    world.deny('old-key')
    world.sent(1, { account: 'shop' })
    await world.clock.pass(2 * minute)
    expect(world.readiness()).toMatchObject({
      reasons: [],
      warnings: [expect.stringMatching(/^account shop has been held back/)],
    })
  })

  test('polls only for messages without a verdict after hours of downtime', async () => {
    const world = await startReconciler({ statusOf: () => 'DELIVERED' })
    const restarting = world.restart(10_000)
    await restarting
    for (let id = 1; id <= 300; id++) {
      world.sent(id)
      if (id % 10 !== 0) world.calledBack(id)
    }
    const stopped = world.restart(2 * 60 * minute)
    await stopped
    for (let id = 301; id <= 320; id++) world.calledBack(id)
    await world.clock.pass(2 * minute)
    expect(world.polls).toHaveLength(30)
    expect(verdicts(world.events()).filter(text => text.includes('POLL'))).toHaveLength(30)
  })
})

describe('with a small max.message.bytes,', () => {
  test('the record of an overdue message is shortened, and the message gets its verdict', async () => {
    const statusOf = (_: number, now: number) => (now > start + 40 * minute ? 'DELIVERED' : 'ACCEPTED')
    const world = await startReconciler({ maxMessageBytes: 20_000, statusOf })
    const start = world.clock.now()
    const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'
    const lifetime = 7200
    world.sent(1, { lifetime })
    world.sent(2, { lifetime, payload: 'x'.repeat(30_000), correlationId: 'order-2', headers: { traceparent } })
    world.sent(3, { lifetime, tenant: 'shop', headers: { mirrored: 'x'.repeat(30_000) } })
    world.sent(4, { lifetime, correlationId: 'x'.repeat(30_000) })
    await world.clock.pass(10 * minute)
    expect(world.events()).toEqual([])
    await world.clock.pass(100 * minute)
    expect(verdicts(world.events()).toSorted()).toEqual([1, 2, 3, 4].map(id => `${id} POLL DELIVERED`))
    expect(world.events().toSorted((a, b) => Number(a.id - b.id))).toMatchObject([
      { correlationId: null, error: null },
      { correlationId: 'order-2' },
      { tenant: 'shop' },
      { correlationId: null },
    ])
    expect(world.missing).toHaveLength(4)
  })

  test('a verdict with too many replies is published without them', async () => {
    const replies = Array.from({ length: 500 }, () => ({ message: 'Yes, please. '.repeat(5) }))
    const also = (id: number) => (id === 2 ? { replies } : { replies: replies.slice(0, 1) })
    const world = await startReconciler({ maxMessageBytes: 20_000, statusOf: () => 'REPLIED', also })
    for (const id of [1, 2, 3]) world.sent(id, { correlationId: `order-${id}` })
    await world.clock.pass(5 * minute)
    expect(world.events().map(({ replies }) => replies.length)).toEqual([1, 0, 1])
    expect(world.events()[1]).toMatchObject({
      ...{ id: 2n, state: 'DELIVERED', final: true, correlationId: 'order-2' },
      error: 'too large for the topic, so left out or cut: replies',
    })
  })
})
