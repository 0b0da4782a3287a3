import { describe, expect, test } from 'vitest'
import { commandsFrom } from '../support/commands.ts'
import { buildPause, buildResume } from '../support/control.ts'
import { startSendingWorld } from '../support/sending.ts'

const once = { delivery: 'AT_MOST_ONCE' } as const

/**
 * A worker sends 1, then is killed while it sends 2 (at most once) and 3 (at least once). 4 and 5, of the same policies, wait.
 * The group's progress is reset to an offset before another worker takes over.
 */
async function resetAfterKill({
  offset = 0,
  ...options
}: Parameters<typeof startSendingWorld>[0] & { offset?: number } = {}) {
  const world = await startSendingWorld({
    takes: ({ ids }) => (ids.some(id => id === 2 || id === 3) ? Infinity : 0),
    settings: { gateway: { maxOperations: 1, timeoutMs: 10_000 }, doubts: { waitMs: 5_000, polls: 1 } },
    ...options,
  })
  const pauseOf = { kind: 'topic', name: 'bulk' } as const
  world.send(1)
  await world.pass(1_000)
  world.send(2, once)
  world.send(3)
  await world.pass(1_000)
  world.control(buildPause(pauseOf))
  await world.pass(1_000)
  world.send(4, once)
  world.send(5)
  await world.takeOver({
    meanwhile: () => {
      for (const topic of ['bulk', 'doubts']) world.broker.resetOffset('busgate', { topic, partition: 0 }, offset)
    },
  })
  world.control(buildResume(pauseOf))
  await world.pass(60_000)
  const finals = world.results().filter(({ final }) => final)
  const outcomeOf = (id: number) => finals.filter(one => one.id === BigInt(id)).map(({ outcome }) => outcome)
  return { world, outcomes: [1, 2, 3, 4, 5].map(outcomeOf), posts: [1, 2, 3, 4, 5].map(world.postsOf) }
}

describe('a group whose progress is reset after a worker was killed', () => {
  test('sends nothing again under AT_MOST_ONCE: what has no answer may have been in flight, and is in doubt', async () => {
    const { outcomes, posts, world } = await resetAfterKill({
      takes: ({ ids, at }) => (ids.some(id => id === 2 || id === 3) && at < 5_000 ? Infinity : 0),
    })
    expect(posts).toEqual([1, 1, 2, 0, 1])
    expect(outcomes).toEqual([['SENT'], ['UNRESOLVED'], ['SENT'], ['UNRESOLVED'], ['SENT']])
    expect(world.results().find(({ id, final }) => id === 2n && !final)?.error).toContain(
      'progress of the group was reset',
    )
  })

  test('sends nothing again that has a result, and tells of nothing twice, although the clock of its producer is an hour ahead', async () => {
    const hour = 3_600_000
    const world = await startSendingWorld()
    world.put('bulk', commandsFrom(1, 3), 0, world.clock.now() + hour)
    await world.pass(2 * hour, 60_000)
    await world.takeOver({
      meanwhile: () => world.broker.resetOffset('busgate', { topic: 'bulk', partition: 0 }, 0),
    })
    await world.pass(60_000, 1_000)
    expect([[1, 2, 3].map(world.postsOf), world.results().length]).toEqual([[1, 1, 1], 3])
  })

  test('resolves no doubt twice, whatever was deleted of the results', async () => {
    const world = await startSendingWorld({
      settings: { gateway: { timeoutMs: 10_000 }, doubts: { waitMs: 5_000, polls: 1, maxAttempts: 2 } },
      answer: ([operation]) =>
        operation?.type === 'status' ? null : { kind: 'lost', cause: 'timeout', message: 'lost' },
    })
    for (const id of [1, 2, 3]) world.send(id, id === 3 ? {} : once) // the third is sent again
    await world.pass(120_000, 500)
    const results = { topic: 'results', partition: 0 }
    const before = world.broker.end(results)
    expect(world.results().filter(({ final }) => final)).toHaveLength(3)
    const letters = world.deadLetters()
    for (const offset of [1, 0]) {
      await world.takeOver({
        meanwhile() {
          world.broker.cut(results, { start: before })
          world.broker.resetOffset('busgate', { topic: 'doubts', partition: 0 }, offset)
        },
      })
      await world.pass(120_000, 500)
    }
    expect([world.broker.end(results), world.deadLetters()]).toEqual([before, letters])
    expect(world.gauge('doubts_open')).toBe(0)
  })

  test.each([0, 1, 100])('resolves every doubt, whatever offset of the doubts somebody sets (%d)', async offset => {
    const world = await startSendingWorld({
      settings: { gateway: { timeoutMs: 10_000 }, doubts: { waitMs: 5_000, polls: 1 } },
      answer: ([operation]) =>
        operation?.type === 'status' ? null : { kind: 'lost', cause: 'timeout', message: 'lost' },
    })
    for (const id of [1, 2]) world.send(id, once)
    await world.pass(1_000)
    expect(world.results().map(({ outcome }) => outcome)).toEqual(['IN_DOUBT', 'IN_DOUBT'])
    const tp = { topic: 'doubts', partition: 0 }
    await world.takeOver({ meanwhile: () => world.broker.resetOffset('busgate', tp, offset) })
    await world.pass(60_000)
    const finals = world.results().filter(({ final }) => final)
    expect(finals.map(({ id, outcome, attempts }) => [id, outcome, attempts])).toEqual([
      [1n, 'UNRESOLVED', 2],
      [2n, 'UNRESOLVED', 2],
    ])
  })

  test('counts no POST for a doubt that came after the reset', async () => {
    const world = await startSendingWorld({
      settings: { gateway: { timeoutMs: 10_000 }, doubts: { waitMs: 5_000, polls: 1 } },
    })
    world.doubted(1, { omitted: 'it was too large' }, once)
    await world.pass(1_000)
    await world.takeOver({
      meanwhile: () => world.broker.resetOffset('busgate', { topic: 'doubts', partition: 0 }, 0),
    })
    world.doubted(2, {}, once)
    await world.pass(60_000)
    expect(world.results().map(({ id, outcome, attempts }) => [id, outcome, attempts])).toEqual([
      [1n, 'UNRESOLVED', 2],
      [2n, 'UNRESOLVED', 1],
    ])
  })
})
