import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { Account } from '../../../src/accounts/account.ts'
import type { Session } from '../../../src/bus/port.ts'
import type { Controls } from '../../../src/control/controls.ts'
import type { Pending } from '../../../src/worker/pending.ts'
import { DeferredCommands } from '../../../src/worker/queues/deferred-commands.ts'
import { Lane } from '../../../src/worker/queues/lane.ts'
import { ManualClock } from '../../support/clock.ts'

const minute = 60_000
const capacity = { records: 100, bytes: 10_000 }
const accounts = new Map(['shop', 'bank'].map(name => [name, { name } as Account]))
const range = (from: number, to: number) => Array.from({ length: to - from }, (_, i) => from + i)

interface Made {
  account?: string
  deadline?: number | null
  bytes?: number
}

/** A partition with the lane of its commands. Those of the account `paused` are held by a pause. */
function open(maxAgeMs = Number.POSITIVE_INFINITY) {
  const clock = new ManualClock()
  const began = clock.now()
  const shelved: number[] = []
  const recalled: number[][] = []
  const session = {
    ...{ topic: 'bulk', partition: 0, open: true, full: false, recalling: false, capacity, room: { ...capacity } },
    shelve: (offsets: readonly number[]) => void shelved.push(...offsets),
    recall(offsets: readonly number[]) {
      session.recalling = true
      recalled.push([...offsets])
    },
  }
  const stopping = ({ account }: { account: string }) => (account === 'paused' ? 'campaign/spring' : null)
  const lane = new Lane(new Map(), { stopping } as unknown as Controls)
  const deferred = new DeferredCommands(session as unknown as Session, lane, {
    ...{ accounts, maxOperations: 10, maxAgeMs, clock },
  })
  const build = (offset: number, { account = 'shop', deadline = null, bytes = 10 }: Made = {}) =>
    ({
      ...{ session, topic: 'bulk', offset, since: began + offset, heldBytes: bytes, over: false },
      command: { account, deadline, type: 'sms', tenant: null, bytes },
    }) as unknown as Pending
  /** Reads commands, of which those stay in memory that follow no deferred one. @returns their offsets */
  const read = (offsets: readonly number[], made?: Made): number[] => {
    const kept = deferred.takeIn(offsets.map(offset => build(offset, made)))
    for (const pending of kept) lane.push(pending)
    return kept.map(({ offset }) => offset)
  }
  return {
    ...{ clock, began, session, lane, deferred, shelved, recalled, read },
    /** Number of commands of a queue in memory. */
    held: (name = 'shop') => lane.of(name)?.on(session as unknown as Session).records ?? 0,
    /** Takes the oldest ones of a queue. @returns their offsets */
    send(most: number, name = 'shop'): number[] {
      const sent: number[] = []
      lane.of(name)?.takeOut(({ offset }) => sent.length < most && sent.push(offset) > 0)
      return sent
    },
    /** Reads commands of an account that may not send, until memory is full. @returns milliseconds until the next balance */
    fill(count: number, made?: Made) {
      read(range(0, count), made)
      session.full = true
      const wait = deferred.balance(new Set(['shop']))
      session.full = false
      return wait
    },
  }
}

describe('when the memory of a partition is full', () => {
  test('the younger commands of an account that may not send are deferred, all but a quarter of the memory', () => {
    const { fill, read, held, shelved, deferred } = open()
    expect(deferred.isEmpty).toBe(true)
    expect([fill(60), shelved, held()]).toEqual([1_000, range(25, 60), 25])
    expect([deferred.isEmpty, deferred.has('shop'), deferred.count('shop')]).toEqual([false, true, 35])
    expect([deferred.has('bank'), deferred.count('bank')]).toEqual([false, 0])
    // what follows them is deferred at once; what others send, and what is older, is not
    expect([read([60, 61]), read([62], { account: 'bank' }), read([59])]).toEqual([[], [62], [59]])
    expect([shelved.slice(-2), deferred.count('shop')]).toEqual([[60, 61], 37])
  })

  test('the accounts and pauses that may not send share that quarter', () => {
    const { read, held, session, deferred } = open()
    read(range(0, 40))
    read(range(40, 80), { account: 'bank' })
    read(range(80, 120), { account: 'paused' })
    session.full = true
    deferred.balance(new Set(['shop', 'campaign/spring', 'nobody']))
    expect([held(), held('bank'), held('campaign/spring')]).toEqual([12, 40, 12])
    deferred.balance(new Set(['shop']))
    expect([held(), held('campaign/spring')]).toEqual([12, 12])
  })

  test('long commands take the room of many', () => {
    const { fill, held, deferred, send, recalled } = open()
    fill(60, { bytes: 500 })
    expect([held(), deferred.count('shop')]).toEqual([5, 55])
    send(2)
    deferred.balance(new Set(['shop']))
    expect(recalled).toEqual([])
    send(1)
    deferred.balance(new Set(['shop']))
    expect(recalled).toEqual([[5, 6, 7]])
  })

  test.each([
    { bank: 0, held: 25, why: 'one without commands leaves its part to others' },
    { bank: 1, held: 12, why: 'one with a single command has its part' },
  ])('of two accounts that may not send, $why', ({ bank, held: kept }) => {
    const { read, send, session, deferred, held } = open()
    read([0, 1], { account: 'bank' })
    send(2 - bank, 'bank')
    read(range(2, 62))
    session.full = true
    deferred.balance(new Set(['shop', 'bank']))
    expect(held()).toBe(kept)
  })

  test('an account that has deferred commands keeps its part when it may send again', () => {
    const { fill, read, session, deferred, held } = open()
    fill(60)
    read(range(60, 120), { account: 'bank' })
    session.full = true
    deferred.balance(new Set(['bank']))
    expect(held('bank')).toBe(12)
  })

  test('commands that were read again are deferred again before the younger ones', () => {
    const { fill, send, read, session, deferred, recalled, began, clock } = open()
    fill(60)
    send(13)
    deferred.balance(new Set(['shop']))
    session.recalling = false
    expect(read(range(25, 38))).toEqual(range(25, 38))
    read(range(60, 70), { account: 'paused' })
    session.full = true
    deferred.balance(new Set(['shop', 'campaign/spring']))
    expect(deferred.oldestTimestamp).toBe(began + 25)
    send(12)
    session.full = false
    return clock.pass(50).then(() => {
      deferred.balance(new Set(['shop']))
      expect(recalled.at(-1)!.slice(0, 3)).toEqual([25, 26, 27])
    })
  })

  test.each([
    ['all accounts may send', { full: true }, []],
    ['there is room', { full: false }, ['shop']],
    ['the partition is not open', { full: true, open: false }, ['shop']],
  ])('nothing is deferred if %s', (_, state, held) => {
    const { read, session, deferred, shelved } = open()
    read(range(0, 60))
    Object.assign(session, state)
    expect([deferred.balance(new Set(held)), shelved]).toEqual([Number.POSITIVE_INFINITY, []])
  })
})

describe('deferred commands are read again, the oldest first,', () => {
  test('when half of what their account may keep was sent', () => {
    const { fill, send, deferred, recalled, session } = open()
    fill(60)
    for (const held of [['shop'], []]) {
      deferred.balance(new Set(held))
      expect(recalled).toEqual([])
    }
    send(12)
    deferred.balance(new Set(['shop']))
    expect(recalled).toEqual([])
    send(1)
    expect(deferred.balance(new Set(['shop']))).toBe(Number.POSITIVE_INFINITY)
    expect([recalled, deferred.count('shop'), session.recalling]).toEqual([[range(25, 38)], 22, true])
  })

  test('and the last one of them, too', async () => {
    const { fill, send, deferred, recalled, session, clock, read } = open()
    fill(51)
    send(25)
    deferred.balance(new Set())
    expect([recalled, deferred.count('shop')]).toEqual([[range(25, 50)], 1])
    expect([read([51]), deferred.count('shop')]).toEqual([[], 2])
    deferred.forgetBefore(51)
    expect(deferred.count('shop')).toBe(1)
    session.recalling = false
    await clock.pass(50)
    deferred.balance(new Set())
    expect([recalled.at(-1), deferred.isEmpty]).toEqual([[51], true])
  })

  test.each([
    { room: 100, held: [], count: 20, why: 'two envelopes, if their account may send' },
    { room: 40, held: [], count: 10, why: 'a quarter of the free room' },
    { room: 100, held: ['shop'], count: 8, why: 'its part of the memory, if it may not' },
  ])('$count where several accounts have some: $why', ({ room, held, count }) => {
    const { read, send, session, deferred, recalled } = open()
    read(range(0, 50))
    read(range(50, 100), { account: 'bank' })
    read(range(100, 150), { account: 'paused' })
    session.full = true
    deferred.balance(new Set(['shop', 'bank', 'campaign/spring']))
    session.full = false
    session.room = { ...capacity, records: room }
    send(50)
    deferred.balance(new Set([...held, 'bank', 'campaign/spring']))
    expect(recalled).toEqual([range(8, 8 + count)])
  })

  test('and stay in memory then', () => {
    const { fill, send, read, deferred, recalled } = open()
    fill(60)
    send(25)
    deferred.balance(new Set())
    expect([recalled, read(range(25, 50))]).toEqual([[range(25, 50)], range(25, 50)])
  })

  test('at most every 50 ms, and not before the last ones came', async () => {
    const { fill, send, deferred, recalled, session, clock } = open()
    fill(90)
    send(25)
    const balance = () => deferred.balance(new Set())
    expect([balance(), balance(), recalled.length]).toEqual([Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY, 1])
    session.recalling = false
    expect(balance()).toBe(50)
    await clock.pass(20)
    expect([balance(), recalled.length]).toEqual([30, 1])
    await clock.pass(29)
    expect([balance(), recalled.length]).toEqual([1, 1])
    await clock.pass(1)
    expect([balance(), recalled.length]).toEqual([Number.POSITIVE_INFINITY, 2])
    await clock.pass(1_000)
    expect([balance(), recalled.length]).toEqual([Number.POSITIVE_INFINITY, 2])
  })

  test.each([
    { room: { records: 20, bytes: 10_000 }, count: 10, why: 'half of the free room' },
    { room: { records: 1, bytes: 10_000 }, count: 1, why: 'one, where there is no room for two' },
    { room: { records: 100, bytes: 200 }, count: 5, why: 'as many bytes as a quarter of the room has' },
    { room: { records: 100, bytes: 1 }, count: 1, why: 'one of any size' },
  ])('at most $count: $why', ({ room, count }) => {
    const { fill, send, deferred, recalled, session } = open()
    fill(60)
    send(25)
    session.room = room
    deferred.balance(new Set())
    expect(recalled).toEqual([range(25, 25 + count)])
  })

  test('for each account in turn, so that none takes all the room', async () => {
    const { read, send, session, deferred, recalled, clock } = open()
    read(range(0, 50))
    read(range(50, 100), { account: 'bank' })
    session.full = true
    deferred.balance(new Set(['shop', 'bank']))
    session.full = false
    for (const name of ['shop', 'bank']) send(50, name)
    session.room = { records: 8, bytes: 10_000 }
    const owners: boolean[] = []
    for (let i = 0; i < 4; i++) {
      session.recalling = false
      deferred.balance(new Set())
      await clock.pass(50)
      owners.push(recalled.at(-1)!.every(offset => offset < 50))
    }
    expect([owners, recalled.map(({ length }) => length)]).toEqual([
      [true, false, true, false],
      [4, 4, 4, 4],
    ])
  })

  test('when they have expired, though their account may not send', async () => {
    const { read, session, deferred, recalled, clock, began } = open(2 * minute)
    read(range(0, 30), { deadline: began + minute })
    read(range(30, 60))
    session.full = true
    deferred.balance(new Set(['shop']))
    session.full = false
    await clock.pass(minute)
    deferred.balance(new Set(['shop']))
    expect(recalled).toEqual([])
    await clock.pass(5_000)
    deferred.balance(new Set(['shop']))
    expect([recalled, deferred.count('shop')]).toEqual([[range(25, 30)], 30])
    session.recalling = false
    await clock.pass(minute)
    deferred.balance(new Set(['shop']))
    expect([recalled, deferred.count('shop')]).toEqual([[range(25, 30), range(30, 60)], 0])
  })
})

test('commands that the log lost are deferred no more', () => {
  const { fill, deferred } = open()
  fill(60)
  deferred.forgetBefore(40)
  expect(deferred.count('shop')).toBe(20)
  deferred.forgetBefore(60)
  expect([deferred.isEmpty, deferred.has('shop')]).toEqual([true, false])
  expect(deferred.balance(new Set(['shop']))).toBe(Number.POSITIVE_INFINITY)
})

test('the oldest deferred command is told, except that of a pause', () => {
  const { read, session, deferred, began } = open()
  expect(deferred.oldestTimestamp).toBe(Number.POSITIVE_INFINITY)
  read(range(0, 40), { account: 'paused' })
  session.full = true
  deferred.balance(new Set(['campaign/spring']))
  expect([deferred.isEmpty, deferred.oldestTimestamp]).toEqual([false, Number.POSITIVE_INFINITY])
  read(range(40, 80))
  deferred.balance(new Set(['shop', 'campaign/spring']))
  expect(deferred.oldestTimestamp).toBe(began + 52)
})

const step = fc.oneof(
  { weight: 4, arbitrary: fc.record({ read: fc.constantFrom('shop', 'bank', 'paused'), count: fc.nat(40) }) },
  { weight: 4, arbitrary: fc.record({ held: fc.subarray(['shop', 'bank']), full: fc.boolean(), room: fc.nat(100) }) },
  { weight: 3, arbitrary: fc.record({ send: fc.constantFrom('shop', 'bank'), most: fc.nat(40) }) },
  { weight: 3, arbitrary: fc.record({ passes: fc.constantFrom(10, 50) }) },
)

test('each command is in memory, or deferred, or read again, until it is sent', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 40 }), async steps => {
      const { read, send, session, deferred, lane, shelved, recalled, clock } = open()
      const owner: string[] = []
      const waiting = new Set<number>()
      const check = () => {
        const away = recalled.flat()
        const out = Map.groupBy([...shelved], offset => offset)
        for (const offset of away) out.get(offset)!.pop()
        const there = [...out.values()].flat()
        for (const name of ['shop', 'bank', 'paused']) {
          const queue = name === 'paused' ? 'campaign/spring' : name
          expect(deferred.count(queue)).toBe(there.filter(offset => owner[offset] === name).length)
        }
        const inMemory = lane.all.reduce((sum, [, queue]) => sum + queue.waiting, 0)
        const coming = session.recalling ? recalled.at(-1)!.length : 0
        expect(inMemory + there.length + coming).toBe(waiting.size)
        expect(deferred.isEmpty).toBe(there.length === 0)
      }
      const deliver = () => {
        if (!session.recalling) return
        session.recalling = false
        for (const offset of recalled.at(-1)!) read([offset], { account: owner[offset]! })
      }
      for (const step of steps) {
        if ('read' in step)
          for (let i = 0; i < step.count; i++) {
            const offset = owner.push(step.read) - 1
            waiting.add(offset)
            read([offset], { account: step.read })
          }
        else if ('held' in step) {
          session.full = step.full
          session.room = { ...capacity, records: step.room }
          deferred.balance(new Set([...step.held, 'campaign/spring']))
        } else if ('send' in step) for (const offset of send(step.most, step.send)) waiting.delete(offset)
        else {
          await clock.pass(step.passes)
          deliver()
        }
        check()
      }
      session.full = false
      session.room = capacity
      for (let rounds = 0; waiting.size > 0 && rounds < 500; rounds++) {
        deferred.balance(new Set())
        await clock.pass(50)
        deliver()
        for (const name of ['shop', 'bank', 'campaign/spring'])
          for (const offset of send(1_000, name)) expect(waiting.delete(offset)).toBe(true)
      }
      expect([waiting.size, deferred.isEmpty]).toEqual([0, true])
    }),
    { numRuns: 40 },
  )
})
