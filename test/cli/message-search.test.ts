import { describe, expect, test } from 'vitest'
import { partitionOf } from '../../src/bus/murmur2.ts'
import type { OutgoingRecord, RecordHeaders } from '../../src/bus/port.ts'
import { type Change, writeChange } from '../../src/control/change.ts'
import { MessageSearch } from '../../src/inspect/message/search.ts'
import { tell } from '../../src/inspect/message/story.ts'
import { stringifyJson } from '../../src/protocol/index.ts'
import { createEncoder } from '../../src/records/encoder.ts'
import type { Doubt, SendCommand, SendResult } from '../../src/records/generated.ts'
import {
  copyOf,
  type LaterFacts,
  type LaterKey,
  releasedRecord,
  tombstone,
  waitingRecord,
} from '../../src/records/later.ts'
import { embeddedRegistry } from '../../src/records/registry.ts'
import { schemas, subjectOf } from '../../src/records/schemas.ts'
import { openMemoryBus, publishAll } from '../support/bus.ts'
import { buildCommand } from '../support/commands.ts'
import { buildPause } from '../support/control.ts'
import { buildDoubt } from '../support/doubts.ts'
import { buildResult } from '../support/results.ts'
import { buildSettings } from '../support/settings.ts'

const settings = buildSettings()
const { topics } = settings
const commandTopic = topics.commands.at(-1)!
const all = [
  ...topics.commands,
  topics.results,
  topics.statuses,
  topics.doubts,
  topics.later,
  topics.deadLetters,
  topics.control,
  topics.workers,
]

/** Creates all topics with three partitions, and functions that write to them. */
async function startTopics(left: readonly string[] = []) {
  const { groupId } = settings.kafka
  const { broker, bus } = openMemoryBus(
    all.filter(topic => !left.includes(topic)),
    { groupId, partitions: 3 },
  )
  const registry = embeddedRegistry()
  const encodeCommand = await createEncoder<SendCommand>(subjectOf(commandTopic), schemas.command, registry)
  const encodeResult = await createEncoder<SendResult>(subjectOf(topics.results), schemas.result, registry)
  const encodeDoubt = await createEncoder<Doubt>(subjectOf(topics.doubts), schemas.doubt, registry)
  const write = (
    topic: string,
    key: string,
    value: Buffer,
    more: { partition?: number; headers?: RecordHeaders } = {},
  ) => publishAll(bus, [{ topic, key: Buffer.from(key), value, ...more }])
  return {
    broker,
    encodeCommand,
    command: (command: SendCommand, key: string, partition: number) =>
      write(commandTopic, key, encodeCommand(command), { partition }),
    result: (result: SendResult, headers: RecordHeaders = {}) =>
      write(topics.results, String(result.id), encodeResult(result), { headers }),
    publish: (records: OutgoingRecord[]) => publishAll(bus, records),
    raw: (topic: string, key: string, value: Buffer) => write(topic, key, value),
    change: (change: Change) => publishAll(bus, [writeChange(topics.control, change)]),
    doubt: (doubt: Doubt, id: bigint) => write(topics.doubts, String(id), encodeDoubt(doubt)),
    letter: ({ key, value, code, origin, lastOffset, perhapsSent = false, of = commandTopic }: BuiltLetter) => {
      const headers = {
        'busgate.error.code': code,
        'busgate.error.message': 'It cannot be read.',
        'busgate.error.topic': of,
        'busgate.error.partition': String(origin[0]),
        'busgate.error.offset': String(origin[1]),
        ...(lastOffset !== undefined && { 'busgate.error.last-offset': String(lastOffset) }),
        ...(perhapsSent && { 'busgate.error.perhaps-sent': 'true' }),
      }
      return write(topics.deadLetters, key, value, { headers, partition: 0 })
    },
    search: (since = 0) => new MessageSearch({ bus, registry, settings, since, ending: new AbortController().signal }),
  }
}

interface BuiltLetter {
  key: string
  value: Buffer
  code: string
  origin: [partition: number, offset: number]
  lastOffset?: number
  perhapsSent?: boolean
  /** Its topic. Default: the least urgent one of commands. */
  of?: string
}

const placesOf = (found: { commands: { place: { partition: number; offset: number } }[] }) =>
  found.commands.map(({ place: { partition, offset } }) => [partition, offset])

test("a command is found at its result's coordinates, whatever its key, unless another record is there", async () => {
  const world = await startTopics()
  await world.command(buildCommand({ id: 5n }), 'customer-1', 2)
  await world.command(buildCommand({ id: 6n }), 'customer-1', 2)
  world.broker.resetOffset('busgate', { topic: commandTopic, partition: 2 }, 2) // both are done
  await world.result(buildResult({ id: 6n, commandTopic, commandPartition: 2, commandOffset: 1 }))
  const found = await world.search().byId(6n)
  expect(placesOf(found)).toEqual([[2, 1]])
  const looked = found.searched.filter(({ topic, records }) => topic === commandTopic && records > 0)
  expect(looked).toMatchObject([{ partition: 2, records: 1 }])
  await world.result(buildResult({ id: 9n, commandTopic, commandPartition: 2, commandOffset: 0 }))
  expect(await world.search().byId(9n)).toMatchObject({
    commands: [],
    gaps: [
      `The command at ${commandTopic}/2@0 is gone (another record is there: the topic was recreated or mirrored).`,
    ],
  })
})

test('a one-time password is read from the header of its result, and shown only with --reveal', async () => {
  const world = await startTopics()
  await world.result(buildResult({ id: 7n, type: 'call/otp' }), { 'busgate.code': Buffer.from('0815') })
  const found = await world.search().byId(7n)
  expect(stringifyJson(tell(found, 7n, { reveal: true }))).toContain('code 0815')
  expect(stringifyJson(tell(found, 7n, {}))).not.toContain('0815')
})

test('a command without a result is found among the unfinished records, with a short or long id', async () => {
  for (const id of [7n, 300n, 2n ** 62n]) {
    const world = await startTopics()
    await world.command(buildCommand({ id: 1n }), 'x', 1)
    await world.command(buildCommand({ id }), 'customer-1', 1)
    world.broker.resetOffset('busgate', { topic: commandTopic, partition: 1 }, 1)
    const found = await world.search().byId(id)
    expect(placesOf(found)).toEqual([[1, 1]])
    expect(found.commands[0]!.value.progress).toBe('waiting')
  }
})

test('for a waiting command, the current pause is given as the reason', async () => {
  const world = await startTopics()
  await world.command(buildCommand({ id: 7n }), '7', 1)
  const pause = buildPause({ kind: 'account', name: 'default', by: 'olha' })
  await world.change(pause)
  await world.change({ ...pause, name: 'shop' })
  await world.change({ ...pause, name: 'shop', begins: false, at: 1 })
  world.broker.resetOffset('busgate', { topic: commandTopic, partition: 1 }, 0)
  const found = await world.search().byId(7n)
  expect(found.controls).toEqual([pause])
  expect(tell(found, 7n, {}).conclusions[0]!.text).toMatch(
    / waits, because account default is paused by olha since 1970/,
  )
})

test('a waiting command is found even if the control topic is missing', async () => {
  const world = await startTopics([topics.control])
  await world.command(buildCommand({ id: 7n }), '7', 1)
  const { commands, gaps } = await world.search().byId(7n)
  expect(commands).toHaveLength(1)
  expect(gaps).toEqual([
    expect.stringMatching(/^Pauses and withdrawals are unknown: there is no topic busgate\.control/),
  ])
})

test('records of the message that cannot be decoded are counted, and the others tell its story', async () => {
  const world = await startTopics()
  await world.result(buildResult({ id: 9n }))
  await world.raw(topics.results, '9', Buffer.from('not Avro'))
  await world.raw(topics.results, '9', Buffer.from([0, 0xff, 0xff, 0xff, 0xff, 1]))
  const { results, gaps } = await world.search().byId(9n)
  expect(results).toHaveLength(1)
  expect(gaps).toContainEqual(expect.stringMatching(/^2 records of busgate\.results cannot be decoded, the first at /))
})

test('a finished command is found even if its result is deleted', async () => {
  const world = await startTopics()
  await world.command(buildCommand({ id: 8n }), 'x', 0)
  world.broker.resetOffset('busgate', { topic: commandTopic, partition: 0 }, 1)
  const found = await world.search().byId(8n)
  expect(found.commands.map(({ value }) => value.progress)).toEqual(['done'])
})

describe('a command whose record became a dead letter', () => {
  const codes: [code: string, what: RegExp][] = [
    [
      'SCHEMA_NOT_FOUND',
      /^Not sent: its record could not be read \(SCHEMA_NOT_FOUND: It cannot be read\)\. Once its schema is registered, busgate dlq replay --at 0@0 sends it; otherwise its producer must write it again\.$/,
    ],
    [
      'SCHEMA_INCOMPATIBLE',
      /If a newer busgate can read its schema, busgate dlq replay --at 0@0 sends it; otherwise its producer/,
    ],
    ...['NOT_CONFLUENT', 'TRUNCATED', 'TRAILING_BYTES', 'DECODE', 'NO_VALUE', 'VALUE_TOO_LARGE'].map(
      (code): [string, RegExp] => [code, /Its bytes stay unreadable: its producer must write it again\.$/],
    ),
  ]
  test.each(codes)('with the code %s is offered for a replay only if that helps', async (code, what) => {
    const world = await startTopics()
    await world.letter({ key: '7', value: Buffer.from('garbage'), code, origin: [1, 0] })
    expect(tell(await world.search().byId(7n), 7n, {}).conclusions[0]!.text).toMatch(what)
  })

  test('and was perhaps sent is never called unsent', async () => {
    const world = await startTopics()
    const letter = { key: '7', value: Buffer.from('garbage'), code: 'SCHEMA_NOT_FOUND', perhapsSent: true } as const
    await world.letter({ ...letter, origin: [1, 0] })
    expect(tell(await world.search().byId(7n), 7n, {}).conclusions[0]!.text).toMatch(
      /^Perhaps sent: its record could not be read .*busgate gateway status .*--since 30d\.$/,
    )
  })

  test('and was perhaps sent is never called unsent, whatever became of later records with its id', async () => {
    const world = await startTopics()
    const command = buildCommand({ id: 7n })
    const value = world.encodeCommand(command)
    const code = 'SCHEMA_NOT_FOUND'
    const conclusion = async () => tell(await world.search().byId(7n), 7n, {}).conclusions[0]!.text
    const expected = expect.stringMatching(/^Perhaps sent: its record could not be read after a worker had begun to/)
    await world.letter({ key: '7', value, code, perhapsSent: true, origin: [1, 0] })
    expect(await conclusion()).toMatch(/busgate gateway status '\{"id":7\}' --account=NAME;/)
    for (let i = 0; i < 2; i++) await world.command(command, '7', 1)
    world.broker.resetOffset('busgate', { topic: commandTopic, partition: 1 }, 2) // both are done
    await world.letter({ key: '7', value, code, origin: [1, 1] })
    expect(await conclusion()).toEqual(expected)
    const result = (outcome: SendResult['outcome'], commandOffset: number) =>
      world.result(buildResult({ id: 7n, outcome, commandTopic, commandPartition: 1, commandOffset }))
    for (const [i, outcome] of (['DUPLICATE', 'EXPIRED'] as const).entries()) {
      await world.command(command, '7', 1)
      world.broker.resetOffset('busgate', { topic: commandTopic, partition: 1 }, 3 + i)
      await result(outcome, 2 + i)
      expect(await conclusion()).toEqual(expected)
    }
    await result('SENT', 4)
    expect(await conclusion()).toMatch(/^Sent: /)
  })

  test.each(['7', 'customer-1'])('and can be read now is offered for a replay, with the key %s', async key => {
    const world = await startTopics()
    const command = buildCommand({ id: 7n })
    await world.letter({ key: 'customer-1', value: world.encodeCommand(command), code: 'DECODE', origin: [2, 0] })
    await world.command(command, key, 1)
    world.broker.resetOffset('busgate', { topic: commandTopic, partition: 1 }, 1) // it is done
    await world.letter({ key, value: world.encodeCommand(command), code: 'SCHEMA_NOT_FOUND', origin: [1, 0] })
    const conclusion = async () => tell(await world.search().byId(7n), 7n, {}).conclusions[0]!.text
    expect(await conclusion()).toBe(
      'Not sent: its record became a dead letter (SCHEMA_NOT_FOUND). It can be read now: busgate dlq replay --at 0@1 sends it.',
    )
    await world.command(command, key, 1) // as a replay does
    expect(await conclusion()).toMatch(/^Not sent yet: no worker has reported in the last minute/)
  })
})

describe('a command that waits for its time', () => {
  const due = Date.UTC(2036, 0)
  const facts: LaterFacts = {
    ...{ account: 'default', type: 'sms', correlationId: 'order-7', tenant: null, campaign: 'spring' },
    ...{ country: 'UA', copyAt: null, notBefore: due, since: 1_000, timestamp: 1_000, expiresAt: due + 1_000 },
  }
  const keyAt = (offset: number): LaterKey => ({ topic: commandTopic, partition: 1, offset, id: 7n })
  const command = buildCommand({ id: 7n, notBefore: due, campaign: 'spring', correlationId: 'order-7' })

  /** Its record is at offset 0 of partition 1, and done; it waits on partition 2 of the table. */
  async function startWaiting() {
    const world = await startTopics()
    await world.command(command, 'customer-1', 1)
    world.broker.resetOffset('busgate', { topic: commandTopic, partition: 1 }, 1)
    const table = { topic: topics.later, partition: 2 }
    const record = { offset: 0, timestamp: 1_000, key: Buffer.from('customer-1'), value: world.encodeCommand(command) }
    const origin = { topic: commandTopic, partition: 1, record: { ...record, headers: {} } }
    const write = (...records: OutgoingRecord[]) => world.publish(records)
    await write(waitingRecord(table, keyAt(0), facts, origin))
    const find = async () => {
      const found = await world.search().byId(7n)
      return { found, story: tell(found, 7n, {}) }
    }
    return { world, table, write, find, waiting: { ...origin.record, headers: { ...origin.record.headers } } }
  }

  test('is found at the place and with the time of its record, and with the time for which it waits', async () => {
    const { find } = await startWaiting()
    const { found, story } = await find()
    expect(found.commands).toMatchObject([
      { place: { topic: commandTopic, partition: 1, offset: 0 }, time: 1_000, value: { progress: 'later' } },
    ])
    expect(story.conclusions[0]!.text).toMatch(
      /^Not sent yet: it waits until 2036-01-01T00:00:00\.000Z \(in \d+ days\)/,
    )
    expect(story.events[0]!.text).toContain(
      'campaign spring, correlation order-7, not before 2036-01-01T00:00:00.000Z, progress: set aside',
    )
  })

  test('is found by its correlationId, also when its own record is deleted', async () => {
    const { world } = await startWaiting()
    world.broker.cut({ topic: commandTopic, partition: 1 }, { start: 1 })
    expect(await world.search().idsOf('order-7', 10)).toEqual({ ids: [7n], more: false })
  })

  test('and was released counts as one command, which is unsent', async () => {
    const { find, write, table, waiting } = await startWaiting()
    await write(releasedRecord(table, keyAt(0), facts), copyOf(keyAt(0), facts, waiting))
    const { found } = await find()
    expect(found.commands).toMatchObject([
      { place: { partition: 1, offset: 0 }, time: 1_000, value: { progress: 'waiting' } },
    ])
  })

  test.each(['INVALID', 'EXPIRED'] as const)(
    'is told of, although an earlier record with its id ended %s, which leaves the id free',
    async outcome => {
      const { world, find } = await startWaiting()
      await world.result(
        buildResult({ id: 7n, commandTopic, commandPartition: 1, commandOffset: 9, outcome, errorCode: 'VALIDATION' }),
      )
      const { story } = await find()
      expect(story.conclusions[0]!.text).toMatch(/^Not sent yet: it waits until 2036-/)
    },
  )

  test('is found by its account, although the id was sent in another one', async () => {
    const { world } = await startWaiting()
    await world.result(buildResult({ id: 7n, account: 'other', commandTopic, commandPartition: 0, commandOffset: 9 }))
    const story = tell(await world.search().byId(7n, 'default'), 7n, { account: 'default' })
    expect(story.conclusions[0]!.text).toMatch(/^Not sent yet: it waits until 2036-/)
  })

  test('and has its result is no longer looked for on the table', async () => {
    const { world, find, write, table } = await startWaiting()
    await write(tombstone(table, keyAt(0)))
    await world.result(buildResult({ id: 7n, commandTopic, commandPartition: 1, commandOffset: 0 }))
    const { found, story } = await find()
    expect(found.commands).toMatchObject([{ place: { offset: 0 }, value: { progress: 'done' } }])
    expect(found.searched.filter(({ topic }) => topic === topics.later)).toEqual([])
    expect(story.conclusions[0]!.text).toMatch(/^Sent: /)
  })
})

test('results from before partitions were added are found', async () => {
  const ids = [11n, 12n, 13n, 14n, 15n, 16n]
  const world = await startTopics()
  for (const id of ids) await world.result(buildResult({ id }))
  world.broker.addPartitions(topics.results, 7)
  for (const id of ids) expect((await world.search().byId(id)).results).toHaveLength(1)
})

test('results from before and after partitions were added are found together', async () => {
  const ids = [11n, 12n, 13n, 14n, 15n, 16n]
  const world = await startTopics()
  for (const id of ids) await world.result(buildResult({ id, outcome: 'IN_DOUBT', final: false }))
  world.broker.addPartitions(topics.results, 7)
  for (const id of ids) await world.result(buildResult({ id }))
  for (const id of ids) {
    const { results } = await world.search().byId(id)
    expect(results.map(({ value }) => value.outcome).toSorted()).toEqual(['IN_DOUBT', 'SENT'])
  }
})

test('a command in doubt is read from the doubts topic if its own topic has lost it', async () => {
  const world = await startTopics()
  const command = buildCommand({ id: 21n })
  const place = { topic: commandTopic, partition: 1, offset: 40, timestamp: 1_000 }
  await world.doubt(
    buildDoubt({ ...place, value: world.encodeCommand(command), postedAt: 2_000, postedSince: 2_000 }),
    21n,
  )
  const found = await world.search().byId(21n)
  expect(found.commands).toMatchObject([{ place: { partition: 1, offset: 40 }, time: 1_000, value: { command } }])
})

test('a final result is promised only while the doubt of the message is on its topic and open', async () => {
  const world = await startTopics()
  const place = { topic: topics.doubts, partition: partitionOf(Buffer.from('22'), 3) }
  const conclusion = async () => tell(await world.search().byId(22n), 22n, {}).conclusions[0]!.text
  await world.result(buildResult({ id: 22n, outcome: 'IN_DOUBT', final: false }))
  await world.doubt(buildDoubt(), 22n)
  const follows = /^Perhaps sent: .* A final result will follow: do not send it again\./
  const mayNot = /^Perhaps sent: .* may never get a final result: do not send it again .* Ask the gateway/
  expect(await conclusion()).toMatch(follows) // no worker has opened the partition yet
  world.broker.resetOffset('busgate', place, 0)
  expect(await conclusion()).toMatch(follows)
  world.broker.resetOffset('busgate', place, 1)
  expect(await conclusion()).toMatch(mayNot)
  world.broker.resetOffset('busgate', place, 0)
  world.broker.cut(place, { start: 1 })
  expect(await conclusion()).toMatch(mayNot)
})

test('all messages with a correlationId are found, with or without results', async () => {
  const world = await startTopics()
  await world.result(buildResult({ id: 31n, correlationId: 'order-1' }))
  await world.result(buildResult({ id: 32n, correlationId: 'order-12' })) // contains the bytes of order-1, but is another id
  expect(await world.search().idsOf('order-1', 20)).toEqual({ ids: [31n], more: false })
  await world.command(buildCommand({ id: 33n, correlationId: 'order-9' }), 'x', 1)
  expect(await world.search().idsOf('order-9', 20)).toEqual({ ids: [33n], more: false })
})

test('a missing topic is reported, and the other topics are searched', async () => {
  const world = await startTopics([topics.doubts])
  await world.result(buildResult({ id: 41n }))
  const found = await world.search().byId(41n)
  expect(found.gaps).toContain(`There is no topic ${topics.doubts}.`)
  expect(found.results).toHaveLength(1)
})

test('a search by correlationId returns at most the requested number of messages', async () => {
  const world = await startTopics()
  for (let id = 1n; id <= 9n; id++) await world.result(buildResult({ id, correlationId: 'spring' }))
  const { ids, more } = await world.search().idsOf('spring', 4)
  expect([ids.length, more]).toEqual([4, true])
  expect((await world.search().idsOf('spring', 9)).more).toBe(false)
})

test('a command that a reset of the offset has skipped is told as such', async () => {
  const world = await startTopics()
  await world.command(buildCommand({ id: 7n }), '7', 1)
  world.broker.resetOffset('busgate', { topic: commandTopic, partition: 1 }, 1)
  const letter = {
    key: `${commandTopic}/1@0`,
    value: Buffer.alloc(0),
    code: 'RECORDS_SKIPPED',
    perhapsSent: true,
  } as const
  await world.letter({ ...letter, origin: [1, 0], lastOffset: 4 })
  expect(tell(await world.search().byId(7n), 7n, {}).conclusions[0]!.text).toContain(`${commandTopic}/1@0 was skipped`)
})

test('a command that waited on a table that was deleted is told as not sent, or as one of those that may have waited', async () => {
  const world = await startTopics()
  await world.command(buildCommand({ id: 7n }), '7', 1)
  await world.command(buildCommand({ id: 8n }), '8', 1)
  world.broker.resetOffset('busgate', { topic: commandTopic, partition: 1 }, 2)
  const letter = { value: Buffer.alloc(0), code: 'RECORDS_DELETED' } as const
  await world.letter({ ...letter, key: '7', origin: [1, 0] })
  const told = async (id: bigint) => tell(await world.search().byId(id), id, {}).conclusions[0]!.text
  expect(await told(7n)).toBe('Not sent: It cannot be read. Its producer must write it again.')
  expect(await told(8n)).not.toContain('deleted')
  await world.letter({ ...letter, key: `${topics.later}/2@0`, origin: [2, 0], of: topics.later })
  expect(await told(8n)).toMatch(/^The command at .* is finished, but .* it may be one of them: busgate\.later\/2@0\. /)
})

test('a message without any trace may be among commands that were deleted before they had a result', async () => {
  const world = await startTopics()
  const lost = { key: `${commandTopic}/1@5`, value: Buffer.alloc(0), code: 'RECORDS_DELETED' } as const
  await world.letter({ ...lost, origin: [1, 5], lastOffset: 9 })
  await world.letter({ ...lost, origin: [1, 10], perhapsSent: true })
  const told = tell(await world.search().byId(7n), 7n, {})
  expect([told.found, told.conclusions[0]!.text]).toEqual([
    false,
    expect.stringContaining(`it may be one of them: ${commandTopic}/1@5-9, ${commandTopic}/1@10 (perhaps sent). `),
  ])
  await world.result(buildResult({ id: 8n }))
  expect(tell(await world.search().byId(8n), 8n, {}).conclusions[0]!.text).not.toContain('deleted')
})
