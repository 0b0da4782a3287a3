import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { Session } from '../../../src/bus/port.ts'
import type { Pending } from '../../../src/worker/pending.ts'
import { PartitionQueues } from '../../../src/worker/queues/partition-queues.ts'

const buildPartition = () => ({ open: true }) as { open: boolean } & Session

let made = 0
const buildPending = (session: Session, bytes = 10) =>
  ({ session, command: { bytes }, heldBytes: 3 * bytes, offset: made++ }) as unknown as Pending

const sum = (numbers: readonly number[]) => numbers.reduce((total, one) => total + one, 0)
const offsetsOf = (pendings: readonly Pending[]) => pendings.map(({ offset }) => offset)
const any = { partition: fc.nat(2) }

const step = fc.oneof(
  { weight: 6, arbitrary: fc.record({ push: fc.array(fc.nat(40), { minLength: 1, maxLength: 4 }), ...any }) },
  {
    weight: 6,
    arbitrary: fc.record({
      most: fc.integer({ min: 1, max: 6 }),
      room: fc.nat(150),
      drops: fc.nat(3),
      back: fc.boolean(),
    }),
  },
  { weight: 2, arbitrary: fc.record({ close: fc.constant(true), ...any }) },
  { weight: 3, arbitrary: fc.record({ resume: fc.constant(true), ...any }) },
  { weight: 1, arbitrary: fc.record({ remove: fc.constant(true), ...any }) },
  { weight: 2, arbitrary: fc.record({ records: fc.nat(4), bytes: fc.nat(200), ...any }) },
  { weight: 1, arbitrary: fc.record({ divisor: fc.integer({ min: 2, max: 4 }) }) },
)

test('the commands of each partition keep their order and are taken once, while it is open and there is room', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), steps => {
      const partitions = Array.from({ length: 3 }, buildPartition)
      const queues = new PartitionQueues()
      const waiting = new Map<Session, Pending[]>(partitions.map(one => [one, []]))
      /** Partitions whose commands may be taken. */
      const ready = new Set<Session>()
      const settle = () => {
        for (const one of ready) if (waiting.get(one)!.length === 0) ready.delete(one)
      }
      for (const step of steps) {
        const session = partitions['partition' in step ? step.partition : 0]!
        const own = waiting.get(session)!
        if ('push' in step)
          for (const bytes of step.push) {
            const pending = buildPending(session, bytes)
            queues.push(pending)
            if (own.push(pending) === 1) ready.add(session)
          }
        else if ('close' in step) session.open = false
        else if ('resume' in step) {
          session.open = true
          queues.resume(session)
          ready.add(session)
        } else if ('remove' in step) {
          queues.remove(session)
          own.splice(0)
        } else if ('records' in step) {
          let kept = 0
          const bytesOf = (count: number) => sum(own.slice(0, count).map(({ heldBytes }) => heldBytes))
          while (kept < Math.min(step.records, own.length) && (kept === 0 || bytesOf(kept + 1) <= step.bytes)) kept++
          expect(queues.cut(session, step)).toEqual(own.splice(kept))
        } else if ('divisor' in step) {
          const goes = ({ offset }: Pending) => offset % step.divisor === 0
          const out = [...waiting.values()].flatMap(all => all.filter(goes))
          expect(offsetsOf(queues.takeOut(goes)).toSorted()).toEqual(offsetsOf(out).toSorted())
          for (const [one, all] of waiting)
            waiting.set(
              one,
              all.filter(pending => !goes(pending)),
            )
        } else {
          const dropped: Pending[] = []
          const accepts = (pending: Pending) =>
            step.drops === 0 || pending.offset % 3 !== step.drops || !dropped.push(pending)
          const taken: Pending[] = []
          const left = queues.fill(taken, step.most, step.room, accepts)
          const used = sum(taken.map(({ command }) => command.bytes + 1))
          expect(left).toBe(step.room - used)
          expect(taken.length).toBeLessThanOrEqual(step.most)
          if (taken.length > 1) expect(left).toBeGreaterThanOrEqual(0)
          const gone = [...taken, ...dropped]
          expect(gone.every(one => one.session.open && ready.has(one.session))).toBe(true)
          for (const [one, all] of waiting) {
            const from = gone
              .filter(pending => pending.session === one)
              .toSorted((a, b) => all.indexOf(a) - all.indexOf(b))
            expect(from).toEqual(all.splice(0, from.length))
          }
          for (const one of ready) if (!one.open && taken.length === 0) ready.delete(one) // it loses its turn
          settle()
          const next = [...ready].filter(one => one.open).map(one => waiting.get(one)![0]!)
          // it ends full, or since the next command does not fit, or since there is none
          if (taken.length < step.most && next.length > 0)
            expect(next.some(({ command }) => taken.length > 0 && command.bytes + 1 > left)).toBe(true)
          if (step.back && taken.length > 0) {
            queues.putBack(taken)
            for (const one of taken.toReversed()) {
              waiting.get(one.session)!.unshift(one)
              ready.add(one.session)
            }
          }
        }
        settle()
        const all = [...waiting.values()]
        expect(queues.waiting).toBe(all.flat().length)
        expect(new Set(queues.firsts)).toEqual(new Set(all.flatMap(([first]) => first ?? [])))
        const takeable = [...ready].filter(one => one.open)
        const least = sum(takeable.map(one => waiting.get(one)!.length))
        expect(queues.length).toBeGreaterThanOrEqual(least)
        if (partitions.every(({ open }) => open))
          expect([queues.length, queues.nexts.length]).toEqual([least, ready.size])
        expect(queues.isEmpty).toBe(queues.length === 0)
        for (const [one, held] of waiting)
          expect([queues.on(one)?.length ?? 0, queues.on(one)?.bytes ?? 0]).toEqual([
            held.length,
            sum(held.map(({ heldBytes }) => heldBytes)),
          ])
      }
    }),
    { numRuns: 150 },
  )
})

test('partitions take turns, one envelope each, and one that fills up the rest of an envelope keeps its turn', () => {
  const [one, two, three] = Array.from({ length: 3 }, buildPartition) as [Session, Session, Session]
  const queues = new PartitionQueues()
  for (const [session, count] of [
    [one, 5],
    [two, 8],
    [three, 8],
  ] as const)
    for (let i = 0; i < count; i++) queues.push(buildPending(session))
  const name = ({ session }: Pending) => (session === one ? 'a' : session === two ? 'b' : 'c')
  const fill = () => {
    const taken: Pending[] = []
    queues.fill(taken, 4, 1_000, () => true)
    return taken
  }
  const text = (pendings: readonly Pending[]) => pendings.map(name).join('')
  expect([fill(), fill(), fill()].map(text)).toEqual(['aaaa', 'bbbb', 'cccc'])
  const mixed = fill()
  expect(text(mixed)).toBe('abbb')
  queues.putBack(mixed)
  expect(queues.nexts.map(name)).toEqual(['a', 'b', 'c'])
  expect([fill(), fill(), fill(), fill()].map(text)).toEqual(['abbb', 'bccc', 'c', ''])
  for (const session of [one, two]) queues.push(buildPending(session))
  queues.putBack([buildPending(two)])
  expect([queues.nexts.map(name), text(fill())]).toEqual([['b', 'a'], 'bba'])
  queues.putBack([])
  expect(queues.isEmpty).toBe(true)
})

test('a command that is too long for the rest of an envelope is the first of the next one, whatever its length', () => {
  const session = buildPartition()
  const queues = new PartitionQueues()
  for (const bytes of [60, 39, 40, 500, 1]) queues.push(buildPending(session, bytes))
  const lengths = Array.from({ length: 4 }, () => {
    const taken: Pending[] = []
    queues.fill(taken, 9, 101, () => true)
    return taken.map(({ command }) => command.bytes)
  })
  expect(lengths).toEqual([[60, 39], [40], [500], [1]])
})

test('a partition that is not open has no turn, though more of its commands come, until it resumes', () => {
  const session = buildPartition()
  const queues = new PartitionQueues()
  const fill = (accept: () => boolean) => {
    const taken: Pending[] = []
    queues.fill(taken, 9, 1_000, accept)
    return taken.length
  }
  for (let i = 0; i < 3; i++) queues.push(buildPending(session))
  session.open = false
  expect([fill(() => true), queues.isEmpty, queues.waiting]).toEqual([0, true, 3])
  queues.push(buildPending(session))
  expect([queues.isEmpty, queues.waiting]).toEqual([true, 4])
  session.open = true
  queues.resume(session)
  expect(queues.length).toBe(4)
  // what may not be sent any more is dropped
  expect([fill(() => false), queues.waiting]).toEqual([0, 0])
  queues.resume(session)
  expect(queues.isEmpty).toBe(true)
})

test('of commands that fill the memory exactly, all are kept', () => {
  const session = buildPartition()
  const queues = new PartitionQueues()
  for (let i = 0; i < 3; i++) queues.push(buildPending(session, 10))
  expect([90, 89, 60, 59, 1].map(bytes => queues.cut(session, { records: 9, bytes }).length)).toEqual([0, 1, 0, 1, 0])
})
