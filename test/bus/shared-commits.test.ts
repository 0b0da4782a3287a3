import { describe, expect, test } from 'vitest'
import { settled } from '../support/clock.ts'
import { buildGroup } from '../support/group.ts'
import { commitDueMs, result } from '../support/sessions.ts'

/** Opens sessions of three partitions with three commands each, and ends their first commit. */
async function openTogether() {
  const group = await buildGroup(3, { known: true })
  for (const log of group.logs) log.append(3)
  await group.assign(0, 1, 2)
  await group.acquire([0, 1, 2])
  for (const { partition } of group.tps) group.deliver(partition)
  /** Lets the commit that is due begin and end. */
  const commit = async (...ending: Parameters<typeof group.sharedCommits.end>) => {
    await group.clock.pass(commitDueMs)
    group.sharedCommits.end(...ending)
    await settled()
  }
  await commit()
  const sessionOf = (partition: number) => group.listener.session(partition)
  return { ...group, commit, sessionOf }
}

describe('a process that commits all its partitions together', () => {
  test('commits the progress of several in one transaction, and leaves out those without progress', async () => {
    const { sharedCommits, commit, sessionOf, logs } = await openTogether()
    const intended = [sessionOf(0).intend([1]), sessionOf(2).intend([0, 1])]
    sessionOf(2).settle(2, result(2))
    await commit()
    expect(sharedCommits.began.at(-1)).toEqual([0, 2])
    expect(await Promise.all(intended)).toEqual([true, true])
    expect(logs.map(({ published }) => published.length)).toEqual([0, 0, 1])
  })

  test('begins no commit before the last one ended', async () => {
    const { sharedCommits, sessionOf, clock } = await openTogether()
    const before = sharedCommits.began.length
    sessionOf(0).settle(0, [])
    await clock.pass(commitDueMs)
    sessionOf(1).settle(0, [])
    await clock.pass(1_000)
    expect(sharedCommits.began.slice(before)).toEqual([[0]])
    sharedCommits.end()
    await settled()
    await clock.pass(commitDueMs)
    expect(sharedCommits.began.slice(before)).toEqual([[0], [1]])
  })

  test('commits an intent at once, although another partition has a result meanwhile that could wait', async () => {
    const { sharedCommits, sessionOf, clock } = await openTogether()
    const before = sharedCommits.began.length
    void sessionOf(0).intend([1])
    sessionOf(1).settle(0, result(0))
    await clock.pass(20)
    expect(sharedCommits.began.slice(before)).toEqual([[0, 1]])
  })

  test('commits nothing of a partition that it has lost meanwhile', async () => {
    const { sharedCommits, sessionOf, ownership, clock, tps, logs } = await openTogether()
    const before = sharedCommits.began.length
    for (const partition of [0, 1]) sessionOf(partition).settle(0, result(0))
    ownership.gone(tps[0]!, new Error('there is no such topic'))
    await clock.pass(commitDueMs)
    sharedCommits.end()
    await settled()
    sessionOf(2).settle(0, result(0))
    ownership.gone(tps[2]!, new Error('there is no such topic'))
    await clock.pass(commitDueMs)
    expect(sharedCommits.began.slice(before)).toEqual([[1]])
    expect(logs.map(({ published }) => published.length)).toEqual([0, 1, 0])
  })

  test('waits 200 ms after a failed commit before it reopens them', async () => {
    const { sessionOf, commit, acquire, clock, listener, drivers } = await openTogether()
    sessionOf(0).settle(0, [])
    await commit('failed')
    const { length } = drivers[0]!
    await clock.pass(150)
    expect(drivers[0]).toHaveLength(length)
    await clock.pass(100)
    await acquire([0, 1, 2])
    expect(listener.sessions.size).toBe(3)
  })
})

describe('during a rebalance', () => {
  test('nothing is committed until its end; then everything that was settled meanwhile is', async () => {
    const { sharedCommits, sessionOf, ownership, clock, tps, commit, logs } = await openTogether()
    const before = sharedCommits.began.length
    await ownership.joining()
    sessionOf(1).settle(0, result(0))
    await clock.pass(5_000)
    expect(sharedCommits.began).toHaveLength(before)
    ownership.assigned(tps, true)
    await settled()
    await commit()
    expect(logs[1]!.published).toHaveLength(1)
  })

  test('what is in flight is waited for, for five seconds at most, and nothing else begins', async () => {
    const { sessionOf, ownership, commit, clock } = await openTogether()
    const intended = sessionOf(1).intend([0])
    await commit()
    await intended
    let isOver = false
    void ownership.joining().then(() => {
      isOver = true
    })
    expect([0, 1, 2].map(partition => sessionOf(partition).open)).toEqual([false, false, false])
    expect(await sessionOf(2).intend([0])).toBe(false)
    await clock.pass(4_900)
    expect(isOver).toBe(false)
    await clock.pass(110)
    expect(isOver).toBe(true)
  })

  test('a process that is no member any more commits nothing that was due when it joins again', async () => {
    const { sharedCommits, sessionOf, ownership, clock, lease, tps, commit, logs } = await openTogether()
    const before = sharedCommits.began.length
    lease.holds = false
    sessionOf(1).settle(0, result(0))
    await ownership.joining()
    await clock.pass(5_000)
    expect(sharedCommits.began).toHaveLength(before)
    lease.holds = true
    ownership.assigned(tps, true)
    await commit()
    expect(logs[1]!.published).toHaveLength(1)
  })

  test('a process that is told to leave commits what it has settled as long as it is a member', async () => {
    const { sessionOf, ownership, commit, logs, leaving, clock } = await openTogether()
    await ownership.joining()
    sessionOf(1).settle(0, result(0))
    const left = ownership.leave()
    await commit()
    expect(logs[1]!.published).toHaveLength(1)
    await clock.pass(10)
    leaving.end()
    await left
  })
})
