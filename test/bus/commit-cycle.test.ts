import { expect, test } from 'vitest'
import { longestPaceMs, type Part } from '../../src/bus/driver.ts'
import { CommitCycle, type Participant } from '../../src/bus/transactions/commit-cycle.ts'
import { anHour, ManualClock } from '../support/clock.ts'

/** A cycle whose transactions take some time; it notes when each begins, and for whom. */
function setUp(takesMs = 0) {
  const clock = new ManualClock(anHour)
  const begun: [at: number, partitions: number[]][] = []
  const failures: string[] = []
  const done: [partition: number, offset: number][] = []
  const ending = { takesMs, error: null as Error | null }
  const cycle = new CommitCycle({
    clock,
    async transact(parts) {
      begun.push([clock.elapsed, parts.map(({ partition }) => partition)])
      if (ending.takesMs > 0) await new Promise<void>(resolve => void clock.after(ending.takesMs, resolve))
      if (ending.error) throw ending.error
    },
    failed: error => failures.push(error.message),
  })
  let offset = 0
  const participant = (partition: number): Participant => ({
    form: () => ({ partition, offset: offset++ }) as Part,
    done: part => void done.push([partition, part.offset]),
  })
  const [a, b] = [participant(0), participant(1)]
  return { clock, begun, failures, done, ending, cycle, a, b }
}

test('intents are committed at once, with the results of others that wait for them', async () => {
  const { clock, begun, done, cycle, a, b } = setUp()
  cycle.request(a, false)
  await clock.pass(10)
  cycle.request(b, true)
  await clock.pass(0)
  expect([begun, done]).toEqual([
    [[10, [0, 1]]],
    [
      [0, 0],
      [1, 1],
    ],
  ])
  await clock.pass(1_000)
  expect([begun.length, clock.pending]).toEqual([1, 0])
})

test('results wait for intents a little longer than the longest pause between fetches, each time anew', async () => {
  const { clock, begun, cycle, a, b } = setUp()
  const waitMs = longestPaceMs + 6
  cycle.request(a, false)
  await clock.pass(10)
  cycle.request(b, false)
  await clock.pass(990)
  cycle.request(a, false)
  await clock.pass(1_000)
  expect(begun).toEqual([
    [waitMs, [0, 1]],
    [1_000 + waitMs, [0]],
  ])
})

test.each([
  [0, 20],
  [10, 20],
  [30, 33],
])(
  'a commit that takes %d ms is followed by the next after %d ms, with all that was asked for meanwhile',
  async (takesMs, nextAt) => {
    const { clock, begun, cycle, a, b } = setUp(takesMs)
    cycle.request(a, true)
    await clock.pass(0)
    cycle.request(a, true)
    cycle.request(b, true)
    await clock.pass(100)
    expect(begun).toEqual([
      [0, [0]],
      [nextAt, [0, 1]],
    ])
  },
)

test('nothing is committed while the cycle is held', async () => {
  const { clock, begun, cycle, a, b } = setUp()
  cycle.request(a, true)
  cycle.hold()
  cycle.request(b, true)
  await clock.pass(100)
  expect([begun, clock.pending]).toEqual([[], 0])
  cycle.go()
  await clock.pass(0)
  expect(begun).toEqual([[100, [0, 1]]])
  cycle.hold()
  cycle.go()
  await clock.pass(100)
  expect(begun).toHaveLength(1)
})

test('nothing is committed for a session that has ended', async () => {
  const { clock, begun, cycle, a, b } = setUp()
  cycle.request(a, true)
  cycle.remove(a)
  await clock.pass(100)
  expect(begun).toEqual([])
  cycle.request(a, false)
  cycle.request(b, true)
  cycle.remove(a)
  await clock.pass(0)
  expect(begun).toEqual([[100, [1]]])
})

test('a commit that fails is told once, is done for nobody, and is followed by others', async () => {
  const { clock, begun, failures, done, ending, cycle, a, b } = setUp()
  ending.error = new Error('fenced')
  for (const one of [a, b]) cycle.request(one, true)
  await clock.pass(0)
  expect([failures, done]).toEqual([['fenced'], []])
  ending.error = null
  cycle.request(a, true)
  await clock.pass(100)
  expect([begun.length, failures.length, done]).toEqual([2, 1, [[0, 2]]])
})
