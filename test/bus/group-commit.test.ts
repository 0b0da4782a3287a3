import { describe, expect, onTestFinished, test } from 'vitest'
import { CommitCycle } from '../../src/bus/session/commit-cycle.ts'
import { GroupCommit } from '../../src/bus/session/group-commit.ts'
import { buildRecord } from '../support/bus.ts'
import { ManualClock, settled } from '../support/clock.ts'

const interval = 20
/** What nobody waits for waits so long for company. */
const patience = 70

/** A group commit whose commits end when the test says so. */
function setUp() {
  const clock = new ManualClock()
  const running: { resolve: () => void; reject: (error: Error) => void }[] = []
  const commits: { at: number; keys: string[] }[] = []
  const applied: { settled: readonly number[]; intents: readonly number[] }[] = []
  const failures: Error[] = []
  const cycle = new CommitCycle({
    clock,
    interval: () => interval,
    transact(parts) {
      expect(running).toHaveLength(0) // they never overlap
      commits.push({
        at: clock.monotonic(),
        keys: parts.flatMap(({ records }) => records.map(({ key }) => String(key))),
      })
      const { promise, resolve, reject } = Promise.withResolvers<void>()
      running.push({ resolve, reject })
      return promise
    },
    failed(error) {
      failures.push(error)
      group.stop()
    },
  })
  const group = new GroupCommit({
    clock,
    cycle,
    form: records => ({ topic: 'commands', partition: 0, records, offset: 0, metadata: '' }),
    landed: () => {},
    committed: (settled, intents) => applied.push({ settled, intents }),
  })
  onTestFinished(() => group.stop())
  const settle = (offset: number) => group.settle(offset, [buildRecord('results', String(offset))])
  /** Lets the commit that runs succeed. */
  const succeed = async () => {
    running.shift()!.resolve()
    await settled()
  }
  const fail = async () => {
    running.shift()!.reject(new Error('the broker is gone'))
    await settled()
  }
  return { clock, group, commits, applied, failures, settle, succeed, fail }
}

/** Tells what a promise came to, or that it is still waiting. */
async function stateOf<T>(promise: Promise<T>): Promise<T | 'waiting'> {
  await settled()
  return Promise.race([promise, Promise.resolve('waiting' as const)])
}

describe('one commit a cycle', () => {
  test('carries everything that came until it began, and the next one the rest', async () => {
    const { clock, commits, applied, settle, group, succeed } = setUp()
    settle(1)
    settle(2)
    void group.intend([3, 4])
    await clock.pass(0)
    settle(5)
    await clock.pass(100)
    expect(commits).toEqual([{ at: 0, keys: ['1', '2'] }])
    await succeed()
    expect(applied).toEqual([{ settled: [1, 2], intents: [3, 4] }])
    await clock.pass(patience)
    await succeed()
    expect(commits[1]!.keys).toEqual(['5'])
    expect(applied[1]).toEqual({ settled: [5], intents: [] })
  })

  test('is a cycle apart from the last one, and a breath after its end', async () => {
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

  test('takes along what waits, as soon as somebody waits for it', async () => {
    const { clock, commits, group, settle, succeed } = setUp()
    settle(1)
    await clock.pass(patience - 1)
    expect(commits).toEqual([])
    void group.intend([2])
    await clock.pass(0)
    expect(commits).toEqual([{ at: patience - 1, keys: ['1'] }])
    await succeed()
    settle(3)
    await clock.pass(patience - 1)
    expect(commits).toHaveLength(1)
    await clock.pass(1)
    expect(commits[1]).toEqual({ at: 2 * patience - 1, keys: ['3'] })
  })

  test('at rest there is no timer and no commit', async () => {
    const { clock, commits, settle, succeed } = setUp()
    settle(1)
    await clock.pass(patience)
    await succeed()
    expect(clock.pending).toBe(0)
    await clock.pass(10_000)
    expect(commits).toHaveLength(1)
  })

  test('a change without records is committed too', async () => {
    const { clock, commits, group } = setUp()
    group.touch()
    await clock.pass(patience)
    expect(commits).toEqual([{ at: patience, keys: [] }])
  })
})

describe('an intent', () => {
  test('is decided after the commit that carries it, not before', async () => {
    const { clock, group, settle, succeed } = setUp()
    settle(1)
    await clock.pass(patience)
    const intent = group.intend([2])
    await succeed()
    expect(await stateOf(intent)).toBe('waiting')
    await clock.pass(interval)
    expect(await stateOf(intent)).toBe('waiting')
    await succeed()
    expect(await stateOf(intent)).toBe(true)
  })

  test('is made known before anyone who waits for it goes on', async () => {
    const { clock, group, applied, succeed } = setUp()
    const seen = group.intend([1]).then(() => [...applied])
    await clock.pass(0)
    await succeed()
    expect(await seen).toEqual([{ settled: [], intents: [1] }])
  })

  test('can be withdrawn until a commit has taken it up', async () => {
    const { clock, group, applied, succeed } = setUp()
    const taken = group.intend([1])
    await clock.pass(0)
    const [withdrawn, other] = [group.intend([2, 3]), group.intend([4])]
    expect(group.withdraw()).toEqual([2, 3, 4])
    expect(await Promise.all([stateOf(withdrawn), stateOf(other), stateOf(taken)])).toEqual([false, false, 'waiting'])
    await succeed()
    expect(await stateOf(taken)).toBe(true)
    await clock.pass(interval)
    expect(applied).toEqual([{ settled: [], intents: [1] }])
  })

  test('must not go on when its commit fails, nor any that waits behind it', async () => {
    const { clock, group, failures, applied, fail } = setUp()
    const first = group.intend([1])
    await clock.pass(0)
    const second = group.intend([2])
    await fail()
    expect(await Promise.all([first, second, group.intend([3])])).toEqual([false, false, false])
    expect(failures.map(({ message }) => message)).toEqual(['the broker is gone'])
    expect(applied).toEqual([])
  })

  test('must not go on when all is stopped while its commit runs, even if that succeeds', async () => {
    const { clock, group, applied, succeed } = setUp()
    const intent = group.intend([1])
    await clock.pass(0)
    group.stop()
    await succeed()
    expect(await intent).toBe(false)
    expect(applied).toEqual([])
  })
})

describe('whoever waits for the commit', () => {
  test('goes on after the one that holds what was said before', async () => {
    const { clock, group, settle, succeed } = setUp()
    settle(1)
    const first = group.next()
    await clock.pass(patience)
    const alsoFirst = group.next()
    settle(2)
    const second = group.next()
    await succeed()
    expect(await Promise.all([stateOf(first), stateOf(alsoFirst), stateOf(second)])).toEqual([
      undefined,
      undefined,
      'waiting',
    ])
    await clock.pass(patience)
    await succeed()
    expect(await stateOf(second)).toBe(undefined)
  })

  test('goes on at once when there is nothing to commit', async () => {
    expect(await stateOf(setUp().group.next())).toBe(undefined)
  })

  test('goes on when it fails, and when all is stopped', async () => {
    const failing = setUp()
    failing.settle(1)
    const first = failing.group.next()
    await failing.clock.pass(patience)
    await failing.fail()
    expect(await stateOf(first)).toBe(undefined)
    const stopped = setUp()
    stopped.settle(1)
    const second = stopped.group.next()
    stopped.group.stop()
    expect(await stateOf(second)).toBe(undefined)
    await stopped.clock.pass(100)
    expect(stopped.commits).toEqual([])
  })
})

describe('rest', () => {
  test('is when nothing runs, nothing waits, and the condition holds', async () => {
    const { clock, group, settle, succeed } = setUp()
    let busy = true
    settle(1)
    const idle = group.idle(() => !busy, 5_000)
    await clock.pass(0)
    settle(2)
    await succeed()
    await clock.pass(interval)
    await succeed()
    expect(await stateOf(idle)).toBe('waiting')
    busy = false
    group.touch()
    await clock.pass(interval)
    expect(await stateOf(idle)).toBe('waiting')
    await succeed()
    expect(await stateOf(idle)).toBe(undefined)
    expect(clock.pending).toBe(0)
  })

  test('is not before the commit that runs, and the one behind it', async () => {
    const { clock, group, settle, succeed } = setUp()
    settle(1)
    await clock.pass(patience)
    const idle = group.idle(() => true, 5_000)
    expect(await stateOf(idle)).toBe('waiting')
    settle(2)
    await succeed()
    expect(await stateOf(idle)).toBe('waiting')
    await clock.pass(interval)
    await succeed()
    expect(await stateOf(idle)).toBe(undefined)
  })

  test('is not waited for longer than was said', async () => {
    const { clock, group } = setUp()
    const idle = group.idle(() => false, 5_000)
    await clock.pass(4_999)
    expect(await stateOf(idle)).toBe('waiting')
    await clock.pass(1)
    expect(await stateOf(idle)).toBe(undefined)
  })

  test('is there at once when all is stopped', async () => {
    const { group } = setUp()
    const idle = group.idle(() => false, 5_000)
    group.stop()
    expect(await stateOf(idle)).toBe(undefined)
  })
})
