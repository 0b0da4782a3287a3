import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { Session } from '../../../src/bus/port.ts'
import type { Pending } from '../../../src/worker/pending.ts'
import { LaneQueue } from '../../../src/worker/queues/lane-queue.ts'

const lingerMs = 20
const bounds = { operations: 4, bytes: 200 }

interface Drawn {
  session: number
  tenant: string | null
  kind: 'batched' | 'alone' | 'suspects'
  bytes: number
}

const buildSessions = () => Array.from({ length: 3 }, () => ({ open: true }) as Session & { open: boolean })

/** A waiting command, with the fields that its queue reads. */
function buildPending(
  { session, tenant = null, kind = 'batched', bytes = 40 }: Partial<Omit<Drawn, 'session'>> & { session: Session },
  at = 0,
) {
  const refusal = kind === 'suspects' ? { at, counted: 1, tries: 1, error: '' } : undefined
  const command = { type: kind === 'alone' ? 'call/otp' : 'sms', tenant, bytes }
  return {
    ...{ command, session, heldBytes: 2 * bytes, since: at, readyAt: at, lingersSince: at, offset: at, doubted: false },
    ...(refusal && { refusal }),
  } as unknown as Pending
}

const kindOf = ({ command, refusal }: Pending) => {
  if (refusal) return 'suspects'
  return command.type === 'call/otp' ? 'alone' : 'batched'
}

const drawn = fc.record({
  session: fc.nat(2),
  tenant: fc.constantFrom(null, 'anna', 'ben'),
  kind: fc.constantFrom<Drawn['kind']>('batched', 'batched', 'batched', 'alone', 'suspects'),
  bytes: fc.integer({ min: 10, max: 120 }),
})

const step = fc.oneof(
  { weight: 6, arbitrary: fc.record({ push: fc.array(drawn, { minLength: 1, maxLength: 4 }) }) },
  {
    weight: 6,
    arbitrary: fc.record({
      pack: fc.constantFrom('first', 'later', 'halved', 'half', 'sent', 'sent'),
      isProbe: fc.boolean(),
    }),
  },
  { weight: 2, arbitrary: fc.record({ pass: fc.constantFrom(1, lingerMs, 100) }) },
  { weight: 1, arbitrary: fc.record({ hold: fc.nat(2) }) },
  { weight: 2, arbitrary: fc.record({ resume: fc.nat(2) }) },
  { weight: 1, arbitrary: fc.record({ remove: fc.nat(2) }) },
  { weight: 1, arbitrary: fc.record({ takeOut: fc.constantFrom(null, 'anna', 'ben') }) },
  { weight: 1, arbitrary: fc.record({ cut: fc.nat(2), records: fc.nat(6) }) },
)

describe('the queue of an account', () => {
  test('keeps every command until it is sent or taken out, and forms envelopes within their bounds', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 50 }), steps => {
        const sessions = buildSessions()
        const queue = new LaneQueue(new Map([['anna', 2]]))
        let now = 0
        /** What waits, and what of it goes by itself: the halves of refused envelopes, and what backs off. */
        const waiting = new Set<Pending>()
        let halves: Pending[][] = []
        const isHalf = (pending: Pending) => halves.some(half => half.includes(pending))
        const later = new Set<Pending>()
        const forget = (pendings: readonly Pending[]) => {
          for (const pending of pendings) {
            expect(waiting.delete(pending)).toBe(true)
            later.delete(pending)
          }
          halves = halves.map(half => half.filter(one => !pendings.includes(one))).filter(({ length }) => length > 0)
        }
        const pack = (isProbe: boolean): Pending[] => {
          const next = queue.next(isProbe)!
          const packed = queue.pack(bounds, () => true, isProbe)
          if (next.kind === 'halves') {
            const [half] = halves.splice(0, 1) as [Pending[]]
            if (half.length > bounds.operations) halves.unshift(half.slice(bounds.operations))
            expect(packed).toEqual(half.slice(0, bounds.operations).filter(({ session }) => session.open))
            return packed
          }
          const kinds = new Set(packed.map(kindOf))
          expect(packed.every(({ session }) => session.open)).toBe(true)
          expect([...kinds]).toEqual(packed.length > 0 ? [next.kind] : [])
          expect(packed.length).toBeLessThanOrEqual(kinds.has('alone') || kinds.has('suspects') ? 1 : bounds.operations)
          const bytes = packed.reduce((sum, { command }) => sum + command.bytes, packed.length - 1)
          if (packed.length > 1 && next.kind === 'batched') expect(bytes).toBeLessThanOrEqual(bounds.bytes)
          if (isProbe && next.kind === 'suspects') expect(others('batched', 'alone')).toEqual([])
          return packed
        }
        /** What may be in the next envelope of this kind. */
        const others = (...kinds: string[]) =>
          [...waiting].filter(one => kinds.includes(kindOf(one)) && one.session.open && !isHalf(one) && !later.has(one))
        for (const step of steps) {
          if ('push' in step) {
            for (const { session, ...one } of step.push) {
              const pending = buildPending({ ...one, session: sessions[session]! }, now++)
              queue.push(pending)
              waiting.add(pending)
            }
          } else if ('pass' in step) now += step.pass
          else if ('hold' in step) sessions[step.hold]!.open = false
          else if ('resume' in step) {
            sessions[step.resume]!.open = true
            queue.resume(sessions[step.resume]!)
          } else if ('remove' in step) {
            const session = sessions[step.remove]!
            queue.remove(session)
            forget([...waiting].filter(one => one.session === session))
          } else if ('takeOut' in step) {
            const out = queue.takeOut(({ command }) => command.tenant === step.takeOut)
            expect(new Set(out)).toEqual(new Set([...waiting].filter(({ command }) => command.tenant === step.takeOut)))
            forget(out)
          } else if ('cut' in step) {
            const session = sessions[step.cut]!
            const before = queue.on(session)
            const cut = queue.cut(session, { records: step.records, bytes: Number.POSITIVE_INFINITY })
            expect(cut.length).toBe(Math.max(0, before.records - step.records))
            expect(cut.every(one => one.session === session)).toBe(true)
            forget(cut)
          } else {
            const due = queue.due(now, lingerMs, bounds.operations)
            for (const one of later) if (one.readyAt <= now) later.delete(one)
            if (due > 0) continue
            const packed = pack(step.isProbe)
            if (packed.length === 0) continue
            if (step.pack === 'sent') forget(packed)
            else if (step.pack === 'first') queue.putBack(packed)
            else if (step.pack === 'later') {
              for (const [i, one] of packed.entries()) {
                one.readyAt = now + 30 + 10 * i
                later.add(one)
              }
              queue.putBackLater(packed)
            } else {
              const middle = Math.ceil(packed.length / 2)
              const two = [packed.slice(0, middle), packed.slice(middle)].filter(({ length }) => length > 0)
              if (step.pack === 'half') queue.putBackHalf(packed)
              else queue.putBackHalved(packed)
              halves = step.pack === 'half' ? [packed, ...halves] : [...halves, ...two]
            }
          }
          expect(queue.waiting).toBe(waiting.size)
          for (const session of sessions) {
            const own = [...waiting].filter(one => one.session === session && !isHalf(one) && !later.has(one))
            const deferrable = own.filter(one => kindOf(one) !== 'suspects')
            const bytes = deferrable.reduce((sum, { heldBytes }) => sum + heldBytes, 0)
            expect(queue.on(session)).toEqual({ records: deferrable.length, bytes })
          }
          expect(Number.isFinite(queue.oldestTimestamp)).toBe(waiting.size > 0)
        }
        // in the end everything goes, unless its partition is held
        now += 1_000
        for (const session of sessions) {
          session.open = true
          queue.resume(session)
        }
        while (queue.due(now, lingerMs, bounds.operations) === 0) forget(pack(false))
        expect([waiting.size, queue.waiting, queue.next()]).toEqual([0, 0, null])
      }),
      { numRuns: 150 },
    )
  })

  test('tells the time of the oldest command, wherever it waits', () => {
    for (const oldest of ['batched', 'alone', 'suspects', 'another tenant', 'another partition', 'half', 'backs off']) {
      const [one, other] = buildSessions() as [Session, Session]
      const queue = new LaneQueue()
      const session = oldest === 'another partition' ? other : one
      const tenant = oldest === 'another tenant' ? 'anna' : null
      for (let at = 100; at < 103; at++) queue.push(buildPending({ session: one }, at))
      const kind = oldest === 'alone' || oldest === 'suspects' ? oldest : 'batched'
      const first = buildPending({ session, tenant, kind }, 7)
      if (oldest === 'half') queue.putBackHalf([first])
      else if (oldest === 'backs off') queue.putBackLater([buildPending({ session }, 90), first])
      else if (oldest === 'batched') queue.putBack([first])
      else queue.push(first)
      expect(queue.oldestTimestamp, oldest).toBe(7)
    }
  })

  test('forms an envelope once it is full, or its first command has lingered, or another has backed off', () => {
    const [session] = buildSessions() as [Session]
    const queue = new LaneQueue()
    const dueAt = (now: number) => queue.due(now, lingerMs, 3)
    expect(dueAt(0)).toBe(Number.POSITIVE_INFINITY)
    queue.push(buildPending({ session }, 100))
    expect([dueAt(100), dueAt(119), dueAt(120), dueAt(500)]).toEqual([20, 1, 0, 0])
    for (const readyAt of [112, 105]) queue.putBackLater([{ ...buildPending({ session }, 200), readyAt } as Pending])
    expect([dueAt(100), dueAt(104)]).toEqual([5, 1])
    expect(queue.next()).toEqual({ kind: 'batched', length: 1 })
    expect(dueAt(105)).toBe(7)
    expect(queue.next()).toEqual({ kind: 'batched', length: 2 })
    expect(dueAt(112)).toBe(0)
    for (const kind of ['alone', 'suspects'] as const) {
      const urgent = new LaneQueue()
      urgent.push(buildPending({ session, kind }, 100))
      urgent.push(buildPending({ session, kind }, 100))
      expect([urgent.due(100, lingerMs, 3), urgent.next()]).toEqual([0, { kind, length: 1 }])
    }
  })

  test('sends the two halves of a refused envelope one by one, the larger first', () => {
    const [session] = buildSessions() as [Session]
    const queue = new LaneQueue()
    const five = Array.from({ length: 5 }, (_, at) => buildPending({ session }, at))
    queue.putBackHalved(five)
    const packed = [queue.next()?.length, queue.pack(bounds, () => true), queue.pack(bounds, () => true)]
    expect(packed).toEqual([3, five.slice(0, 3), five.slice(3)])
    queue.putBackHalved(five.slice(0, 1))
    expect([queue.next(), queue.pack(bounds, () => true), queue.next()]).toEqual([
      ...[{ kind: 'halves', length: 1 }, five.slice(0, 1), null],
    ])
    queue.putBackHalf(five)
    expect(queue.pack({ ...bounds, operations: 2 }, () => true)).toEqual(five.slice(0, 2))
    expect(queue.next()).toEqual({ kind: 'halves', length: 3 })
  })

  test('lets each kind go in its turn', () => {
    const [session] = buildSessions() as [Session]
    const queue = new LaneQueue()
    for (let at = 0; at < 20; at++)
      for (const kind of ['batched', 'alone', 'suspects'] as const) queue.push(buildPending({ session, kind }, at))
    for (let at = 0; at < 4; at++) queue.putBackHalf([buildPending({ session }, at)])
    const kinds = Array.from({ length: 8 }, () => {
      const { kind } = queue.next()!
      queue.pack(bounds, () => true)
      return kind
    })
    expect(kinds.slice(4)).toEqual(kinds.slice(0, 4))
    expect(new Set(kinds).size).toBe(4)
    expect(queue.next(true)?.kind).not.toBe('suspects')
  })
})
