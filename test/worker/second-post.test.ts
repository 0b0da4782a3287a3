import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { unpackCheckpoint } from '../../src/bus/session/checkpoint.ts'
import { INTENT } from '../../src/bus/session/window.ts'
import type { Answer } from '../../src/gateway/connection.ts'
import { schemas } from '../../src/records/schemas.ts'
import { itemsAnswer, refusal, refusedItem, sentItem } from '../support/answers.ts'
import { laggingRegistry } from '../support/lagging-registry.ts'
import { alone, numbersFrom, type Operation, type SendingOptions, startSendingWorld } from '../support/sending.ts'

const second = 1000
/** Settings that decide a doubt about 300 ms after its record was read. */
const quickDoubts = { gateway: { timeoutMs: 100 }, doubts: { waitMs: 100, polls: 1 } }
const startDoubtingWorld = (options: SendingOptions = {}) =>
  startSendingWorld({ accounts: alone, ...options, settings: quickDoubts })

const isPoll = ([first]: Operation[]) => first!.type === 'status'

/** Blocks its callers until the test opens it. */
function barrier() {
  const { promise, resolve } = Promise.withResolvers<void>()
  let entered = 0
  return {
    open: resolve,
    get entered() {
      return entered
    },
    pass: () => {
      entered++
      return promise
    },
  }
}

const byId = (world: Awaited<ReturnType<typeof startSendingWorld>>) =>
  world.results().sort((a, b) => Number(a.id - b.id))

const expectNothingLeft = (world: Awaited<ReturnType<typeof startSendingWorld>>) =>
  expect([world.gauge('doubts_open'), world.gauge('window_used_ratio'), world.gauge('requests_in_flight')]).toEqual([
    0, 0, 0,
  ])

describe('a callback before the second POST stops that POST', () => {
  test('while the command waits for its account', async () => {
    let denied = true
    const world = await startDoubtingWorld({
      answer: operations => (denied && !isPoll(operations) ? refusal('Access denied') : null),
    })
    world.doubted(1)
    await world.clock.pass(2 * second)
    expect(world.sending.warnings()).toEqual([
      expect.stringMatching(/^account default has been held back since .*, because the gateway refuses its key/),
    ])
    expect(world.gauge('doubts_open')).toBe(1)
    const posts = world.postsOf(1)
    world.calledBack(1)
    await world.clock.pass(100)
    expect(world.results()).toMatchObject([{ id: 1n, outcome: 'SENT', msgId: 'gw-1' }])
    denied = false
    await world.clock.pass(60 * second)
    expect([world.postsOf(1), world.results().length]).toEqual([posts, 1])
    expectNothingLeft(world)
  })

  test('while its intent is being committed, and the other command of the envelope is sent', async () => {
    const commit = barrier()
    let isProbed = () => false
    const { world, acceptKey } = await startWithTwoInOneEnvelope({
      hop: step => (step.startsWith('commit doubts') && isProbed() ? commit.pass() : ready),
    })
    const probes = world.postsOf(3)
    isProbed = () => world.postsOf(3) > probes
    await acceptKey()
    expect(commit.entered).toBeGreaterThan(0)
    world.calledBack(2)
    await world.clock.pass(100)
    commit.open()
    await world.clock.pass(second)
    expectOnlyTheOtherPosted(world)
  })

  test('while its intent is being committed, and the other command waits until callbacks can be fetched again', async () => {
    const commit = barrier()
    let isProbed = () => false
    let fetching = ready
    const { world, acceptKey } = await startWithTwoInOneEnvelope({
      hop: step => {
        if (step.startsWith('fetch statuses')) return fetching
        return step.startsWith('commit doubts') && isProbed() ? commit.pass() : ready
      },
    })
    const [probes, posts] = [world.postsOf(3), world.postsOf(1)]
    isProbed = () => world.postsOf(3) > probes
    await acceptKey()
    world.calledBack(2)
    await world.clock.pass(100)
    const away = Promise.withResolvers<void>()
    fetching = away.promise
    world.calledBack(99)
    await world.clock.pass(6 * second)
    commit.open()
    await world.clock.pass(20 * second)
    expect([byId(world).map(({ id }) => id), world.postsOf(1)]).toEqual([[2n, 3n], posts])
    away.resolve()
    await world.clock.pass(60 * second)
    expectOnlyTheOtherPosted(world)
  })

  test('while its intent is being committed, and waits without one until callbacks can be fetched again', async () => {
    const commit = barrier()
    let [isOpen, fetching] = [true, ready]
    const world = await startDoubtingWorld({
      hop: step => {
        if (step.startsWith('fetch statuses')) return fetching
        return step.startsWith('commit doubts') && !isOpen ? commit.pass() : ready
      },
    })
    isOpen = false
    world.doubted(1)
    await world.clock.pass(second)
    expect(commit.entered).toBe(1)
    const away = Promise.withResolvers<void>()
    fetching = away.promise
    world.calledBack(1)
    await world.clock.pass(6 * second)
    isOpen = true
    commit.open()
    await world.clock.pass(20 * second)
    const { offset, metadata } = world.broker.committed('busgate', { topic: 'doubts', partition: 0 })!
    const { window } = unpackCheckpoint(offset, metadata)
    expect(window.offsets.filter(at => window.get(at) === INTENT)).toEqual([])
    away.resolve()
    await world.clock.pass(60 * second)
    expect(world.results()).toMatchObject([{ id: 1n, outcome: 'SENT', attempts: 1 }])
    expect(world.postsOf(1)).toBe(0)
  })

  test('while its intent is being committed, although its deadline passes, too', async () => {
    const commit = barrier()
    let isOpen = true
    const world = await startDoubtingWorld({
      hop: step => (step.startsWith('commit doubts') && !isOpen ? commit.pass() : ready),
    })
    isOpen = false
    world.doubted(1, {}, { deadline: world.clock.now() + 5 * second })
    await world.clock.pass(second)
    expect(commit.entered).toBe(1)
    world.calledBack(1)
    await world.clock.pass(10 * second)
    isOpen = true
    commit.open()
    await world.clock.pass(second)
    expect(world.results()).toMatchObject([{ id: 1n, outcome: 'SENT', msgId: 'gw-1' }])
    expect(world.postsOf(1)).toBe(0)
    expectNothingLeft(world)
  })

  test('while its envelope waits for a connection, and the other command of the envelope is sent', async () => {
    const connection = barrier()
    const { world, acceptKey } = await startWithTwoInOneEnvelope({
      connected: operations => (operations.length === 2 && !isPoll(operations) ? connection.pass() : ready),
    })
    await acceptKey()
    expect(connection.entered).toBe(1)
    world.calledBack(2)
    await world.clock.pass(100)
    connection.open()
    await world.clock.pass(second)
    expectOnlyTheOtherPosted(world)
  })

  test('while its envelope waits for a connection, and the statuses cannot be fetched any more', async () => {
    const connection = barrier()
    const away = Promise.withResolvers<void>()
    let fetching = ready
    const world = await startDoubtingWorld({
      hop: step => (step.startsWith('fetch statuses') ? fetching : ready),
      connected: operations => (isPoll(operations) ? ready : connection.pass()),
    })
    world.doubted(1)
    await world.clock.pass(second)
    expect(connection.entered).toBe(1)
    fetching = away.promise
    world.calledBack(1)
    await world.clock.pass(6 * second)
    connection.open()
    await world.clock.pass(10 * second)
    expect([world.postsOf(1), world.results()]).toEqual([0, []])
    away.resolve()
    await world.clock.pass(60 * second)
    expect(world.results()).toMatchObject([{ id: 1n, outcome: 'SENT', attempts: 1 }])
    expect(world.postsOf(1)).toBe(0)
  })

  test('while its envelope waits for a connection, and the registry lacks the schema of the callback', async () => {
    const connection = barrier()
    const registry = laggingRegistry()
    let commits = 0
    const world = await startDoubtingWorld({
      registry,
      hop: async (step, way) => {
        if (way === 'there' && step.startsWith('commit end')) commits++
      },
      connected: operations => (isPoll(operations) ? ready : connection.pass()),
    })
    world.doubted(2)
    await world.clock.pass(100)
    registry.isLagging = true
    world.calledBack(2)
    await world.clock.pass(12 * second)
    world.doubted(1)
    await world.clock.pass(second)
    expect(connection.entered).toBe(1)
    world.calledBack(1)
    await world.clock.pass(second)
    connection.open()
    const before = commits
    await world.clock.pass(20 * second)
    expect([world.postsOf(1), world.postsOf(2), world.results()]).toEqual([0, 0, []])
    expect(commits - before).toBeLessThan(3) // they wait without a slot or an intent
    registry.isLagging = false
    await world.clock.pass(60 * second)
    expect(world.results().map(({ outcome, attempts }) => [outcome, attempts])).toEqual([
      ['SENT', 1],
      ['SENT', 1],
    ])
    expect([world.postsOf(1), world.postsOf(2)]).toEqual([0, 0])
  })

  test('while its envelope waits for a connection, and its callback alone cannot be read of all in the envelope', async () => {
    const connection = barrier()
    const registry = laggingRegistry()
    let denied = true
    let together: number[] = []
    const world = await startDoubtingWorld({
      registry,
      connected: operations => {
        if (operations.length === 1 || isPoll(operations)) return ready
        together = operations.map(({ id }) => Number(id))
        return connection.pass()
      },
      answer: operations => (denied && !isPoll(operations) ? refusal('Access denied') : null),
    })
    world.broker.addPartitions(world.settings.topics.statuses, 16)
    const ids = numbersFrom(1, 12)
    for (const id of ids) world.doubted(id)
    await world.clock.pass(2 * second)
    denied = false
    await world.clock.pass(3 * second)
    expect([connection.entered, together.length]).toEqual([1, 11])
    const proved = together.at(-1)!
    const posts = world.postsOf(proved)
    registry.isLagging = true
    world.calledBack(proved)
    await world.clock.pass(second)
    connection.open()
    await world.clock.pass(20 * second)
    expect(byId(world).map(({ id }) => Number(id))).toEqual(ids.filter(id => id !== proved))
    registry.isLagging = false
    await world.clock.pass(60 * second)
    expect(byId(world)[proved - 1]).toMatchObject({ outcome: 'SENT', attempts: 1 })
    expect(world.postsOf(proved)).toBe(posts)
  })

  test('while the registry lacks the schema of the callback, and the other command of the envelope is sent', async () => {
    const registry = laggingRegistry()
    const { world, acceptKey } = await startWithTwoInOneEnvelope({ registry })
    const refused = world.postsOf(2)
    registry.isLagging = true
    world.calledBack(2)
    await acceptKey()
    await world.clock.pass(20 * second)
    expect(world.results().map(({ id }) => id)).toEqual([3n, 1n])
    registry.isLagging = false
    await world.clock.pass(60 * second)
    expect(world.results().at(-1)).toMatchObject({ id: 2n, outcome: 'SENT', attempts: 1 })
    expect(world.postsOf(2)).toBe(refused)
  })

  test('while its intent is being committed and its callback cannot be read, and commands with callbacks elsewhere are sent', async () => {
    const commit = barrier()
    const registry = laggingRegistry()
    let denied = true
    let holdsCommits = false
    const world = await startDoubtingWorld({
      registry,
      hop: step => (step.startsWith('commit doubts') && holdsCommits ? commit.pass() : ready),
      answer: operations => (denied && !isPoll(operations) ? refusal('Access denied') : null),
    })
    world.broker.addPartitions(world.settings.topics.statuses, 16)
    const ids = numbersFrom(1, 12)
    for (const id of ids) world.doubted(id)
    await world.clock.pass(2 * second)
    const refused = world.postsOf(2)
    holdsCommits = true
    denied = false
    await world.clock.pass(2 * second)
    registry.isLagging = true
    world.calledBack(2)
    await world.clock.pass(100)
    holdsCommits = false
    commit.open()
    await world.clock.pass(20 * second)
    expect(byId(world).map(({ id }) => Number(id))).toEqual(ids.filter(id => id !== 2))
    registry.isLagging = false
    await world.clock.pass(60 * second)
    expect(byId(world)[1]).toMatchObject({ id: 2n, outcome: 'SENT', attempts: 1 })
    expect([world.postsOf(2), world.results().length]).toEqual([refused, 12])
  })

  test('although the broker delivers the callback slowly', async () => {
    let fetching = ready
    let denied = true
    const world = await startDoubtingWorld({
      hop: step => (step.startsWith('fetch statuses') ? fetching : ready),
      answer: operations => (denied && !isPoll(operations) ? refusal('Access denied') : null),
    })
    world.doubted(1)
    await world.clock.pass(5 * second)
    const posts = world.postsOf(1)
    expect(posts).toBeGreaterThan(0)
    const delayed = Promise.withResolvers<void>()
    fetching = delayed.promise
    world.calledBack(1)
    denied = false
    await world.clock.pass(60 * second)
    expect([world.postsOf(1), world.results()]).toEqual([posts, []])
    delayed.resolve()
    await world.clock.pass(60 * second)
    expect(world.results()).toMatchObject([{ id: 1n, outcome: 'SENT', attempts: 1 }])
    expect(world.postsOf(1)).toBe(posts)
  })

  test('although the statuses were unreadable for a moment', async () => {
    let refusals = 0
    const world = await startDoubtingWorld({
      hop: async (step, way) => {
        if (step.startsWith('look up statuses') && way === 'back' && ++refusals <= 2) throw new Error('no leader')
      },
    })
    world.doubted(1)
    await world.clock.pass(100)
    world.calledBack(1)
    await world.clock.pass(60 * second)
    expect(world.results()).toMatchObject([{ id: 1n, outcome: 'SENT', attempts: 1 }])
    expect([refusals, world.postsOf(1)]).toEqual([3, 0])
  })

  /** The commands 1 and 2 wait together, behind the command 3 that probes whether the key is accepted again. */
  async function startWithTwoInOneEnvelope(options: SendingOptions) {
    let denied = true
    const world = await startDoubtingWorld({
      ...options,
      answer: operations => (denied && !isPoll(operations) ? refusal('Access denied') : null),
    })
    for (const id of [1, 2, 3]) world.doubted(id)
    await world.clock.pass(2 * second)
    return {
      world,
      async acceptKey() {
        denied = false
        await world.clock.pass(2 * second)
      },
    }
  }

  function expectOnlyTheOtherPosted(world: Awaited<ReturnType<typeof startSendingWorld>>): void {
    const outcomes = world.results().map(({ id, outcome }) => `${id} ${outcome}`)
    expect(outcomes.sort()).toEqual(['1 SENT', '2 SENT', '3 SENT'])
    const envelopes = world.posts.filter(({ operations }) => !isPoll(operations)).map(({ operations }) => operations)
    expect(envelopes.slice(-2).map(one => one.map(({ id }) => id))).toEqual([[3], [1]])
    expectNothingLeft(world)
  }
})

describe('no second POST begins once the callback is on its topic', () => {
  /** How long a topic that was read to its end counts as read. */
  const freshMs = 5_000
  const span = fc.record({ from: fc.integer({ min: 0, max: 20 }), steps: fc.integer({ min: 1, max: 150 }) })
  const scenario = fc.record({
    /** Steps until the callback of each doubt; null: none comes. */
    callbacks: fc.array(fc.option(fc.integer({ min: 0, max: 40 })), { minLength: 1, maxLength: 6 }),
    /** Until which step the gateway refuses the key. */
    deniedUntil: fc.constantFrom(0, 5, 40, 130),
    lags: fc.array(span, { maxLength: 2 }),
    stalls: fc.array(span, { maxLength: 1 }),
    connectMs: fc.array(fc.constantFrom(0, 400, 1_500, 3_000), { minLength: 1, maxLength: 4 }),
    commitMs: fc.constantFrom(0, 50, 400),
    partitions: fc.constantFrom(1, 4),
  })
  const isIn = (step: number, spans: readonly { from: number; steps: number }[]) =>
    spans.some(({ from, steps }) => step >= from && step < from + steps)

  test('whenever it comes, its schema comes, and connections, commits and fetches get ready', async () => {
    await fc.assert(
      fc.asyncProperty(scenario, async ({ callbacks, deniedUntil, lags, stalls, connectMs, commitMs, partitions }) => {
        const registry = laggingRegistry()
        registry.only = await registry.idOf('statuses-value', schemas.status)
        let connections = 0
        let denied = true
        let stalled = barrier()
        stalled.open()
        const world = await startDoubtingWorld({
          registry,
          answer: operations => (denied && !isPoll(operations) ? refusal('Access denied') : null),
          connected: async operations => {
            if (!isPoll(operations)) await wait(connectMs[connections++ % connectMs.length]!)
          },
          hop: async (step, way) => {
            if (step.startsWith('fetch statuses')) await stalled.pass()
            if (way === 'there' && step.startsWith('commit doubts')) await wait(commitMs)
          },
        })
        const wait = (ms: number) => new Promise<void>(done => void world.clock.after(ms, done))
        if (partitions > 1) world.broker.addPartitions(world.settings.topics.statuses, partitions)
        const calledBackAt = new Map<number, number>()
        for (const i of callbacks.keys()) world.doubted(i + 1)
        for (let step = 0; step < 200; step++) {
          denied = step < deniedUntil
          registry.isLagging = isIn(step, lags)
          if (isIn(step, stalls) && !isIn(step - 1, stalls)) stalled = barrier()
          if (!isIn(step, stalls)) stalled.open()
          for (const [i, at] of callbacks.entries()) {
            if (at !== step) continue
            calledBackAt.set(i + 1, world.clock.monotonic())
            world.calledBack(i + 1)
          }
          await world.clock.pass(100)
        }
        await world.clock.pass(120 * second)
        const tolerance = stalls.length > 0 ? freshMs : 50
        for (const { operations, at } of world.posts)
          for (const { id, type } of operations)
            if (type !== 'status') expect(at).toBeLessThanOrEqual((calledBackAt.get(id) ?? Infinity) + tolerance)
        expect(byId(world).map(({ id, outcome }) => [Number(id), outcome])).toEqual(
          callbacks.map((_, i) => [i + 1, 'SENT']),
        )
      }),
      { numRuns: 30 },
    )
  })
})

describe('a callback on any partition stops the second POST', () => {
  const ids = Array.from({ length: 12 }, (_, i) => i + 1)
  const sentAtOnce = ids.map(id => ({ id: BigInt(id), outcome: 'SENT', attempts: 1 }))

  test('although partitions were added to the statuses while the worker ran', async () => {
    const world = await startDoubtingWorld()
    for (const id of ids) world.doubted(id)
    for (const id of ids.slice(0, 3)) world.calledBack(id)
    world.broker.addPartitions(world.settings.topics.statuses, 4)
    for (const id of ids.slice(3)) world.calledBack(id)
    await world.clock.pass(60 * second)
    expect(byId(world)).toMatchObject(sentAtOnce)
    expect(ids.map(id => world.postsOf(id))).toEqual(ids.map(() => 0))
  })
})

describe('a callback on any partition stops the second POST of another process', () => {
  const ids = numbersFrom(1, 12)

  test.each([
    ['new', 0],
    ['old', 20 * 60 * second],
  ])('although partitions were added to a %s topic of statuses meanwhile', async (_, quietMs) => {
    const world = await startDoubtingWorld()
    for (const id of ids) world.calledBack(100 + id)
    await world.clock.pass(quietMs)
    for (const id of ids) world.doubted(id)
    await world.clock.pass(100)
    const taking = world.takeOver()
    for (const id of ids.slice(0, 6)) world.calledBack(id)
    world.broker.addPartitions(world.settings.topics.statuses, 4)
    for (const id of ids.slice(6)) world.calledBack(id)
    await world.clock.pass(60 * second)
    await taking
    expect(ids.map(id => world.postsOf(id))).toEqual(ids.map(() => 0))
    expect(world.results().map(({ outcome }) => outcome)).toEqual(ids.map(() => 'SENT'))
  })
})

describe('while callbacks cannot be read', () => {
  test('for lack of a right, nothing is sent again, and AT_MOST_ONCE commands are not delayed', async () => {
    const troubles: Error[] = []
    const world = await startDoubtingWorld({
      hop: async (step, way) => {
        if (step.startsWith('look up statuses') && way === 'back') throw new Error('no right to read it')
      },
    })
    world.telemetry.on('evidence.unavailable', ({ error }) => troubles.push(error))
    world.doubted(1, {}, { deadline: world.clock.now() + 40 * second })
    world.doubted(2, {}, { delivery: 'AT_MOST_ONCE' })
    await world.clock.pass(30 * second)
    expect(world.results()).toMatchObject([{ id: 2n, outcome: 'UNRESOLVED', errorCode: 'RESPONSE_LOST' }])
    expect(world.sending.reasons()).toEqual([])
    expect(world.sending.warnings()).toEqual([
      expect.stringMatching(/nothing in doubt is sent again: no right to read it/),
    ])
    await world.clock.pass(30 * second)
    expect(world.results().slice(1)).toMatchObject([{ id: 1n, outcome: 'UNRESOLVED', errorCode: 'DEADLINE' }])
    expect([world.postsOf(1), world.postsOf(2), troubles.length]).toEqual([0, 0, 1])
    expect(world.sending.warnings()).toEqual([])
    expectNothingLeft(world)
  })

  test('because the broker of the statuses is unavailable, nothing is sent again, no slot is used, and deadlines apply', async () => {
    let fetching = ready
    const world = await startDoubtingWorld({
      hop: step => (step.startsWith('fetch statuses') ? fetching : ready),
    })
    world.doubted(1, {}, { deadline: world.clock.now() + 40 * second })
    await world.clock.pass(100)
    const away = Promise.withResolvers<void>()
    fetching = away.promise
    world.doubted(2)
    world.calledBack(3)
    await world.clock.pass(30 * second)
    expect([world.posts.filter(({ operations }) => !isPoll(operations)), world.gauge('requests_in_flight')]).toEqual([
      [],
      0,
    ])
    expect(world.sending.warnings()).toEqual([expect.stringMatching(/statuses is not read to its end in time/)])
    world.send(4)
    await world.clock.pass(second)
    expect(world.results()).toMatchObject([{ id: 4n, outcome: 'SENT' }])
    await world.clock.pass(60 * second)
    expect(world.results().slice(1)).toMatchObject([{ id: 1n, outcome: 'UNRESOLVED', errorCode: 'DEADLINE' }])
    away.resolve()
    await world.clock.pass(60 * second)
    expect(world.results().slice(2)).toMatchObject([{ id: 2n, outcome: 'SENT', attempts: 2 }])
    expectNothingLeft(world)
  })
})

describe('a callback during the second POST', () => {
  test.each<[string, Answer, number]>([
    ['was not accepted', refusal('Access denied'), 1],
    ['was throttled', itemsAnswer(refusedItem(1, 'THROTTLE')), 1],
    ['was refused', itemsAnswer(refusedItem(1)), 2],
    ['was lost', { kind: 'lost', cause: 'timeout', message: 'timeout' }, 2],
  ])('makes the command SENT if that POST %s', async (_, answer, attempts) => {
    const gateway = barrier()
    const world = await startDoubtingWorld({
      async answer(operations) {
        if (isPoll(operations)) return null
        await gateway.pass()
        return answer
      },
    })
    world.doubted(1)
    await world.clock.pass(second)
    expect(gateway.entered).toBe(1)
    world.calledBack(1)
    await world.clock.pass(100)
    expect(world.results()).toEqual([])
    gateway.open()
    await world.clock.pass(60 * second)
    expect(world.results()).toMatchObject([{ id: 1n, outcome: 'SENT', attempts }])
    expect(world.postsOf(1)).toBe(1)
    expectNothingLeft(world)
  })
})

describe('a second POST that the gateway refuses because it knows the id', () => {
  const known: SendingOptions['answer'] = operations =>
    isPoll(operations) ? null : itemsAnswer(...operations.map(({ id }) => refusedItem(id, 'id exists')))

  test('proves that the first was executed: the command ends SENT', async () => {
    const world = await startDoubtingWorld({ answer: known })
    world.doubted(1)
    await world.clock.pass(5 * second)
    expect(world.results()).toMatchObject([{ id: 1n, outcome: 'SENT', attempts: 2 }])
    expectNothingLeft(world)
  })

  test('proves it of one record if two have the id: the other ends UNRESOLVED, and says why', async () => {
    const world = await startDoubtingWorld({ answer: known })
    for (const offset of [1, 2]) world.doubted(1, { offset })
    await world.clock.pass(5 * second)
    const error = expect.stringContaining('another record has this id')
    expect(world.results()).toMatchObject([
      { outcome: 'SENT', commandOffset: 1 },
      { outcome: 'UNRESOLVED', commandOffset: 2, errorCode: 'RESPONSE_LOST', error, attempts: 2 },
    ])
    expectNothingLeft(world)
  })
})

describe('a doubt that two proofs settle at once counts once in the metrics', () => {
  async function startCounting(options: SendingOptions) {
    const world = await startDoubtingWorld(options)
    let counted = 0
    world.telemetry.on('results.published', ({ count }) => {
      counted += count
    })
    return { world, counted: () => counted }
  }

  test('if its callback comes while its status is polled', async () => {
    const gateway = barrier()
    const { world, counted } = await startCounting({
      answer: async operations => {
        if (!isPoll(operations)) return null
        await gateway.pass()
        return itemsAnswer(...operations.map(({ id }) => sentItem(id, { status: 'DELIVERED' })))
      },
    })
    world.doubted(1)
    await world.clock.pass(second)
    expect(gateway.entered).toBe(1)
    world.calledBack(1)
    await world.clock.pass(second)
    gateway.open()
    await world.clock.pass(10 * second)
    expect([world.results().map(({ outcome }) => outcome), counted()]).toEqual([['SENT'], 1])
  })

  test('if its callback comes twice while the schema of callbacks is missing', async () => {
    const registry = laggingRegistry()
    const { world, counted } = await startCounting({ registry })
    world.doubted(1)
    await world.clock.pass(100)
    registry.isLagging = true
    for (let i = 0; i < 2; i++) world.calledBack(1)
    await world.clock.pass(20 * second)
    registry.isLagging = false
    await world.clock.pass(60 * second)
    expect([world.results().map(({ outcome }) => outcome), counted()]).toEqual([['SENT'], 1])
  })
})

describe('a command that waits to be sent again', () => {
  const startDeniedWorld = (options: SendingOptions = {}) =>
    startDoubtingWorld({
      answer: operations => (isPoll(operations) ? null : refusal('Access denied')),
      ...options,
    })

  test('ends UNRESOLVED when its deadline passes, and its callback is no longer awaited', async () => {
    const world = await startDeniedWorld()
    world.doubted(1, {}, { deadline: world.clock.now() + 5 * second })
    await world.clock.pass(60 * second)
    expect(world.results()).toMatchObject([{ id: 1n, outcome: 'UNRESOLVED', errorCode: 'DEADLINE' }])
    expectNothingLeft(world)
    world.calledBack(1)
    await world.clock.pass(second)
    expect(world.results()).toHaveLength(1)
  })

  test('is one open doubt after its session was lost and reopened, and a callback settles it once', async () => {
    let isLost = false
    const world = await startDeniedWorld({
      hop: async (step, way) => {
        if (!isLost || way !== 'there' || !step.startsWith('commit')) return
        isLost = false
        throw new Error('no answer')
      },
    })
    const lost: string[] = []
    world.telemetry.on('session.lost', ({ topic }) => lost.push(topic))
    world.doubted(1)
    await world.clock.pass(2 * second)
    isLost = true
    await world.clock.pass(60 * second) // the commit of the next intent fails
    expect(lost).toContain('doubts')
    expect(world.gauge('doubts_open')).toBe(1)
    world.calledBack(1)
    await world.clock.pass(second)
    expect(world.results()).toMatchObject([{ id: 1n, outcome: 'SENT' }])
    expectNothingLeft(world)
  })
})

const ready = Promise.resolve()
