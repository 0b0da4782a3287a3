import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Membership, Session } from '../../src/bus/port.ts'
import type { Telemetry } from '../../src/telemetry/events.ts'
import {
  type BusHarness,
  buildRecord,
  buildRecords,
  type Process,
  publishAll,
  readKeys,
  TestListener,
  until,
} from '../support/bus.ts'
import { followerContract } from './follower-contract.ts'
import { groupReadingContract } from './group-reading-contract.ts'
import { recordLimitsContract } from './record-limits-contract.ts'
import { searchContract } from './search-contract.ts'

let groups = 0

interface Joined {
  process: Process
  listener: TestListener
  membership: Membership
}

/** What every adapter of the bus promises. */
export function busContract(name: string, createHarness: () => Promise<BusHarness>): void {
  describe(name, () => {
    let harness: BusHarness
    beforeAll(async () => {
      harness = await createHarness()
    })
    afterAll(() => harness?.close())

    const newGroup = () => `group-${process.pid}-${++groups}`

    async function join(
      groupId: string,
      topic: string,
      partitions = 1,
      lookBack = 0,
      listen: (telemetry: Telemetry) => void = () => {},
    ): Promise<Joined> {
      const listener = new TestListener()
      const process = await harness.process(groupId)
      listen(process.telemetry)
      const membership = await process.bus.join([topic], listener, { lookBack: () => lookBack })
      await until(() => expect(listener.sessions.size).toBe(partitions))
      return { process, listener, membership }
    }

    async function setUp(keys: string[], partitions = 1) {
      const commands = await harness.topic('commands', partitions)
      const results = await harness.topic('results', 2)
      const groupId = newGroup()
      const joined = await join(groupId, commands, partitions)
      await publishAll(joined.process.bus, buildRecords(commands, keys))
      await until(() => expect(joined.listener.fresh).toHaveLength(keys.length))
      return { commands, results, groupId, ...joined }
    }

    /** Fences the processes between two commits: during a commit they could start anew before all are fenced. */
    async function fence(groupId: string, session: Session) {
      await session.committed()
      await harness.fence(groupId)
    }

    test('commands are delivered in order, and after a restart only the unsettled ones again', async () => {
      const { commands, results, groupId, listener, membership, process } = await setUp(['a', 'b', 'c', 'd'])
      expect(listener.freshKeys).toEqual(['a', 'b', 'c', 'd'])
      for (const key of ['d', 'b']) listener.session().settle(listener.offsetOf(key), [buildRecord(results, key)])
      await listener.session().committed()
      await membership.leave()
      const again = await join(groupId, commands)
      await until(() => expect(again.listener.freshKeys).toEqual(['a', 'c']))
      const keys = await readKeys(process.bus, results)
      await until(() => expect(keys.toSorted()).toEqual(['b', 'd']))
    })

    test('a new session gets the last settled records as history, as many as it asked for', async () => {
      const { commands, groupId, listener, membership } = await setUp(['a', 'b', 'c', 'd', 'e'])
      for (const key of ['a', 'b', 'c', 'e']) listener.session().settle(listener.offsetOf(key), [])
      await listener.session().committed()
      await membership.leave()
      const again = await join(groupId, commands, 1, 2)
      await until(() => {
        expect(again.listener.freshKeys).toEqual(['d'])
        expect(again.listener.pastKeys).toEqual(['b', 'c', 'e'])
      })
    })

    test('after a crash, intents are in doubt and everything else is new', async () => {
      const { commands, groupId, listener, process } = await setUp(['a', 'b', 'c'])
      expect(await listener.session().intend([listener.offsetOf('b')])).toBe(true)
      await process.crash()
      const again = await join(groupId, commands)
      await until(() => {
        expect(again.listener.freshKeys).toEqual(['a', 'c'])
        expect(again.listener.doubtedKeys).toEqual(['b'])
      })
    })

    /** Joins as a process of the installation with this gateway. */
    async function joinAs(groupId: string, topic: string, gateway: string) {
      const listener = new TestListener()
      const { bus } = await harness.process(groupId)
      return { listener, membership: await bus.join([topic], listener, { installation: { 'gateway.url': gateway } }) }
    }

    test('a process of another installation stays out, names both and their hosts, and joins when the first has left', async () => {
      const commands = await harness.topic('commands', 2)
      const groupId = newGroup()
      const first = await joinAs(groupId, commands, 'https://one.example')
      const second = await joinAs(groupId, commands, 'https://one.example')
      await until(() => expect([first.listener.sessions.size, second.listener.sessions.size]).toEqual([1, 1]))
      const { sessions } = first.listener
      const session = first.listener.session([...sessions.keys()][0])
      await expect(joinAs(groupId, commands, 'https://two.example')).rejects.toThrow(
        expect.objectContaining({
          name: 'BusUnavailable',
          message: expect.stringMatching(
            /on (\S+), are in this group; on \1, gateway\.url is https:\/\/two\.example here and https:\/\/one\.example there/,
          ),
        }),
      )
      expect([session.alive, session.open]).toEqual([true, true])
      await Promise.all([first.membership.leave(), second.membership.leave()])
      const third = await joinAs(groupId, commands, 'https://two.example')
      await until(() => expect(third.listener.sessions.size).toBe(2))
    })

    test('of two installations that start at once, the processes of one work, and the other waits', async () => {
      const commands = await harness.topic('commands', 2)
      const groupId = newGroup()
      const gateways = ['one', 'two', 'one', 'two'].map(name => `https://${name}.example`)
      const outcomes = await Promise.allSettled(gateways.map(gateway => joinAs(groupId, commands, gateway)))
      const joined = gateways.filter((_, i) => outcomes[i]!.status === 'fulfilled')
      expect(joined).toHaveLength(2)
      expect(new Set(joined).size).toBe(1)
      for (const outcome of outcomes) {
        if (outcome.status === 'rejected') expect(outcome.reason).toMatchObject({ name: 'BusUnavailable' })
      }
    })

    test('a command in doubt stays in doubt if its new owner dies or loses its session before settling it', async () => {
      const { commands, results, groupId, listener, process } = await setUp(['a', 'b'])
      await listener.session().intend([listener.offsetOf('a')])
      await process.crash()
      const second = await join(groupId, commands)
      await until(() => expect(second.listener.doubtedKeys).toEqual(['a']))
      await fence(groupId, second.listener.session())
      const lost = second.listener.session()
      lost.settle(second.listener.offsetOf('b'), [buildRecord(results, 'b')])
      await until(() => expect(second.listener.doubtedKeys).toEqual(['a', 'a']))
      await until(() => expect(second.listener.session()).not.toBe(lost))
      second.listener.session().settle(second.listener.offsetOf('b'), [buildRecord(results, 'b')])
      await second.listener.session().committed()
      await second.process.crash()
      const third = await join(groupId, commands)
      await until(() => expect(third.listener.doubtedKeys).toEqual(['a']))
      expect(third.listener.freshKeys).toEqual([])
    })

    test.each([
      ['the listener', (_: Session, work: () => void) => work()],
      ['work that the listener put off', (session: Session, work: () => void) => setImmediate(() => session.run(work))],
    ])('an error of %s ends the session of its partition alone, which gets its records again', async (_, run) => {
      const { commands, process, listener } = await setUp([], 2)
      const faults: unknown[] = []
      process.telemetry.on('fault.contained', fault => void faults.push(fault))
      let isBroken = true
      listener.onFresh = session => {
        if (!isBroken || session.partition !== 0) return
        run(session, () => {
          throw new Error('it fails on this partition')
        })
      }
      await publishAll(process.bus, [
        buildRecord(commands, 'a', { partition: 0 }),
        buildRecord(commands, 'b', { partition: 1 }),
      ])
      await until(() => expect(listener.freshKeys.filter(key => key === 'a').length).toBeGreaterThan(1))
      await publishAll(process.bus, [buildRecord(commands, 'c', { partition: 1 })])
      await until(() => expect(listener.freshKeys.filter(key => key !== 'a')).toEqual(['b', 'c']))
      isBroken = false
      await publishAll(process.bus, [buildRecord(commands, 'd', { partition: 0 })])
      await until(() => expect(listener.freshKeys.slice(-2)).toEqual(['a', 'd']))
      expect(faults).toContainEqual(
        expect.objectContaining({ handling: 'partition', place: expect.objectContaining({ partition: 0 }) }),
      )
      expect(listener.fatals).toEqual([])
    })

    test('an atomic publisher writes all records of a call or none, and only the last of a name writes', async () => {
      const topics = [await harness.topic('first', 1), await harness.topic('second', 1)]
      const { bus } = await harness.process(newGroup())
      const earlier = await bus.atomicPublisher('replay')
      await earlier.publish(topics.map(topic => buildRecord(topic, 'a')))
      const later = await bus.atomicPublisher('replay')
      await expect(earlier.publish(topics.map(topic => buildRecord(topic, 'lost')))).rejects.toThrow()
      await expect(
        later.publish([buildRecord(topics[0]!, 'lost'), buildRecord('no-such-topic', 'lost')]),
      ).rejects.toThrow()
      await later.publish(topics.map(topic => buildRecord(topic, 'b')))
      for (const topic of topics) {
        const keys = await readKeys(bus, topic)
        await until(() => expect(keys).toEqual(['a', 'b']))
      }
    })

    test('a fenced session may not begin a POST, and publishes nothing', async () => {
      const { results, groupId, listener, process } = await setUp(['a', 'b'])
      const fenced = listener.session()
      await fence(groupId, fenced)
      fenced.settle(listener.offsetOf('a'), [buildRecord(results, 'lost')])
      expect(await fenced.intend([listener.offsetOf('b')])).toBe(false)
      await until(() => expect(listener.freshKeys).toEqual(['a', 'b', 'a', 'b']))
      listener.session().settle(listener.offsetOf('a'), [buildRecord(results, 'a')])
      await listener.session().committed()
      const keys = await readKeys(process.bus, results)
      await until(() => expect(keys).toEqual(['a']))
    })

    test('a session reopened in the same process publishes the outcome of a POST that was in flight', async () => {
      const { results, groupId, listener, process } = await setUp(['a', 'b', 'c'])
      const first = listener.session()
      expect(await first.intend([listener.offsetOf('a')])).toBe(true)
      await fence(groupId, first)
      expect(await first.intend([listener.offsetOf('b')])).toBe(false)
      await until(() => expect(listener.freshKeys).toEqual(['a', 'b', 'c', 'b', 'c']))
      first.settle(listener.offsetOf('a'), [buildRecord(results, 'a')])
      await listener.session().committed()
      const keys = await readKeys(process.bus, results)
      await until(() => expect(keys).toEqual(['a']))
      expect(listener.doubtedKeys).toEqual([])
    })

    test('a command whose intent is released after its session was reopened is delivered as new', async () => {
      const { groupId, listener } = await setUp(['a', 'b'])
      const first = listener.session()
      await first.intend([listener.offsetOf('a')])
      await fence(groupId, first)
      await first.intend([listener.offsetOf('b')])
      await until(() => expect(listener.freshKeys).toEqual(['a', 'b', 'b']))
      first.release(listener.offsetOf('a'))
      await until(() => expect(listener.freshKeys).toEqual(['a', 'b', 'b', 'a']))
      expect(await listener.session().intend([listener.offsetOf('a')])).toBe(true)
    })

    test('a command whose intent was released before the last commit is new for the next owner', async () => {
      const { commands, groupId, listener, process } = await setUp(['a'])
      await listener.session().intend([listener.offsetOf('a')])
      listener.session().release(listener.offsetOf('a'))
      await listener.session().committed()
      await process.crash()
      const again = await join(groupId, commands)
      await until(() => expect(again.listener.freshKeys).toEqual(['a']))
    })

    test('a member that leaves waits for its requests in flight, so that the next owner finds no doubts', async () => {
      const { commands, results, groupId, listener, membership } = await setUp(['a', 'b'])
      const session = listener.session()
      await session.intend([listener.offsetOf('a')])
      const left = membership.leave()
      expect(session.open).toBe(false)
      session.settle(listener.offsetOf('a'), [buildRecord(results, 'a')])
      await left
      const again = await join(groupId, commands)
      await until(() => expect(again.listener.freshKeys).toEqual(['b']))
      expect(again.listener.doubtedKeys).toEqual([])
    })

    test('a second member takes over half of the partitions after the first has drained', async () => {
      const { commands, results, groupId, listener, membership } = await setUp(['k1', 'k2', 'k3', 'k4', 'k5', 'k6'], 2)
      for (const { session, record } of listener.fresh) expect(await session.intend([record.offset])).toBe(true)
      const secondListener = new TestListener()
      const second = await harness.process(groupId)
      const joining = second.bus.join([commands], secondListener)
      await until(() => expect([...membership.sessions()].map(state => state.open)).toEqual([false, false]))
      for (const { session, record } of listener.fresh) session.settle(record.offset, [buildRecord(results, 'done')])
      const secondMembership = await joining
      await until(() => {
        expect(listener.sessions.size).toBe(1)
        expect(secondListener.sessions.size).toBe(1)
      })
      expect(membership.share()).toEqual({ owned: 1, total: 2 })
      await secondMembership.leave()
      await until(() => expect(listener.sessions.size).toBe(2))
      expect([...listener.doubtedKeys, ...secondListener.doubtedKeys, ...secondListener.freshKeys]).toEqual([])
    })

    test('at most one window of commands is delivered while none is settled, and all of them in the end', async () => {
      const commands = await harness.topic('commands', 1)
      const results = await harness.topic('results', 2)
      const count = 20_000
      const { process, listener, membership } = await join(newGroup(), commands)
      for (let from = 0; from < count; from += 1000) {
        const keys = Array.from({ length: 1000 }, (_, i) => String(from + i))
        await publishAll(process.bus, buildRecords(commands, keys))
      }
      await until(() => expect(listener.fresh.length).toBeGreaterThanOrEqual(4000))
      expect(listener.fresh.length).toBeLessThanOrEqual(8192)
      let settled = 0
      const settleAll = () => {
        for (const { session, record } of listener.fresh.slice(settled)) {
          session.settle(record.offset, record.offset % 1000 === 0 ? [buildRecord(results, String(record.key))] : [])
        }
        settled = listener.fresh.length
      }
      settleAll()
      listener.onFresh = settleAll
      await until(() => expect(listener.fresh).toHaveLength(count), 60_000)
      await listener.session().committed()
      const [state] = membership.sessions()
      expect(state).toMatchObject({ lag: 0, windowUsed: 0, open: true })
    })

    test('only the committed records of interleaved producer transactions are delivered', async () => {
      const { commands, results, groupId, listener, membership } = await setUp(['first'])
      const group = (prefix: string, abort: boolean) => ({
        records: [0, 1, 2, 3, 4].map(i => buildRecord(commands, prefix + i)),
        abort,
      })
      await harness.transactions([group('x', true), group('a', false), group('y', true), group('b', false)])
      await harness.transactions([group('z', true)])
      await harness.transactions([group('c', false)])
      const wanted = ['first', 'a', 'b', 'c'].flatMap(prefix =>
        prefix === 'first' ? prefix : [0, 1, 2, 3, 4].map(i => prefix + i),
      )
      await until(() => expect([...listener.freshKeys].sort()).toEqual([...wanted].sort()))
      for (const { session, record } of listener.fresh) session.settle(record.offset, [buildRecord(results, 'r')])
      await listener.session().committed()
      await membership.leave()
      const again = await join(groupId, commands)
      await publishAll(again.process.bus, [buildRecord(commands, 'last')])
      await until(() => expect(again.listener.freshKeys).toEqual(['last']))
    })

    test('records with the same key are on one partition, whether a publisher or a session wrote them', async () => {
      const { results, listener, process } = await setUp(['a'])
      const keys = Array.from({ length: 20 }, (_, i) => `key-${i}`)
      const partitions = new Map<string, Set<number>>()
      await publishAll(process.bus, buildRecords(results, keys))
      listener.session().settle(listener.offsetOf('a'), buildRecords(results, keys))
      let seen = 0
      await process.bus.read([results], 'earliest', ({ partition }, records) => {
        for (const { key } of records) {
          seen++
          const of = partitions.get(String(key)) ?? new Set()
          partitions.set(String(key), of.add(partition))
        }
      })
      await until(() => expect(seen).toBe(40))
      expect([...partitions.values()].map(set => set.size)).toEqual(keys.map(() => 1))
      expect(new Set([...partitions.values()].flatMap(set => [...set])).size).toBe(2)
    })

    test('records deleted before they were read are reported, and reading continues with the window kept', async () => {
      const { commands, groupId, listener, membership } = await setUp(['a', 'b', 'c', 'd', 'e', 'f'])
      const session = listener.session()
      for (const key of ['b', 'e']) session.settle(listener.offsetOf(key), [])
      await session.committed()
      await membership.leave()
      await harness.deleteRecords(commands, 0, listener.offsetOf('d'))
      const cuts: [unsent: number, perhapsSent: number][] = []
      const again = await join(groupId, commands, 1, 0, telemetry =>
        telemetry.on('log.cut', ({ unsent, perhapsSent }) => cuts.push([unsent, perhapsSent])),
      )
      await until(() => expect(again.listener.freshKeys).toEqual(['d', 'f']))
      expect(cuts).toEqual([[2, 0]])
      again.listener.session().settle(listener.offsetOf('d'), [])
      await again.listener.session().committed()
      await again.membership.leave()
      const third = await join(groupId, commands)
      await until(() => expect(third.listener.freshKeys).toEqual(['f']))
    })

    test('an added partition is read from its beginning', async () => {
      const { commands, listener, process } = await setUp(['a'])
      await harness.addPartitions(commands, 2)
      await until(() => publishAll(process.bus, [buildRecord(commands, 'new', { partition: 1 })]))
      await until(() => expect(listener.freshKeys).toContain('new'))
      expect(listener.sessions.size).toBe(2)
    })

    recordLimitsContract(() => harness)
    followerContract(() => harness)
    groupReadingContract(() => harness)
    searchContract(() => harness)

    test('firstTimes returns the timestamp of the first record of each partition, and null where there is none', async () => {
      const topic = await harness.topic('first-times', 3)
      const { bus } = await harness.process(newGroup())
      const begun = Date.now()
      await publishAll(bus, [buildRecord(topic, 'a', { partition: 2 })])
      await publishAll(bus, [buildRecord(topic, 'b', { partition: 2 })])
      const times = () => bus.firstTimes([0, 2].map(partition => ({ topic, partition })))
      await until(async () => expect(await times()).toEqual([null, expect.any(Number)]))
      const [, first] = await times()
      expect(first).toBeGreaterThanOrEqual(begun)
      await publishAll(bus, [buildRecord(topic, 'c', { partition: 2 })])
      expect(await times()).toEqual([null, first])
    })

    test('lookAt returns the id and the number of partitions of a topic, and null if there is none', async () => {
      const topic = await harness.topic('looked-at', 2)
      const { bus } = await harness.process(newGroup())
      const look = await bus.lookAt(topic)
      expect(look).toEqual({ id: expect.any(String), partitions: 2, leaderless: [] })
      await harness.addPartitions(topic, 3)
      await until(async () => expect(await bus.lookAt(topic)).toEqual({ ...look, partitions: 3 }))
      expect(await bus.lookAt(`${topic}-gone`)).toBeNull()
    })
  })
}
