import { expect, test } from 'vitest'
import { deedText, readHistory, replayRecord } from '../../src/control/history.ts'
import { publishAll } from '../support/bus.ts'
import { startWorld } from '../support/worker.ts'

test('the history keeps every withdrawal of a producer and every replay, and counts records of others', async () => {
  const world = await startWorld()
  const { history, deadLetters: name } = world.settings.topics
  await world.producer.withdraw({ campaign: 'spring', reason: 'wrong price', by: 'crm' })
  await world.producer.withdraw({ campaign: 'spring', reason: 'wrong text', by: 'crm' })
  const replay = { effect: 'replayed', name, by: 'olena', reason: 'the schema is registered' } as const
  await publishAll(world.bus, [
    replayRecord(history, { ...replay, letters: 1, at: 0 }),
    replayRecord(history, { ...replay, letters: 200, at: 1000 }),
    { topic: history, key: null, value: null },
    { topic: history, key: 'campaign/spring', value: Buffer.from('{}') },
    { topic: history, key: `replayed/${name}`, value: Buffer.from('{"replayed":-1}') },
    { topic: history, key: `replayed/${name}`, value: Buffer.from('not JSON') },
  ])
  const { deeds, foreign } = await readHistory(world.bus, world.settings)
  expect(foreign).toBe(4)
  expect(deeds.map(deed => deedText(deed).replaceAll(/(?<=since )\S+|(?<=until )[^:]+:[^ ]+(?=: )/g, 'T'))).toEqual([
    'campaign spring is withdrawn by crm since T for commands until T: wrong price',
    'campaign spring is withdrawn by crm since T for commands until T: wrong text',
    `1 dead letter of ${name} was replayed by olena at 1970-01-01T00:00:00.000Z: the schema is registered`,
    `200 dead letters of ${name} were replayed by olena at 1970-01-01T00:00:01.000Z: the schema is registered`,
  ])
})

test('texts of a replay that are too long are refused when they are written, and cut when they are read', async () => {
  const world = await startWorld()
  const { history } = world.settings.topics
  const replay = {
    effect: 'replayed',
    name: 'letters',
    letters: 1,
    by: 'olena',
    at: 0,
    reason: 'x'.repeat(501),
  } as const
  expect(() => replayRecord(history, replay)).toThrow('at most 500 characters')
  const value = { replayed: 1, by: 'olena', at: new Date(0).toISOString(), reason: 'x'.repeat(100_000) }
  await publishAll(world.bus, [{ topic: history, key: 'replayed/letters', value: Buffer.from(JSON.stringify(value)) }])
  const { deeds } = await readHistory(world.bus, world.settings)
  expect(deeds.map(({ reason }) => reason?.length)).toEqual([500])
})

test('a withdrawal is in force although the history cannot be written', async () => {
  const world = await startWorld({ settings: { topics: { history: 'not-created' } } })
  await world.producer.withdraw({ campaign: 'spring', reason: 'wrong price', by: 'crm' })
  await expect.poll(() => world.worker.ready().withdrawn).toHaveLength(1)
})
