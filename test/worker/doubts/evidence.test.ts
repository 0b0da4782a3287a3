import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { partitionOf } from '../../../src/bus/murmur2.ts'
import type { Bus } from '../../../src/bus/port.ts'
import { createDecoder } from '../../../src/records/decoder.ts'
import { createEncoder } from '../../../src/records/encoder.ts'
import type { StatusEvent } from '../../../src/records/generated.ts'
import { schemas, subjectOf } from '../../../src/records/schemas.ts'
import { Telemetry } from '../../../src/telemetry/events.ts'
import { Evidence } from '../../../src/worker/doubts/evidence.ts'
import { openMemoryBus } from '../../support/bus.ts'
import { ManualClock } from '../../support/clock.ts'
import { laggingRegistry } from '../../support/lagging-registry.ts'
import { buildStatusEvent } from '../../support/status-events.ts'

const minute = 60_000

/** A search in a statuses topic that the test can make unreadable. */
async function startSearch() {
  const clock = new ManualClock()
  const telemetry = new Telemetry()
  const registry = laggingRegistry()
  const topic = 'statuses'
  const hop = async () => {}
  let made = 0
  const makeTopic = () => ({ ...openMemoryBus([topic], { clock, telemetry, hop }), id: `${++made}` })
  let current = makeTopic()
  const encode = await createEncoder<StatusEvent>(subjectOf(topic), schemas.status, registry)
  /** What fails now. */
  let broken: 'reading' | 'looking' | 'all' | null = null
  const mustWork = (what: 'reading' | 'looking') => {
    if (broken === what || broken === 'all') throw new Error(what === 'reading' ? 'no leader' : 'no topic')
  }
  /** When reading began, monotonic milliseconds. */
  const begun: number[] = []
  let [open, ends] = [0, 0]
  const follow: Bus['follow'] = async (tp, from, onRecords) => {
    begun.push(clock.monotonic())
    mustWork('reading')
    const follower = await current.bus.follow(tp, from, onRecords)
    open++
    return {
      position: 0,
      caughtUp: async () => {
        ends++
        mustWork('reading')
        await follower.caughtUp()
      },
      close: () => {
        open--
        return follower.close()
      },
    }
  }
  const lookAt: Bus['lookAt'] = async () => {
    mustWork('looking')
    return { ...(await current.bus.lookAt(topic))!, id: current.id }
  }
  const evidence = new Evidence({
    bus: { follow, lookAt, firstTimes: tps => current.bus.firstTimes(tps) },
    topic,
    decoder: createDecoder(schemas.status, registry, { clock, patient: false }),
    clock,
    telemetry,
  })
  const found: string[] = []
  const told: string[] = []
  telemetry.on('evidence.unavailable', ({ topic, partition, error }) =>
    told.push(`${topic}/${partition}: ${error.message}`),
  )
  await evidence.look()
  function append(id: number, value: Buffer | null): void {
    const key = Buffer.from(String(id))
    const partition = partitionOf(key, current.broker.partitions(topic)!)
    current.broker.append([{ topic, partition, key, value }], clock.now())
  }
  return {
    ...{ clock, found, told, evidence, registry, begun },
    /** Number of followers. */
    open: () => open,
    /** How often the end was asked for. */
    ends: () => ends,
    /** Deletes the topic and creates it again. */
    recreate() {
      current = makeTopic()
    },
    addPartition: () => current.broker.addPartitions(topic, current.broker.partitions(topic)! + 1),
    seek: (id: number, since: number, account = 'default') =>
      evidence.search({ id: String(id), account, since, found: event => found.push(`${id} ${event.account}`) }),
    calledBack: (id: number, event: Partial<StatusEvent> = {}) =>
      append(id, encode(buildStatusEvent({ id: BigInt(id), ...event }))),
    append,
    fail(what: 'reading' | 'looking' | 'all' | null) {
      broken = what
    },
  }
}

describe('callbacks as evidence', () => {
  test('are read from the oldest doubt on, even if they were unreadable until a later doubt came', async () => {
    const { clock, seek, fail, found, calledBack } = await startSearch()
    fail('all')
    seek(1, clock.now())
    calledBack(1)
    await clock.pass(10 * minute)
    fail(null)
    seek(2, clock.now())
    await clock.pass(minute)
    expect(found).toEqual(['1 default'])
  })

  test('are found although the clock of the process that received them is almost a minute behind', async () => {
    const { clock, seek, calledBack, found } = await startSearch()
    calledBack(1)
    seek(1, clock.now() + 59_000)
    await clock.pass(minute)
    expect(found).toEqual(['1 default'])
  })

  test('are read from the start of a recreated topic', async () => {
    const { clock, seek, calledBack, recreate, found } = await startSearch()
    const seeking = seek(1, clock.now())
    for (let id = 100; id < 110; id++) calledBack(id)
    await clock.pass(minute)
    recreate()
    calledBack(1)
    expect(await seeking.catchUp(minute)).toBe(true)
    expect(found).toEqual(['1 default'])
  })

  test('are not sought any more once nothing is in doubt', async () => {
    const { clock, seek, fail } = await startSearch()
    fail('all')
    const seeking = seek(1, clock.now())
    await clock.pass(minute)
    expect(clock.pending).toBe(1)
    seeking.end()
    expect(clock.pending).toBe(0)
  })

  test('must be read again after a suspend', async () => {
    const { clock, seek } = await startSearch()
    const seeking = seek(1, clock.now())
    expect(await seeking.catchUp(minute)).toBe(true)
    expect(seeking.isCaughtUp).toBe(true)
    clock.suspend(6_000)
    expect(seeking.isCaughtUp).toBe(false)
  })

  test.each<[string, Partial<StatusEvent>, boolean]>([
    ['a verdict', {}, true],
    ['news before the verdict', { status: 'ROUTING' }, true],
    ['a callback whose status nobody knows', { status: 'TELEPORTED' }, true],
    ["the reconciler's poll", { source: 'POLL' }, true],
    ['a message that the reconciler gave up', { source: 'POLL', status: 'UNKNOWN' }, false],
    ["an event from an account's address", { verified: false }, false],
    ['the same id in another account', { account: 'other' }, false],
  ])('count if they prove a message of the account to be sent: %s', async (_, event, counts) => {
    const { clock, seek, calledBack, found } = await startSearch()
    seek(1, clock.now())
    calledBack(1, event)
    calledBack(2)
    await clock.pass(minute)
    expect(found).toEqual(counts ? ['1 default'] : [])
  })

  test('are read on behind an event of others that is none', async () => {
    const { clock, seek, calledBack, append, found } = await startSearch()
    const seeking = seek(1, clock.now())
    append(1, Buffer.from('no event'))
    append(1, null)
    calledBack(1)
    expect([await seeking.catchUp(minute), found]).toEqual([true, ['1 default']])
  })

  test('resolve the doubts of two accounts about one id apart, and none that has ended', async () => {
    const { clock, seek, calledBack, found } = await startSearch()
    const [first, other] = [seek(1, clock.now()), seek(1, clock.now(), 'other')]
    calledBack(1, { account: 'other' })
    await clock.pass(minute)
    expect(found).toEqual(['1 other'])
    other.end()
    expect(await other.catchUp(minute)).toBe(false)
    calledBack(1, { account: 'other' })
    calledBack(1)
    await clock.pass(minute)
    expect([found, await first.catchUp(minute)]).toEqual([['1 other', '1 default'], true])
  })

  test('are read by one reader at a time, which starts again at most once a second for older doubts', async () => {
    const { clock, seek, calledBack, found, begun, open } = await startSearch()
    for (let id = 1; id <= 30; id++) calledBack(id)
    await clock.pass(60 * minute)
    const since = clock.now()
    const searches = Array.from({ length: 30 }, (_, i) => seek(i + 1, since - 2 * (i + 1) * minute))
    await clock.pass(500)
    expect(begun).toHaveLength(1)
    await clock.pass(minute)
    expect([begun.length, open(), found.length]).toEqual([2, 1, 30])
    expect(begun[1]! - begun[0]!).toBe(1000)
    for (const search of searches) search.end()
    await clock.pass(0)
    expect(open()).toBe(0)
  })

  test('are read again for a doubt that is older than what was read since', async () => {
    const { clock, seek, calledBack, found } = await startSearch()
    seek(1, clock.now())
    await clock.pass(10 * minute)
    calledBack(2)
    await clock.pass(10 * minute)
    calledBack(3)
    await clock.pass(5_000)
    seek(2, clock.now() - 15 * minute)
    await clock.pass(1_000)
    expect(found).toEqual(['2 default'])
  })

  test('from before those that are just being read are read before they count as read', async () => {
    const { clock, seek, calledBack, found } = await startSearch()
    calledBack(2)
    await clock.pass(10 * minute)
    seek(1, clock.now())
    expect(await seek(2, clock.now() - 11 * minute).catchUp(minute)).toBe(true)
    expect(found).toEqual(['2 default'])
  })

  test('are not read again from further back for a doubt that has ended', async () => {
    const { clock, seek, begun } = await startSearch()
    seek(1, clock.now())
    await clock.pass(5_000)
    seek(2, clock.now() - 10 * minute).end()
    await clock.pass(minute)
    expect(begun).toHaveLength(1)
  })

  test('are not read to their end while one partition of several is not', async () => {
    const { clock, seek, calledBack, addPartition, registry } = await startSearch()
    registry.isLagging = true
    const searches = [1, 2, 3, 4].map(id => seek(id, clock.now()))
    addPartition()
    for (const id of [1, 2, 3, 4]) calledBack(id)
    await clock.pass(2_000)
    for (const search of searches) {
      expect(await search.catchUp(minute)).toBe(false)
      expect(search.isCaughtUp).toBe(false)
    }
  })

  test('are read to their end once for all doubts of an envelope', async () => {
    const { clock, seek, ends } = await startSearch()
    const searches = Array.from({ length: 100 }, (_, i) => seek(i + 1, clock.now()))
    await clock.pass(1_000)
    const before = ends()
    const caughtUp = await Promise.all(searches.map(search => search.catchUp(minute)))
    expect([caughtUp.every(Boolean), ends() - before]).toEqual([true, 1])
  })

  test('from before those that are read are looked up within a second of their doubt', async () => {
    const { clock, seek, calledBack, found } = await startSearch()
    calledBack(2)
    await clock.pass(10 * minute)
    seek(1, clock.now())
    await clock.pass(5_000)
    seek(2, clock.now() - 11 * minute)
    await clock.pass(999)
    expect(found).toEqual([])
    await clock.pass(1)
    expect(found).toEqual(['2 default'])
  })

  test('are found on a partition that was added this second', async () => {
    const { clock, seek, calledBack, addPartition, found } = await startSearch()
    const searches = [1, 2, 3, 4].map(id => seek(id, clock.now()))
    expect(await searches[0]!.catchUp(minute)).toBe(true)
    addPartition()
    for (const id of [1, 2, 3, 4]) calledBack(id)
    await clock.pass(1)
    for (const search of searches) expect(await search.catchUp(minute)).toBe(true)
    expect(found).toHaveLength(4)
  })

  test('cannot be read: that is told once a minute and tried twice, until they can', async () => {
    const { clock, seek, calledBack, fail, found, told, begun, evidence } = await startSearch()
    fail('reading')
    const seeking = seek(1, clock.now())
    calledBack(1)
    expect([evidence.trouble, await seeking.catchUp(minute)]).toEqual([null, false])
    const why = 'callbacks resolve no doubts now, and nothing in doubt is sent again: no leader'
    expect([evidence.trouble, seeking.isCaughtUp]).toEqual([why, false])
    for (let id = 2; id <= 11; id++) {
      await clock.pass(minute)
      seek(id, clock.now())
    }
    expect(begun.map((at, i) => at - (begun[i - 1] ?? 0)).filter(ms => ms > 0)).toEqual(Array(20).fill(minute / 2))
    expect(told).toEqual(Array(11).fill('statuses/0: no leader'))
    fail(null)
    expect(await seeking.catchUp(minute)).toBe(true)
    expect([evidence.trouble, seeking.isCaughtUp, found]).toEqual([null, true, ['1 default']])
    await clock.pass(4_999)
    expect(seeking.isCaughtUp).toBe(true)
    await clock.pass(1)
    expect(seeking.isCaughtUp).toBe(false)
  })

  test('cannot be read to their end any more: they are read anew, and none is missed', async () => {
    const { clock, seek, calledBack, fail, found, told, open } = await startSearch()
    const seeking = seek(1, clock.now())
    expect(await seeking.catchUp(minute)).toBe(true)
    fail('reading')
    expect(await seeking.catchUp(minute)).toBe(false)
    await clock.pass(0)
    expect([seeking.isCaughtUp, open(), told]).toEqual([false, 0, ['statuses/0: no leader']])
    calledBack(1)
    fail(null)
    await clock.pass(minute / 2)
    expect([open(), found]).toEqual([1, ['1 default']])
  })

  test('are on a topic that cannot be looked up: nothing counts as read', async () => {
    const { clock, seek, fail, evidence } = await startSearch()
    const seeking = seek(1, clock.now())
    expect(await seeking.catchUp(minute)).toBe(true)
    await clock.pass(2_000)
    fail('looking')
    expect(await seeking.catchUp(minute)).toBe(false)
    expect(evidence.trouble).toMatch(/: no topic$/)
    fail(null)
    expect(await seeking.catchUp(minute)).toBe(true)
    expect(evidence.trouble).toBeNull()
  })

  test('tell no trouble of a doubt that has ended', async () => {
    const { clock, seek, fail, evidence } = await startSearch()
    const [first, second] = [seek(1, clock.now()), seek(2, clock.now())]
    await clock.pass(2_000)
    fail('all')
    expect(await first.catchUp(minute)).toBe(false)
    first.end()
    expect(evidence.trouble).not.toBeNull()
    second.end()
    expect(evidence.trouble).toBeNull()
  })

  test('that come too slowly hold the doubt up no longer than it may wait', async () => {
    const { clock, seek, evidence } = await startSearch()
    const seeking = seek(1, clock.now())
    await clock.pass(1_000)
    evidence.look = () => new Promise(() => {})
    const catchingUp = seeking.catchUp(2_000)
    await clock.pass(2_000)
    expect(await catchingUp).toBe(false)
    expect(evidence.trouble).toMatch(/: statuses is not read to its end in time$/)
  })

  test('are not all read while the schema of one about the message is missing', async () => {
    const { clock, seek, calledBack, registry, found, told } = await startSearch()
    const [first, second] = [seek(1, clock.now()), seek(2, clock.now())]
    registry.isLagging = true
    calledBack(1)
    await clock.pass(2_000)
    expect([await first.catchUp(minute), await second.catchUp(minute)]).toEqual([false, true])
    expect([first.isCaughtUp, second.isCaughtUp]).toEqual([false, true])
    expect(told).toEqual([expect.stringMatching(/^statuses\/0: no schema 1/)])
    registry.isLagging = false
    await clock.pass(2 * minute)
    expect(found).toEqual([])
    expect(await first.catchUp(minute)).toBe(true)
    expect([found, first.isCaughtUp]).toEqual([['1 default'], true])
  })

  test('are found wherever they are, whatever else happens, and no others', async () => {
    const id = fc.integer({ min: 1, max: 4 })
    const step = fc.oneof(
      { weight: 4, arbitrary: fc.record({ calledBack: id, proves: fc.boolean() }) },
      { weight: 4, arbitrary: fc.record({ seek: id, minutesBefore: fc.nat(3) }) },
      { weight: 4, arbitrary: fc.record({ pass: fc.constantFrom(0, 500, 1_000, 5_000, 5 * minute, 20 * minute) }) },
      { weight: 2, arbitrary: fc.record({ catchUp: fc.nat(5) }) },
      { weight: 1, arbitrary: fc.record({ broken: fc.constantFrom('reading', 'looking', 'all', null) }) },
      { weight: 1, arbitrary: fc.constant('add a partition' as const) },
      { weight: 1, arbitrary: fc.record({ end: fc.nat(5) }) },
    )
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 25 }), async steps => {
        const { clock, evidence, ...world } = await startSearch()
        const proofs: { id: number; at: number }[] = []
        const sought: { id: number; since: number; search: ReturnType<typeof world.seek>; isOver: boolean }[] = []
        const hasProof = (id: number, since = Number.NEGATIVE_INFINITY) =>
          proofs.some(proof => proof.id === id && proof.at >= since)
        const isFound = (id: number) => world.found.includes(`${id} default`)
        for (const step of steps) {
          if (step === 'add a partition') world.addPartition()
          else if ('pass' in step) await clock.pass(step.pass)
          else if ('broken' in step) world.fail(step.broken)
          else if ('calledBack' in step) {
            world.calledBack(step.calledBack, { verified: step.proves })
            if (step.proves) proofs.push({ id: step.calledBack, at: clock.now() })
          } else if ('seek' in step) {
            const since = clock.now() - step.minutesBefore * minute
            sought.push({ id: step.seek, since, search: world.seek(step.seek, since), isOver: false })
          } else if ('end' in step) {
            const one = sought[step.end]
            one?.search.end()
            if (one) one.isOver = true
          } else {
            const one = sought[step.catchUp]
            if (!one || one.isOver) continue
            await clock.pass(1)
            const expected = hasProof(one.id, one.since)
            const catchingUp = one.search.catchUp(2_000)
            await clock.pass(2_000)
            const isCaughtUp = await catchingUp
            if (isCaughtUp && expected) expect(isFound(one.id)).toBe(true)
          }
        }
        world.fail(null)
        await clock.pass(5 * minute)
        for (const { id, since, search, isOver } of sought) {
          if (isOver) continue
          expect(await search.catchUp(minute)).toBe(true)
          expect(isFound(id)).toBe(hasProof(id, since) || isFound(id))
        }
        for (const id of [1, 2, 3, 4]) if (isFound(id)) expect(hasProof(id)).toBe(true)
        expect(evidence.trouble).toBeNull()
        for (const { search } of sought) search.end()
        await clock.pass(minute)
        expect([world.open(), clock.pending]).toEqual([0, 0])
      }),
      { numRuns: 40 },
    )
  })
})
