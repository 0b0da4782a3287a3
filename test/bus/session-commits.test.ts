import { describe, expect, test } from 'vitest'
import { CommitCycle } from '../../src/bus/transactions/commit-cycle.ts'
import { SessionCommits } from '../../src/bus/transactions/session-commits.ts'
import { buildRecord } from '../support/bus.ts'
import { anHour, ManualClock, settled } from '../support/clock.ts'

/** How long a commit that nobody waits for is delayed to collect more, in milliseconds. */
const delayMs = 70

/** The commits of a session. Each ends when the test calls `succeed`. */
function setUp() {
  const clock = new ManualClock(anHour)
  const running: { resolve: () => void }[] = []
  const commits: { at: number; keys: string[] }[] = []
  const cycle = new CommitCycle({
    clock,
    transact(parts) {
      expect(running).toHaveLength(0) // they never overlap
      commits.push({
        at: clock.elapsed,
        keys: parts.flatMap(({ records }) => records.map(({ key }) => String(key))),
      })
      const { promise, resolve } = Promise.withResolvers<void>()
      running.push({ resolve })
      return promise
    },
    failed: () => {},
  })
  const group = new SessionCommits(isUrgent => cycle.request(participant, isUrgent))
  const participant = {
    form: () => ({ topic: 'commands', partition: 0, records: group.begin().records, offset: 0, metadata: '' }),
    done: () => void group.end(),
  }
  const settle = (offset: number) => group.settle(offset, [buildRecord('results', String(offset))])
  /** Ends the running commit with success. */
  const succeed = async () => {
    running.shift()!.resolve()
    await settled()
  }
  return { clock, group, commits, settle, succeed }
}

describe('a commit', () => {
  test('begins at least 20 ms after the last one began, and at least 3 ms after it ended', async () => {
    const { clock, commits, group, succeed } = setUp()
    void group.intend([1])
    await clock.pass(0)
    await clock.pass(2)
    await succeed()
    void group.intend([2])
    await clock.pass(18)
    expect(commits.map(({ at }) => at)).toEqual([0, 20])
    await clock.pass(50) // a slow one
    await succeed()
    void group.intend([3])
    await clock.pass(3)
    expect(commits.map(({ at }) => at)).toEqual([0, 20, 73])
  })

  test('begins at once if somebody waits for it, and includes everything that was settled', async () => {
    const { clock, commits, group, settle, succeed } = setUp()
    settle(1)
    await clock.pass(delayMs - 1)
    expect(commits).toEqual([])
    void group.intend([2])
    await clock.pass(0)
    expect(commits).toEqual([{ at: delayMs - 1, keys: ['1'] }])
    await succeed()
    settle(3)
    await clock.pass(delayMs - 1)
    expect(commits).toHaveLength(1)
    await clock.pass(1)
    expect(commits[1]).toEqual({ at: 2 * delayMs - 1, keys: ['3'] })
  })

  test('is not made while the process is idle, and no timer runs', async () => {
    const { clock, commits, settle, succeed } = setUp()
    settle(1)
    await clock.pass(delayMs)
    await succeed()
    expect(clock.pending).toBe(0)
    await clock.pass(10_000)
    expect(commits).toHaveLength(1)
  })

  test('includes records that are the outcome of no offset', async () => {
    const { clock, group, commits } = setUp()
    group.add([buildRecord('results', 'a')])
    await clock.pass(delayMs)
    expect(commits).toEqual([{ at: delayMs, keys: ['a'] }])
  })

  test('is waited for by those whose changes it includes, and hurried by those that cannot go on before', async () => {
    const { clock, group, commits, settle, succeed } = setUp()
    const ended: string[] = []
    const wait = (name: string, isUrgent = false) => void group.next(isUrgent).then(() => ended.push(name))
    wait('nothing')
    await settled()
    expect([ended, group.busy]).toEqual([['nothing'], false])
    settle(1)
    wait('first, patiently')
    await clock.pass(delayMs - 1)
    expect(commits).toEqual([])
    wait('first')
    await clock.pass(delayMs)
    expect(commits.map(({ keys }) => keys)).toEqual([['1']])
    wait('first, as it runs', true)
    expect(group.busy).toBe(true)
    settle(2)
    wait('second', true)
    await succeed()
    expect(ended.splice(1).toSorted()).toEqual(['first', 'first, as it runs', 'first, patiently'])
    expect(group.busy).toBe(true)
    await clock.pass(20)
    await succeed()
    expect([ended, group.busy]).toEqual([['nothing', 'second'], false])
    expect(commits.map(({ keys }) => keys)).toEqual([['1'], ['2']])
  })

  test('is hurried by one that cannot go on before it', async () => {
    const { clock, group, commits, settle } = setUp()
    settle(1)
    void group.next(false)
    void group.next(true)
    await clock.pass(0)
    expect(commits).toEqual([{ at: 0, keys: ['1'] }])
  })

  test('of results that were reported during another one waits for more as usual', async () => {
    const { clock, commits, settle, succeed } = setUp()
    settle(1)
    await clock.pass(delayMs + 10)
    settle(2)
    await clock.pass(40)
    await succeed()
    await clock.pass(delayMs)
    expect(commits.map(({ at }) => at)).toEqual([delayMs, 2 * delayMs + 50])
  })

  test('confirms only the intents that are reported after others were taken back', async () => {
    const { group, clock, succeed } = setUp()
    const before = group.intend([1])
    expect(group.takeBack()).toEqual([1])
    const after = group.intend([2])
    await clock.pass(delayMs)
    await succeed()
    expect(await Promise.all([before, after])).toEqual([false, true])
  })

  test('is still waited for by others when intents are taken back', async () => {
    const { group, clock, settle, succeed } = setUp()
    const ended: string[] = []
    const wait = (name: string) => void group.next(true).then(() => ended.push(name))
    settle(1)
    void group.intend([2])
    wait('for its result')
    group.takeBack()
    await clock.pass(20)
    expect(ended).toEqual([])
    void group.intend([3])
    wait('for its intent')
    group.takeBack()
    settle(4)
    wait('for its next result')
    await settled()
    expect(ended).toEqual([])
    await succeed()
    expect(ended).toEqual(['for its result', 'for its intent'])
    await clock.pass(20)
    await succeed()
    expect(ended.at(-1)).toBe('for its next result')
  })

  test('let nobody wait for intents that were taken back', async () => {
    const { group, clock, settle, succeed, commits } = setUp()
    void group.intend([1])
    let isOver = false
    void group.next(true).then(() => {
      isOver = true
    })
    group.takeBack()
    await settled()
    expect(isOver).toBe(true)
    settle(2)
    await clock.pass(delayMs)
    await succeed()
    expect(commits.map(({ keys }) => keys).at(-1)).toEqual(['2'])
  })
})
