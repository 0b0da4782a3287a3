import { expect, test } from 'vitest'
import type { Hop } from '../../src/bus/memory/bus.ts'
import { commandsFrom } from '../support/commands.ts'
import { alone, startSendingWorld } from '../support/sending.ts'

const second = 1000

/** A world whose requests and commits take these milliseconds, with more commands than it can send. */
async function startBacklog({ commits, answers, concurrency }: Record<'commits' | 'answers' | 'concurrency', number>) {
  let commitMs = 0
  const hop: Hop = async (step, way) => {
    if (commitMs > 0 && way === 'there' && step.startsWith('commit '))
      await new Promise<void>(resolve => world.clock.after(commitMs, resolve))
  }
  const world = await startSendingWorld({
    ...{ accounts: alone, hop, takes: () => answers },
    gateway: { concurrency, maxOperations: 1 },
  })
  commitMs = commits
  world.put('bulk', commandsFrom(1, 1_000))
  await world.pass(2 * second, 10)
  return world
}

test.each([
  { commits: 10, answers: 100, concurrency: 8 },
  { commits: 100, answers: 100, concurrency: 8 },
  { commits: 100, answers: 250, concurrency: 16 },
  { commits: 5, answers: 500, concurrency: 4 },
])('all slots stay in use while intents are committed, and few commands have intents: %o', async options => {
  const { commits, answers, concurrency } = options
  const { pass, posts, gauge } = await startBacklog(options)
  const before = posts.length
  await pass(2 * second, 10)
  const most = (concurrency - 1) * ((2 * second) / answers) // one slot is kept for the most urgent topic
  expect(posts.length - before).toBeGreaterThan(0.95 * most)
  expect(gauge('intents_open')).toBeLessThan(concurrency * (1 + (8 * commits) / answers) + 4)
})

test('a quick account beside a slow one keeps its slots in use, however many commands of the slow one wait', async () => {
  const { put, pass, posts } = await startSendingWorld({
    takes: ({ auth }) => (auth === 'other' ? 9_000 : 250),
    gateway: { concurrency: 16, maxOperations: 1 },
  })
  put('bulk', commandsFrom(1, 200, { account: 'other' }))
  await pass(30 * second, 100)
  put('bulk', commandsFrom(201, 1_000))
  await pass(3 * second, 50)
  const before = posts.length
  await pass(3 * second, 50)
  expect(posts.slice(before).filter(({ auth }) => auth === 'default').length).toBeGreaterThan(70)
})
