import { describe, expect, onTestFinished, test } from 'vitest'
import { type Hop, MemoryBus } from '../../src/bus/memory/bus.ts'
import type { OutgoingRecord, RecordHeaders } from '../../src/bus/port.ts'
import { sleep } from '../../src/clock.ts'
import type { Answer } from '../../src/gateway/connection.ts'
import { parseJson } from '../../src/protocol/index.ts'
import { errorHeaders } from '../../src/records/dead-letter.ts'
import { createDecoder } from '../../src/records/decoder.ts'
import { createEncoder } from '../../src/records/encoder.ts'
import type { SendResult, StatusEvent } from '../../src/records/generated.ts'
import { embeddedRegistry, type SchemaRegistry } from '../../src/records/registry.ts'
import { schemas, subjectOf } from '../../src/records/schemas.ts'
import { Telemetry } from '../../src/telemetry/events.ts'
import { itemsAnswer, refusal as refusalOf } from '../support/answers.ts'
import { ManualClock } from '../support/clock.ts'
import { BrokerWithDamagedBatches, buildDamagedBatch } from '../support/damaged-batches.ts'
import { laggingRegistry } from '../support/lagging-registry.ts'
import { joinReconciler } from '../support/reconciler.ts'
import { buildResult } from '../support/results.ts'
import { buildSettings } from '../support/settings.ts'
import { buildStatusEvent } from '../support/status-events.ts'

const minute = 60_000
const hour = 60 * minute

interface Options {
  /** The gateway's status of a message at a time; null: no answer. */
  statusOf?: (id: number, now: number) => string | null
  /** How long the gateway takes to answer a poll, in milliseconds. */
  answersAfterMs?: number
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
  /** Number of partitions of each topic. */
  partitions?: number
  /** Topics that are missing. */
  without?: string
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
  let hindrance: Error | Promise<void> | null = null
  const hop: Hop = async (step, way) => {
    if (way === 'back' || !step.startsWith('commit ')) return
    if (hindrance instanceof Error) throw hindrance
    await hindrance
  }
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
    [topics.results, topics.statuses, topics.overdue, topics.deadLetters]
      .filter(topic => topic !== options.without)
      .map(topic => ({ topic, partitions: options.partitions ?? 1 })),
  )
  if (maxMessageBytes) for (const topic of [topics.statuses, topics.overdue]) broker.limit(topic, maxMessageBytes)
  const openBus = () =>
    new MemoryBus({ broker, groupId: 'g', clock, telemetry, drainMs: 5000, startFrom: 'earliest', hop })
  const bus = openBus()
  const encodeResult = await createEncoder<SendResult>(subjectOf(topics.results), schemas.result, registry)
  const encodeStatus = await createEncoder<StatusEvent>(subjectOf(topics.statuses), schemas.status, registry)
  const decodeStatus = createDecoder<StatusEvent>(schemas.status, registry)
  await decodeStatus.prepare(await registry.idOf(subjectOf(topics.statuses), schemas.status))
  const polls: { id: number; at: number }[] = []
  let proofs = 0
  const post = async (body: string): Promise<Answer> => {
    const { auth, data } = parseJson(body) as { auth: string; data: { type: string; id: number }[] }
    if (auth === denied) return refusalOf('Access denied')
    if (data[0]?.type === 'balance') {
      proofs++
      return itemsAnswer({ success: true, data: { amount: 100, currency: 'UAH' } })
    }
    polls.push(...data.map(({ id }) => ({ id, at: clock.now() })))
    if (options.answersAfterMs) await sleep(clock, options.answersAfterMs)
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
  let connections = 0
  /** Starts a process. */
  const start = async (own = bus) => {
    onTestFinished(() => own.close())
    const disconnected = () => void connections--
    const parts = { settings, bus: own, registry, telemetry, clock, post, disconnected }
    const [started] = await Promise.all([joinReconciler(parts), clock.pass(1000)])
    connections++
    return started
  }
  let role = await start()
  const append = (records: OutgoingRecord[]) => broker.append(records, clock.now())
  const missing: string[] = []
  telemetry.on('callback.missing', ({ type, count }) => missing.push(...Array(count).fill(type)))
  const counted: string[] = []
  telemetry.on('status.polled', ({ result }) => counted.push(result))
  telemetry.on('verdict.found', ({ type, state, country }) => counted.push(`${type} ${state} ${country}`))
  const unreadable: string[] = []
  telemetry.on('result.unreadable', ({ offset, error }) => unreadable.push(`${offset}: ${error}`))

  return {
    clock,
    polls,
    missing,
    /** Results of polls, and the verdicts that they found, as metrics count them. */
    counted,
    unreadable,
    /** From now on, commits fail with the error, or wait for the promise. */
    hinderCommits(by: Error | Promise<void> | null) {
      hindrance = by
    },
    /** Number of results and overdue messages from the first one that is not finished. */
    left: () =>
      [topics.results, topics.overdue].reduce((sum, topic) => {
        const tp = { topic, partition: 0 }
        return sum + broker.end(tp) - (broker.committed('g-reconciler', tp)?.offset ?? 0)
      }, 0),
    /** Skips most of these days, and lets two hours pass. */
    async passDays(days: number) {
      await clock.pass(hour)
      clock.step((days * 24 - 2) * hour)
      await clock.pass(hour)
    },
    /** Stops it for good. @returns how much of it is left: timers, and connections to the gateway */
    async stop() {
      const stopping = role.stop()
      await clock.pass(1000)
      await stopping
      return { timers: clock.pending, connections }
    },
    /** Starts another process of the same group. */
    startAnother: () => start(openBus()),
    /** How often the key was proved. */
    proofs: () => proofs,
    /** Writes a foreign record to the results. */
    foreign: (value: string | null) =>
      append([{ topic: topics.results, key: null, value: value === null ? null : Buffer.from(value) }]),
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
    /** Headers of the status events. */
    headers: () => broker.read({ topic: topics.statuses, partition: 0 }, 0, 1_000_000).records.map(one => one.headers),
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
      role = await start()
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
    const world = await startReconciler({ statusOf: () => 'UNDELIVERABLE', registry, reconciler: { expectMs: hour } })
    registry.isLagging = true
    world.sent(7)
    world.sent(8, { outcome: 'REJECTED' })
    await world.clock.pass(hour)
    expect(world.events()).toEqual([])
    expect(world.unreadable[0]).toMatch(/^0: no schema \d+\. It is read again later\.$/)
    registry.isLagging = false
    await world.clock.pass(hour)
    expect(verdicts(world.events())).toEqual(['7 POLL FAILED'])
    expect(world.left()).toBe(0)
    registry.isLagging = true
    await world.restart(minute)
    world.sent(9)
    await world.passDays(6.9)
    expect(world.unreadable.at(-1)).toMatch(/It is read again later\.$/)
    await world.passDays(0.2)
    expect(world.unreadable.at(-1)).toMatch(/: null$/)
    expect(world.left()).toBe(0)
  })

  test('gives up a result at once that proves to be none when its schema is found', async () => {
    const registry = laggingRegistry()
    const world = await startReconciler({ registry })
    registry.isLagging = true
    world.foreign(`\0\0\0\0${String.fromCharCode(await registry.idOf('busgate.results-value', schemas.result))}cut`)
    await world.clock.pass(30_000)
    registry.isLagging = false
    await world.clock.pass(hour)
    expect(world.unreadable[0]).toMatch(/no schema \d+\. It is read again later\.$/)
    expect(world.unreadable.slice(1)).toEqual([expect.stringMatching(/: null$/)])
    expect(world.left()).toBe(0)
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
  async function loseSchemaOfVerdict(options: Options = {}) {
    const registry = laggingRegistry()
    const world = await startReconciler({ statusOf: () => 'DELIVERED', registry, ...options })
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
      expect(world.left()).toBe(0)
    },
  )

  test('polls for a message at last if the schema of its status event is missing for a week', async () => {
    const reconciler = { expectMs: hour, graceMs: 30 * 24 * hour }
    const { registry, world, pollsOf } = await loseSchemaOfVerdict({ reconciler })
    await world.passDays(6.9)
    expect(pollsOf(7)).toBe(0)
    await world.passDays(0.2)
    expect(pollsOf(7)).toBe(1)
    registry.isLagging = false
    expect(verdicts(world.events())).toContain('7 POLL DELIVERED')
  })

  test('polls for a message at its time, although a status event of it could not be read before', async () => {
    const registry = laggingRegistry()
    const world = await startReconciler({ registry, reconciler: { expectMs: 10 * hour } })
    registry.only = await registry.idOf('busgate.statuses-value', schemas.status)
    registry.isLagging = true
    world.sent(7)
    world.calledBack(7, { state: 'PENDING', status: 'ACCEPTED', final: false })
    await world.clock.pass(hour)
    registry.isLagging = false
    await world.clock.pass(8.9 * hour)
    expect(world.polls).toEqual([])
    await world.clock.pass(10 * minute)
    expect(world.polls).toHaveLength(1)
  })

  describe('while it polls for a message,', () => {
    /** The message 7, for which a poll is under way. */
    async function startPoll(options: Options = {}) {
      const world = await startReconciler({ statusOf: () => 'DELIVERED', answersAfterMs: 5_000, ...options })
      world.sent(7)
      await world.clock.pass(minute + 2_000)
      expect([world.polls.length, world.events()]).toEqual([1, []])
      return world
    }

    test('a callback that arrives gives the only verdict', async () => {
      const world = await startPoll()
      world.calledBack(7)
      await world.clock.pass(10 * minute)
      expect(verdicts(world.events())).toEqual(['7 CALLBACK DELIVERED'])
      expect([world.polls.length, world.counted, world.left()]).toEqual([1, [], 0])
    })

    test('a callback that arrives gives the only verdict, even if its schema is missing for an hour', async () => {
      const registry = laggingRegistry()
      const world = await startPoll({ registry, answersAfterMs: 15_000 }) // later than the registry is asked again
      registry.only = await registry.idOf('busgate.statuses-value', schemas.status)
      registry.isLagging = true
      world.calledBack(7)
      await world.clock.pass(hour)
      registry.isLagging = false
      await world.clock.pass(10 * minute)
      expect(verdicts(world.events())).toEqual(['7 CALLBACK DELIVERED'])
      expect([world.polls.length, world.left()]).toEqual([1, 0])
    })

    test('a stop loses the answer, which its successor gets, and which is counted once', async () => {
      const world = await startPoll()
      await world.restart(2_000)
      await world.clock.pass(2 * minute)
      expect(verdicts(world.events())).toEqual(['7 POLL DELIVERED'])
      expect(world.polls).toHaveLength(2)
      expect(world.counted).toEqual(['verdict', 'sms DELIVERED UA'])
    })
  })

  test('counts a verdict once it is committed', async () => {
    const world = await startReconciler({ statusOf: () => 'DELIVERED' })
    world.sent(7)
    world.hinderCommits(new Error('the coordinator is away'))
    await world.clock.pass(2 * minute)
    expect([world.counted.filter(text => text !== 'verdict'), world.events()]).toEqual([[], []])
    world.hinderCommits(null)
    await world.clock.pass(2 * minute)
    expect(world.counted.filter(text => text !== 'verdict')).toEqual(['sms DELIVERED UA'])
  })

  test.each([
    ['DELIVERED', 'verdict'],
    ['REJECTED', 'verdict'],
    ['QUEUED', 'pending'],
    ['TELEPORTED', 'inconclusive'],
    ['', 'inconclusive'],
    [null, 'unanswered'],
  ])('counts an answer of the status %j as %s', async (status, result) => {
    const world = await startReconciler({ statusOf: () => status })
    world.sent(7)
    await world.clock.pass(1.5 * minute)
    expect(world.counted[0]).toBe(result)
  })

  test("publishes the gateway's type and id of the message, or those of its result if the gateway names none", async () => {
    const also = (id: number) => (id === 1 ? { type: 'sms', msg_id: 'gateway-1' } : {})
    const world = await startReconciler({ statusOf: () => 'DELIVERED', also })
    for (const id of [1, 2]) world.sent(id, { type: 'viber+sms', msgId: 'result' })
    await world.clock.pass(2 * minute)
    expect(world.events().map(({ type, msgId }) => [type, msgId])).toEqual([
      ['sms', 'gateway-1'],
      ['viber+sms', 'result'],
    ])
  })

  test('publishes the verdict in the trace of the message', async () => {
    const world = await startReconciler({ statusOf: () => 'DELIVERED' })
    const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'
    world.sent(7, { headers: { traceparent } })
    await world.clock.pass(2 * minute)
    expect(world.headers()).toMatchObject([{ traceparent }])
  })

  test('gives up a message whose account is gone from the settings', async () => {
    const world = await startReconciler()
    world.sent(7, { account: 'gone', lifetime: 60 })
    await world.clock.pass(40 * minute)
    expect(verdicts(world.events())).toEqual(['7 POLL UNKNOWN'])
    expect(world.polls).toEqual([])
  })

  test('commits what it has found before its stop is over', async () => {
    const world = await startReconciler({ statusOf: () => 'DELIVERED' })
    const { promise, resolve } = Promise.withResolvers<void>()
    world.sent(7)
    await world.clock.pass(minute)
    world.hinderCommits(promise)
    await world.clock.pass(3_000)
    let isOver = false
    const stopped = world.stop().then(() => {
      isOver = true
    })
    await world.clock.pass(2_000)
    expect([isOver, world.events()]).toEqual([false, []])
    resolve()
    await world.clock.pass(10_000)
    await stopped
    expect([verdicts(world.events()), world.left()]).toEqual([['7 POLL DELIVERED'], 0])
  })

  test('leaves nothing behind when it stops', async () => {
    const world = await startReconciler()
    for (const id of [1, 2]) world.sent(id)
    await world.clock.pass(10_000)
    world.sent(3)
    await world.clock.pass(1_000)
    expect(await world.stop()).toEqual({ timers: 0, connections: 0 })
    await world.clock.pass(hour)
    expect([world.polls, world.behind()]).toEqual([[], 0])
  })

  test.each(['busgate.results', 'busgate.statuses', 'busgate.overdue', 'busgate.dead-letters'])(
    'does not start without the topic %s, and says so',
    async without => {
      await expect(startReconciler({ without })).rejects.toThrow(without)
    },
  )

  test('asks for the balance only to prove the key', async () => {
    const world = await startReconciler()
    await world.clock.pass(hour)
    expect(world.proofs()).toBe(1)
  })

  test('shares the rate with another process', async () => {
    const world = await startReconciler({ partitions: 2, statusOf: () => 'DELIVERED', reconciler: { rate: 20 } })
    await world.startAnother()
    await world.clock.pass(10_000)
    for (let id = 1; id <= 1_000; id++) world.sent(id)
    await world.clock.pass(minute + 1_200)
    const before = world.polls.length
    await world.clock.pass(10_000)
    expect(world.polls.length - before).toBeGreaterThan(150)
    expect(world.polls.length - before).toBeLessThanOrEqual(200)
  })

  test('leaves the polls of partitions that another process takes over to that one', async () => {
    const world = await startReconciler({ partitions: 2, statusOf: () => 'DELIVERED' })
    for (let id = 1; id <= 300; id++) world.sent(id)
    await world.clock.pass(minute + 5_000)
    await world.startAnother()
    await world.clock.pass(2 * minute)
    expect(new Set(world.polls.map(({ id }) => id)).size).toBe(300)
    expect(world.polls.length).toBeLessThan(340) // those in flight at the handover are repeated
    expect(world.counted.filter(text => text === 'unanswered')).toEqual([])
  })

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

  test('does not poll for a message with a verdict, whether it came minutes before the result or after it', async () => {
    const world = await startReconciler()
    world.calledBack(1)
    await world.clock.pass(4 * minute)
    world.sent(1)
    world.sent(2)
    await world.clock.pass(30_000)
    world.calledBack(2)
    await world.clock.pass(5 * minute)
    expect(world.polls).toEqual([])
    expect(world.events()).toHaveLength(2)
    expect(world.left()).toBe(0)
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
    await world.clock.pass(1_000)
    expect([world.unreadable.length, world.left()]).toEqual([1, 0])
    world.rot('statuses')
    world.sent(1)
    world.calledBack(1)
    world.sent(2)
    await world.clock.pass(2 * minute)
    expect(world.polls.map(({ id }) => id)).toEqual([2])
    expect(world.unreadable).toEqual([
      '0: The batch at offset 0 cannot be read: its checksum is wrong. Have it produced again.',
    ])
    expect(world.left()).toBe(0)
  })

  test.each(['no result', null])('skips and reports a record of the results that is none at once: %j', async value => {
    const world = await startReconciler()
    world.foreign(value)
    await world.clock.pass(1_000)
    expect([world.unreadable, world.left()]).toEqual([['0: null'], 0])
  })

  test('treats the same id in another account as another message', async () => {
    const world = await startReconciler({ statusOf: () => 'DELIVERED' })
    world.sent(1)
    world.calledBack(1, { account: 'shop' })
    await world.clock.pass(2 * minute)
    expect(verdicts(world.events())).toEqual(['1 CALLBACK DELIVERED', '1 POLL DELIVERED'])
  })

  test.each([
    [1_000, 100],
    [minute, 1_200],
    [15 * minute, 5_000],
  ])('expecting a verdict within %d ms, polls together for messages of %d ms', async (expectMs, togetherMs) => {
    const world = await startReconciler({ reconciler: { expectMs }, statusOf: () => 'DELIVERED' })
    const start = world.clock.now()
    world.sent(1)
    await world.clock.pass(togetherMs - 1)
    world.sent(2)
    await world.clock.pass(900)
    world.sent(3)
    await world.clock.pass(expectMs + 10_000)
    const at = start + expectMs + togetherMs
    expect(world.polls).toEqual([
      { id: 1, at },
      { id: 2, at },
      { id: 3, at: at + togetherMs + 899 },
    ])
    expect(world.overdue()).toBe(0)
    expect(world.behind()).toBe(0)
  })

  test('repeats an unanswered poll after a minute, which changes no later interval', async () => {
    const answers = [null, 'ROUTING', 'ROUTING', null, 'ROUTING', 'DELIVERED'].values()
    const world = await startReconciler({ statusOf: () => answers.next().value! })
    const start = world.clock.now()
    world.sent(1)
    await world.clock.pass(hour)
    const waits = world.polls.map(({ at }, i) => Math.round((at - (world.polls[i - 1]?.at ?? start)) / minute))
    expect(waits).toEqual([1, 1, 2, 4, 1, 8])
    expect(world.missing).toEqual(['sms'])
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
    expect([world.overdue(), world.left()]).toEqual([0, 0])
  })

  test('polls for at most ten messages a second in each account, in envelopes', async () => {
    const world = await startReconciler({ statusOf: () => 'DELIVERED' })
    for (let id = 1; id <= 100; id++) world.sent(id)
    await world.clock.pass(minute + 3000)
    expect(world.polls.length).toBeLessThanOrEqual(40)
    expect(world.behind()).toBe(1.8) // after a minute and a fiftieth of it, for which messages are collected
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
