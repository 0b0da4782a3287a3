import { expect, test } from 'vitest'
import { RegistryUnavailable } from '../../src/records/errors.ts'
import { embeddedRegistry } from '../../src/records/registry.ts'
import { itemsAnswer, refusedItem } from '../support/answers.ts'
import { commandsFrom } from '../support/commands.ts'
import { alone, startSendingWorld } from '../support/sending.ts'

test('doubts of a partition that another process has taken over are no longer counted as open', async () => {
  const answer = () => ({ kind: 'lost', cause: 'timeout', message: 'no answer' }) as const
  const { put, pass, gauge, joinIdle } = await startSendingWorld({ answer, partitions: 4 })
  for (let partition = 0; partition < 4; partition++) put('bulk', commandsFrom(1 + 10 * partition, 10), partition)
  await pass(1_000)
  expect(gauge('doubts_open')).toBe(40)
  joinIdle()
  await pass(5_000)
  expect(gauge('doubts_open')).toBeGreaterThan(0)
  expect(gauge('doubts_open')).toBeLessThan(40)
})

test('a registry that was unavailable when a partition was lost is no warning any more', async () => {
  const inner = embeddedRegistry()
  let isAway = false
  let fails = false
  const world = await startSendingWorld({
    hop: async step => {
      if (fails && /^(commit|acquire) /.test(step)) throw new Error('the broker is away')
    },
    registry: {
      idOf: inner.idOf,
      async schemaOf(id) {
        if (isAway) throw new RegistryUnavailable('it is away')
        return inner.schemaOf(id)
      },
    },
  })
  const { clock, sending, broker, settings } = world
  const topic = settings.topics.commands.at(-1)!
  isAway = true
  world.send(1)
  await clock.pass(3_000)
  expect([sending.reasons(), sending.warnings()]).toMatchObject([[], [expect.stringContaining('the registry')]])
  fails = true
  broker.append([{ topic, partition: 0, key: null, value: null }], clock.now()) // a dead letter: its commit fails
  await clock.pass(1_000)
  expect(sending.reasons()).toContainEqual(expect.stringMatching(/not open/))
  fails = false
  isAway = false
  await clock.pass(61_000)
  expect(world.results()).toMatchObject([{ id: 1n, outcome: 'SENT' }])
  expect([sending.reasons(), sending.warnings()]).toEqual([[], []])
})

test('a command that is throttled after its session was lost is sent by the next session, and waits nowhere else', async () => {
  let isLost = false
  let isFirst = true
  const { send, pass, results, postsOf, gauge, telemetry } = await startSendingWorld({
    accounts: alone,
    takes: ({ ids }) => (ids.includes(1) ? 5_000 : 0),
    answer(operations) {
      if (!isFirst || operations[0]!.id !== 1) return null
      isFirst = false
      return itemsAnswer(...operations.map(({ id }) => refusedItem(id, 'Too many requests')))
    },
    async hop(step, way) {
      if (!isLost || way !== 'there' || !step.startsWith('commit')) return
      isLost = false
      throw new Error('no answer')
    },
  })
  const lost: string[] = []
  telemetry.on('session.lost', ({ topic }) => lost.push(topic))
  send(1)
  await pass(500)
  isLost = true
  send(2)
  await pass(60_000)
  expect(lost).toContain('bulk')
  expect(results().map(({ id, outcome }) => [Number(id), outcome])).toEqual([
    [2, 'SENT'],
    [1, 'SENT'],
  ])
  expect([postsOf(1), postsOf(2), gauge('oldest_unsent_command_age_seconds')]).toEqual([2, 1, 0])
})
