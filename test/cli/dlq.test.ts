import { describe, expect, test } from 'vitest'
import type { MemoryBus } from '../../src/bus/memory/bus.ts'
import { letterLine } from '../../src/cli/commands/dlq.ts'
import { findLetter, newestLetters } from '../../src/inspect/dead-letters/letter.ts'
import { openReplay, planReplay, replay } from '../../src/inspect/dead-letters/replay.ts'
import { buildRecord, openMemoryBus, publishAll, until } from '../support/bus.ts'
import { BrokerWithDamagedBatches, buildDamagedBatch } from '../support/damaged-batches.ts'

const topic = 'dead-letters'
const topics = { deadLetters: topic, doubts: 'doubts' }
const decodable = async () => null

const headersOf = (code: string, offset: string) => ({
  'busgate.error.stage': 'decode',
  'busgate.error.code': code,
  'busgate.error.message': 'why',
  'busgate.error.topic': 'commands',
  'busgate.error.partition': '0',
  'busgate.error.offset': offset,
})

/** Writes the dead letter of an unreadable batch of commands, an unreadable batch of dead letters, and an ordinary one. */
async function withDeadLetters() {
  const broker = new BrokerWithDamagedBatches()
  const { bus } = openMemoryBus([topic, 'commands'], { broker })
  await publishAll(bus, [
    {
      topic,
      key: null,
      value: null,
      headers: { ...headersOf('BATCH_TOO_LARGE', '5'), 'busgate.error.last-offset': '9' },
    },
    buildDamagedBatch(topic),
    buildRecord(topic, 'key', { headers: headersOf('DECODE', '10') }),
  ])
  return { bus, broker }
}

test('dlq list and show report unreadable dead letters and skip them', async () => {
  const { bus } = await withDeadLetters()
  const { newest } = await newestLetters(bus, topic, {}, 10)
  expect(newest.map(({ code }) => code)).toEqual(['BATCH_TOO_LARGE', 'BATCH_CORRUPT', 'DECODE'])
  expect(letterLine(newest[1]!)).toMatch(/^0@1 .*BATCH_CORRUPT .*The batch at offset 1 cannot be read/)
  expect(await findLetter(bus, topic, '0@1')).toMatchObject({ code: 'BATCH_CORRUPT', origin: null })
})

test('dlq replay refuses dead letters that can never be read, and replays the rest', async () => {
  const { ready, refused } = await planReplay((await withDeadLetters()).bus, topics, {}, decodable)
  expect(ready.map(({ place }) => place.offset)).toEqual([2])
  expect(refused.map(({ letter, why }) => [letter.place.offset, why])).toEqual([
    [0, expect.stringContaining('never be read')],
    [1, expect.stringContaining('never be read')],
  ])
})

test('dlq replay refuses what was perhaps sent, and takes a command with --perhaps-sent, but never a doubt', async () => {
  const { bus } = await withDeadLetters()
  const perhapsSent = { 'busgate.error.perhaps-sent': 'true' }
  const ofDoubt = { ...headersOf('SCHEMA_NOT_FOUND', '1'), 'busgate.error.topic': 'doubts', ...perhapsSent }
  await publishAll(bus, [
    buildRecord(topic, '1', { headers: ofDoubt }),
    buildRecord(topic, '2', { headers: { ...headersOf('SCHEMA_NOT_FOUND', '11'), ...perhapsSent } }),
  ])
  const selected = { at: ['0@3', '0@4'] }
  const ofDoubts = [3, 'its command was perhaps sent; its result says what is known']
  const usual = await planReplay(bus, topics, selected, decodable)
  expect(usual.ready).toEqual([])
  expect(usual.refused.map(({ letter, why }) => [letter.place.offset, why])).toEqual([
    ofDoubts,
    [4, 'it was perhaps sent: --perhaps-sent replays it, at the risk of a second message'],
  ])
  const risked = await planReplay(bus, topics, selected, decodable, true)
  expect(risked.ready.map(({ place }) => place.offset)).toEqual([4])
  expect(risked.refused.map(({ letter, why }) => [letter.place.offset, why])).toEqual([ofDoubts])
})

test('dlq lists a range of deleted records by its ends, and replay says that only their producer has them', async () => {
  const { bus } = openMemoryBus([topic, 'commands'])
  const of = (offset: string, more: object = {}) =>
    buildRecord(topic, `commands/0@${offset}`, {
      value: null,
      headers: { ...headersOf('RECORDS_DELETED', offset), ...more },
    })
  await publishAll(bus, [
    of('5', { 'busgate.error.last-offset': '9' }),
    of('10', { 'busgate.error.perhaps-sent': 'true' }),
  ])
  const { newest } = await newestLetters(bus, topic, {}, 10)
  expect(newest.map(letterLine)).toEqual([
    expect.stringContaining('RECORDS_DELETED  commands/0@5-9  why'),
    expect.stringContaining('RECORDS_DELETED  commands/0@10  perhaps sent  why'),
  ])
  const { ready, refused } = await planReplay(bus, topics, {}, decodable, true)
  expect([ready, refused.map(({ why }) => why)]).toEqual([
    [],
    [
      'its records were deleted: only their producer has them',
      'its records were deleted and perhaps sent: only their producer has them',
    ],
  ])
})

test('dlq replay writes a record without a key if the original had none', async () => {
  const { bus } = await withDeadLetters()
  await publishAll(bus, [
    {
      topic,
      key: Buffer.from('commands/0@11'),
      value: Buffer.from('unreadable'),
      headers: { ...headersOf('DECODE', '11'), 'busgate.error.key': 'none' },
    },
  ])
  const { ready } = await planReplay(bus, topics, {}, decodable)
  await replay(bus, await openReplay(bus), topic, ready, () => {})
  const keys: (string | null)[] = []
  const reader = await bus.read(['commands'], 'earliest', (_, records) => {
    for (const { key } of records) keys.push(key?.toString() ?? null)
  })
  await until(() => expect(keys).toEqual(['key', null]))
  await reader.close()
})

describe('for repeated replays,', () => {
  const letterAt = (offset: string) => buildRecord(topic, 'key', { headers: headersOf('DECODE', offset) })
  const planOf = (bus: MemoryBus) => planReplay(bus, topics, { code: 'DECODE' }, decodable)
  const refusals = async (bus: MemoryBus) => {
    const { ready, refused } = await planOf(bus)
    return [ready.map(({ place }) => place.offset), refused.map(({ letter, why }) => [letter.place.offset, why])]
  }

  test('dlq replay refuses what was replayed, as long as the letter is there, and lists each letter once', async () => {
    const { bus, broker } = await withDeadLetters()
    await replay(bus, await openReplay(bus), topic, (await planOf(bus)).ready, () => {})
    broker.cut({ topic: 'commands', partition: 0 }, { start: broker.end({ topic: 'commands', partition: 0 }) })
    expect(await refusals(bus)).toEqual([[], [[2, 'it was replayed before']]])
    const { newest, matching } = await newestLetters(bus, topic, {}, 10)
    expect([newest.length, matching]).toEqual([3, 3])
  })

  test('dlq replay takes the newer letter of a record whose replay failed', async () => {
    const { bus } = await withDeadLetters()
    await replay(bus, await openReplay(bus), topic, (await planOf(bus)).ready, () => {})
    await publishAll(bus, [letterAt('50')])
    expect(await refusals(bus)).toEqual([[5], [[2, 'it was replayed before']]]) // 4 ended the transaction
  })

  test('of two at the same time, the later ends the earlier, and each letter is written once', async () => {
    const { bus, broker } = await withDeadLetters()
    const first = await openReplay(bus)
    const plan = await planOf(bus)
    const second = await openReplay(bus)
    await replay(bus, second, topic, (await planOf(bus)).ready, () => {})
    await expect(replay(bus, first, topic, plan.ready, () => {})).rejects.toThrow()
    expect(broker.end({ topic: 'commands', partition: 0 })).toBe(2) // with the transaction's marker
  })
})
