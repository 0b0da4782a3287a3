import avro, { type Schema } from 'avsc'
import fc from 'fast-check'
import { describe, expect, test, vi } from 'vitest'
import type { BusRecord, OutgoingRecord, RecordHeaders } from '../../src/bus/port.ts'
import { letterLine } from '../../src/cli/commands/dlq.ts'
import { printed, showDeadLetters, showResults, showStatuses } from '../../src/cli/commands/tail.ts'
import { contentReader, lettersOf, newestLetters, shown } from '../../src/inspect/dead-letters/letter.ts'
import { planReplay } from '../../src/inspect/dead-letters/replay.ts'
import { RecordReader, UndecodableRecords } from '../../src/inspect/decoding.ts'
import { MessageSearch } from '../../src/inspect/message/search.ts'
import { searchedText, storyLines, tell } from '../../src/inspect/message/story.ts'
import { countOpenDoubts } from '../../src/inspect/progress.ts'
import { stringifyJson } from '../../src/protocol/index.ts'
import { RegistryUnavailable } from '../../src/records/errors.ts'
import { registryOf } from '../../src/records/registry.ts'
import { schemas, subjectOf } from '../../src/records/schemas.ts'
import { Board } from '../../src/ui/board.ts'
import { openMemoryBus, publishAll, until } from '../support/bus.ts'
import { buildCommand } from '../support/commands.ts'
import { buildDoubt } from '../support/doubts.ts'
import { buildResult } from '../support/results.ts'
import { buildSettings } from '../support/settings.ts'
import { buildStatusEvent } from '../support/status-events.ts'

const settings = buildSettings()
const { topics } = settings
const registry = registryOf(settings)
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
const key = Buffer.from('1001')

/** Writes any long, unlike busgate's own writers. */
const anyLong = avro.types.LongType.__with({
  fromBuffer: (buffer: Buffer) => buffer.readBigInt64LE(0),
  toBuffer(value: bigint | number) {
    const buffer = Buffer.alloc(8)
    buffer.writeBigInt64LE(BigInt(value))
    return buffer
  },
  fromJSON: BigInt,
  toJSON: String,
  isValid: (value: unknown) => typeof value === 'bigint' || typeof value === 'number',
  compare: () => 0,
})
const typeHook = (part: unknown) =>
  part === 'long' || (part as { type?: unknown }).type === 'long' ? anyLong : undefined
const writerOf = (schema: object) => avro.Type.forSchema(schema as Schema, { typeHook: typeHook as never })

const wire = (id: number, body: Buffer) => {
  const head = Buffer.alloc(5)
  head.writeUInt32BE(id, 1)
  return Buffer.concat([head, body])
}

const long = fc.oneof(
  fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }),
  fc.constantFrom(-1n, 0n, 8_640_000_000_000_000n, 8_640_000_000_000_001n, 2n ** 63n - 1n, -(2n ** 63n)),
)
const short = fc.string({ unit: 'grapheme', maxLength: 30 })
const text = fc.oneof(
  short,
  short.map(start => `${start}${'x'.repeat(50_000)}`),
  fc.constantFrom('toString', '__proto__'),
)
const optional = <T>(some: fc.Arbitrary<T>) => fc.option(some, { nil: null })
const foreign = fc.oneof(
  fc.uint8Array({ maxLength: 60 }).map(bytes => Buffer.from(bytes)),
  fc.tuple(fc.nat(2 ** 32 - 1), fc.uint8Array({ maxLength: 60 })).map(([id, body]) => wire(id, Buffer.from(body))),
  fc.constant(null),
)

/** Records of the schema with any values in these fields. */
async function recordsOf(topic: string, schema: object, whole: object, fields: Record<string, fc.Arbitrary<unknown>>) {
  const id = await registry.idOf(subjectOf(topic), schema)
  const type = writerOf(schema)
  const encoded = fc.record(fields, { requiredKeys: [] }).map(some => wire(id, type.toBuffer({ ...whole, ...some })))
  const damaged = fc.tuple(encoded, fc.nat(), fc.nat(255)).map(([bytes, at, byte]) => {
    const copy = Buffer.from(bytes)
    copy[5 + (at % (copy.length - 5))] = byte
    return copy
  })
  const value = fc.oneof({ weight: 4, arbitrary: encoded }, damaged, foreign)
  return value.map((value): OutgoingRecord => ({ topic, key, value }))
}

const place = { topic: fc.constantFrom(commandTopic, 'another'), partition: fc.integer(), offset: long }
const results = await recordsOf(topics.results, schemas.result, buildResult(), {
  ...{ sentAt: optional(long), completedAt: long, commandAt: optional(long), account: text, error: optional(text) },
  ...{ type: text, errorCode: optional(text) },
  ...{ commandTopic: place.topic, commandPartition: place.partition, commandOffset: place.offset, final: fc.boolean() },
})
const statuses = await recordsOf(topics.statuses, schemas.status, buildStatusEvent(), {
  ...{ updatedAt: optional(long), receivedAt: long, status: text, verified: fc.boolean() },
})
const doubts = await recordsOf(topics.doubts, schemas.doubt, buildDoubt(), {
  ...{ timestamp: long, postedAt: long, postedSince: optional(long), ...place },
  value: fc.uint8Array({ maxLength: 60 }).map(bytes => Buffer.from(bytes)),
})
const commands = await recordsOf(commandTopic, schemas.command, buildCommand(), {
  ...{ deadline: optional(long), notBefore: optional(long), account: text, correlationId: optional(text) },
})
const header = fc.oneof(
  text,
  fc.uint8Array({ maxLength: 20 }).map(bytes => Buffer.from(bytes)),
  fc.array(text),
)
const number = fc.constantFrom('0', '1', '-1', '0.5', '1e400', 'NaN', '9223372036854775807')
const headers = {
  'busgate.error.stage': header,
  'busgate.error.code': header,
  'busgate.error.message': header,
  'busgate.error.topic': fc.oneof(fc.constant(commandTopic), header),
  'busgate.error.partition': fc.oneof(number, header),
  'busgate.error.offset': fc.oneof(number, header),
}
const letterValue = fc.oneof(
  commands.map(({ value }) => value),
  foreign,
)
const letters = fc.tuple(letterValue, fc.record(headers, { requiredKeys: [] })).map(
  ([value, headers]): OutgoingRecord => ({
    topic: topics.deadLetters,
    key,
    value,
    headers: headers as RecordHeaders,
  }),
)

async function startTopics(records: OutgoingRecord[]) {
  const { bus } = openMemoryBus(all, { groupId: settings.kafka.groupId })
  if (records.length > 0) await publishAll(bus, records)
  return bus
}

describe('whatever is on the topics', () => {
  const anything = fc.array(fc.oneof(results, statuses, doubts, commands, letters), { maxLength: 20 })

  test('busgate message and the search of the page tell a story', async () => {
    await fc.assert(
      fc.asyncProperty(anything, fc.boolean(), async (records, reveal) => {
        const bus = await startTopics(records)
        const follow = vi.spyOn(bus, 'follow')
        const options = { bus, registry, settings, since: 0 }
        const search = () => new MessageSearch({ ...options, ending: new AbortController().signal })
        const story = tell(await search().byId(1001n), 1001n, { reveal })
        for (const line of storyLines(story)) stringifyJson(line)
        expect(searchedText(story).join('\n')).not.toContain('could not be searched')
        for (const [{ partition }, from] of follow.mock.calls) {
          expect([partition, Number.isSafeInteger((from as { offset: number }).offset)]).toEqual([0, true])
        }
        await search().idsOf('order-1', 20)
        await search().toPhone('0101', 5)
      }),
      { numRuns: 60 },
    )
  })

  test('busgate dlq lists, shows and plans', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(letters, { maxLength: 20 }), async records => {
        const bus = await startTopics(records)
        const { newest, matching } = await newestLetters(bus, topics.deadLetters, {}, 10)
        expect(matching).toBe(records.length)
        for (const letter of newest) expect(letterLine(letter).length).toBeLessThan(10_000)
        const read = contentReader(settings)
        const plan = await planReplay(bus, topics, {}, async letter => (await read(letter)).error)
        expect(plan.ready.length + plan.refused.length).toBe(records.length)
        for (const { origin } of plan.ready) expect(origin).toMatchObject({ topic: commandTopic, partition: 0 })
      }),
      { numRuns: 60 },
    )
  })

  test('busgate tail shows each record, or says that it cannot be read', async () => {
    const recordOf = ({ value, key, headers = {} }: OutgoingRecord, timestamp: number) =>
      ({ offset: 0, timestamp, key, value, headers }) as BusRecord
    for (const [from, show] of [
      [results, showResults(settings)],
      [statuses, showStatuses(settings)],
      [letters, showDeadLetters(settings)],
    ] as const) {
      await fc.assert(
        fc.asyncProperty(from, fc.integer({ min: -1 }), async (record, timestamp) => {
          const shown = await show(recordOf(record, timestamp), { topic: 'a', partition: 0 })
          if (shown && !('unread' in shown)) expect(printed(shown).length).toBeLessThan(10_000)
        }),
      )
    }
  })

  test('the page shows a bounded state', async () => {
    await fc.assert(
      fc.asyncProperty(anything, async records => {
        const bus = await startTopics([])
        const board = new Board({ bus, registry, settings, reveal: false })
        await board.begun()
        if (records.length > 0) await publishAll(bus, records)
        const count = (topic: string) => records.filter(record => record.topic === topic).length
        await until(() => expect(board.now().deadLetters.total).toBe(count(topics.deadLetters)))
        await until(() => expect(board.now().lanes.at(-1)!.commands).toBe(count(commandTopic)))
        expect(JSON.stringify([board.now(), board.history()]).length).toBeLessThan(100_000)
        await board.close()
        expect(await countOpenDoubts(bus, settings)).toBe(count(topics.doubts))
      }),
      { numRuns: 20 },
    )
  })
})

test('the page shows 50 of any number of types, reasons and causes, cut, and counts the rest', async () => {
  const bus = await startTopics([])
  const board = new Board({ bus, registry, settings, reveal: false })
  await board.begun()
  const id = await registry.idOf(subjectOf(topics.results), schemas.result)
  const many = Array.from({ length: 60 }, (_, i) => `${i}${'x'.repeat(20_000)}`)
  const resultOf = (name: string) => buildResult({ type: name, outcome: 'REJECTED', errorCode: name })
  await publishAll(bus, [
    ...many.map(name => ({
      topic: topics.results,
      key,
      value: wire(id, writerOf(schemas.result).toBuffer(resultOf(name))),
    })),
    ...many.map(name => ({ topic: topics.deadLetters, key, value: null, headers: { 'busgate.error.code': name } })),
  ])
  await until(() => expect(board.now()).toMatchObject({ otherFailures: 10, deadLetters: { total: 60, others: 10 } }))
  expect(board.now().funnel.at(-1)).toMatchObject({ type: 'other', notSent: 10 })
  expect(JSON.stringify(board.now()).length).toBeLessThan(100_000)
  await board.close()
})

test('a story keeps 200 records of a kind, cut, and says how many it leaves out', async () => {
  const id = await registry.idOf(subjectOf(topics.statuses), schemas.status)
  const status = buildStatusEvent({ id: 1001n, error: 'x'.repeat(100_000) })
  const value = wire(id, writerOf(schemas.status).toBuffer(status))
  const bus = await startTopics(Array.from({ length: 300 }, () => ({ topic: topics.statuses, key, value })))
  const search = new MessageSearch({ bus, registry, settings, since: 0, ending: new AbortController().signal })
  const story = tell(await search.byId(1001n), 1001n, { reveal: true })
  expect(stringifyJson(story.events).length).toBeLessThan(4_000_000)
  const left = 300 - story.events.length
  expect(story.gaps).toEqual([`${left} more records of ${topics.statuses} left out: the story may be incomplete.`])
})

test('records whose schema cannot be loaded are counted, with the first place and reason', async () => {
  const asked: number[] = []
  const broken = {
    ...registry,
    async schemaOf(id: number) {
      asked.push(id)
      throw new RegistryUnavailable('The registry is away.')
    },
  }
  const undecodable = new UndecodableRecords()
  const reader = new RecordReader(schemas.result, broken, undecodable)
  const records = Array.from({ length: 100 }, (_, offset) => ({
    ...{ offset, timestamp: 0, key: null, headers: {} },
    value: wire(1000 + (offset % 50), Buffer.alloc(0)),
  }))
  await reader.each({ topic: 'results', partition: 3 }, records, () => expect.unreachable())
  expect(undecodable.texts).toEqual([
    '100 records of results cannot be decoded, the first at results/3@0: The registry is away.',
  ])
  expect(asked).toHaveLength(4) // an outage does not delay each record
})

test('a nested callback among the dead letters is shown', async () => {
  const value = Buffer.from(`${'['.repeat(5000)}${']'.repeat(5000)}`)
  const record = { offset: 0, timestamp: 0, key, value, headers: { 'busgate.error.stage': 'callback' } }
  const [letter] = lettersOf({ topic: 'a', partition: 0 }, [record])
  const { decoded } = await contentReader(settings)(letter!)
  expect(() => stringifyJson(shown(decoded, true))).not.toThrow()
})
