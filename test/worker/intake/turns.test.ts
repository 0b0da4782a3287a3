import { describe, expect, test } from 'vitest'
import { TurnQueue, Turns } from '../../../src/worker/intake/turns.ts'
import { ManualClock } from '../../support/clock.ts'

const itemsFrom = (first: number, count: number) => Array.from({ length: count }, (_, i) => first + i)

/** A clock by which each record takes some time, and whose timers fire in the next turn of the event loop. */
class WorkingClock extends ManualClock {
  #worked = 0
  #due: (() => void)[] = []

  override monotonic(): number {
    return this.#worked
  }

  override after(_ms: number, callback: () => void): () => void {
    this.#due.push(callback)
    return () => {}
  }

  work(ms: number): void {
    this.#worked += ms
  }

  turn(): void {
    for (const callback of this.#due.splice(0)) callback()
  }
}

/** Queues of sessions whose records take some milliseconds each. `turn` ends a turn of the event loop. */
function startQueues(count: number, msPerRecord = 0.1) {
  const clock = new WorkingClock()
  const turns = new Turns(clock)
  const handled: { session: number; item: number }[] = []
  const sessions = itemsFrom(0, count).map(session => {
    const own = { alive: true }
    const run = (work: () => void) => own.alive && work()
    const queue = new TurnQueue<number>({ run }, turns, items => {
      for (const item of items) handled.push({ session, item })
      clock.work(items.length * msPerRecord)
    })
    return { queue, own }
  })
  return {
    ...{ clock, handled, sessions },
    of: (session: number) => handled.filter(one => one.session === session).map(({ item }) => item),
    /** Ends a turn of the event loop. @returns milliseconds that the next one takes */
    turn(): number {
      const before = clock.monotonic()
      clock.turn()
      return clock.monotonic() - before
    },
  }
}

describe('records that are handed over at once', () => {
  test.each([1, 16])(
    'by %i partitions take no turn of the event loop longer than some 50 ms, whatever their number',
    count => {
      const { sessions, of, turn, handled } = startQueues(count)
      for (const { queue } of sessions) queue.add(itemsFrom(0, 4_000))
      expect(handled.length).toBeLessThan(500)
      while (handled.length < count * 4_000) expect(turn()).toBeLessThan(50)
      for (const session of itemsFrom(0, count)) expect(of(session)).toEqual(itemsFrom(0, 4_000))
    },
  )

  test('do not overtake those that wait', () => {
    const { sessions, of, turn } = startQueues(1)
    sessions[0]!.queue.add(itemsFrom(0, 1_000))
    sessions[0]!.queue.add([1_000])
    while (turn() > 0);
    expect(of(0)).toEqual(itemsFrom(0, 1_001))
  })

  test('do not delay a few of another partition', () => {
    const { sessions, of } = startQueues(2)
    sessions[0]!.queue.add(itemsFrom(0, 4_000))
    sessions[1]!.queue.add([7])
    expect(of(1)).toEqual([7])
  })

  test('by several partitions are handled in turn', () => {
    const { sessions, of, turn } = startQueues(3)
    for (const { queue } of sessions) queue.add(itemsFrom(0, 4_000))
    for (let i = 0; i < 6; i++) turn()
    const counts = sessions.map((_, session) => of(session).length)
    expect(Math.max(...counts) - Math.min(...counts)).toBeLessThanOrEqual(512)
  })

  test('are dropped when their session has ended', () => {
    const { sessions, of, turn } = startQueues(1)
    sessions[0]!.queue.add(itemsFrom(0, 1_000))
    const before = of(0).length
    sessions[0]!.own.alive = false
    while (turn() > 0);
    expect(of(0)).toHaveLength(before)
  })
})
