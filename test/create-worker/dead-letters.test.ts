import { describe, expect, test, vi } from 'vitest'
import type { BusRecord } from '../../src/bus/port.ts'
import { confluentRegistry } from '../../src/records/registry.ts'
import { schemas } from '../../src/records/schemas.ts'
import { changedCommandSchema, encodeCommand, recordOf } from '../records/codec.ts'
import { startRegistry } from '../records/registry-server.ts'
import { until } from '../support/bus.ts'
import { buildCommand } from '../support/commands.ts'
import { allEventsOf } from '../support/events.ts'
import { laggingRegistry } from '../support/lagging-registry.ts'
import { startWorld, type World } from '../support/worker.ts'

/** How long a missing schema is requested again. */
const schemaPatienceMs = 10_000

const headersOf = ({ headers }: BusRecord) =>
  Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, String(value)]))

describe('a record that cannot be read', () => {
  const unreadable: [what: string, code: string, value: (world: World) => Buffer | null][] = [
    ['that is truncated', 'TRUNCATED', world => world.encode(buildCommand()).subarray(0, 20)],
    ['in another format', 'NOT_CONFLUENT', () => Buffer.from('{"id":42,"phone":380501234567}')],
    ['whose schema is missing in the registry', 'SCHEMA_NOT_FOUND', () => recordOf(4711, [1, 2, 3])],
  ]

  const upstream = { trace: 'abc', twice: ['one', 'two'] }
  /** Headers that only busgate writes. */
  const ours = {
    'busgate.error.key': 'none',
    'busgate.error.last-offset': '99',
    'busgate.replayed.from': 'busgate.dead-letters/0@5',
    'busgate.lifetime': ['60', '60'],
  }

  test.each(unreadable)(
    '%s becomes an unchanged dead letter with the reason, and the other commands are sent',
    async (_, code, of) => {
      const world = await startWorld()
      const value = of(world)
      const before = Date.now()
      const published: unknown[] = []
      world.worker.telemetry.on('deadLetter.published', letter => published.push(letter))
      await world.send([buildCommand({ id: 1n })])
      await world.produceRaw(value, { key: Buffer.from('a key'), headers: { ...upstream, ...ours } })
      await world.send([buildCommand({ id: 2n })])
      await world.finished(2)
      await until(() => expect(world.deadLetters()).toHaveLength(1), schemaPatienceMs + 10_000)
      await world.quiet()

      expect(world.results().map(({ id, outcome }) => `${id} ${outcome}`)).toEqual(['1 SENT', '2 SENT'])
      expect(world.deadLetters()).toHaveLength(1)
      const [letter] = world.deadLetters() as [BusRecord]
      expect(letter.key?.toString()).toBe('a key')
      expect(letter.value).toEqual(value)
      const { 'busgate.error.timestamp': timestamp, ...headers } = headersOf(letter)
      expect(headers).toEqual({
        trace: 'abc',
        twice: 'one,two',
        'busgate.error.stage': 'decode',
        'busgate.error.code': code,
        'busgate.error.message': expect.stringMatching(/.{20,}\./),
        'busgate.error.topic': world.settings.topics.commands.at(-1),
        'busgate.error.partition': '0',
        'busgate.error.offset': '1',
      })
      const first = { topic: world.settings.topics.commands.at(-1), partition: 0, offset: 1 }
      expect(published).toEqual([{ stage: 'decode', code, count: 1, first }])
      expect(Number(timestamp)).toBeGreaterThanOrEqual(before)
    },
  )

  test.each([
    ['with its schema id in headers', Buffer.from([14, 2, 4]), { 'apicurio.value.globalId': Buffer.alloc(8, 1) }],
    ['with a schema id of 8 bytes', Buffer.from([0, 0, 0, 0, 0, 0, 0, 0, 7, 14, 2, 4]), {}],
  ])(
    "of Apicurio's serializer %s becomes a dead letter that names the settings which make it readable",
    async (_name, value, headers) => {
      const world = await startWorld()
      await world.produceRaw(value, { headers })
      await until(() => expect(world.deadLetters()).toHaveLength(1))
      const { 'busgate.error.code': code, 'busgate.error.message': message } = headersOf(world.deadLetters()[0]!)
      expect([code, message]).toEqual([
        'NOT_CONFLUENT',
        expect.stringMatching(
          /set apicurio\.registry\.headers\.enabled=false, apicurio\.registry\.as-confluent=true and apicurio\.registry\.use-id=contentId\.$/,
        ),
      ])
    },
  )
})

describe('a command with a newer schema', () => {
  const newer = changedCommandSchema(({ fields }) => {
    fields.push({ name: 'season', type: ['null', 'string'], doc: 'Of a later version.', default: null })
  })

  test('waits while the registry lacks the schema, and other commands are sent', async () => {
    const registry = laggingRegistry()
    const world = await startWorld({ registry })
    await world.send([buildCommand({ id: 1n })])
    await world.finished(1)
    const newcomer = await encodeCommand({ ...buildCommand({ id: 7n }), campaign: 'spring' }, registry, newer)
    const schemaId = newcomer.readUInt32BE(1)
    registry.isLagging = true
    await world.produceRaw(newcomer)
    await world.send([buildCommand({ id: 2n })])
    await until(() => expect(registry.asked.filter(id => id === schemaId).length).toBeGreaterThan(2))
    await world.finished(2)
    registry.isLagging = false
    await world.finished(3)
    await world.quiet()
    expect(world.results().map(({ id, outcome }) => `${id} ${outcome}`)).toEqual(['1 SENT', '2 SENT', '7 SENT'])
    expect(world.deadLetters()).toEqual([])
  })

  test('waits while the registry is unavailable, and other commands are sent', async () => {
    const server = await startRegistry()
    const registry = confluentRegistry({ url: server.url })
    const world = await startWorld({ registry })
    const newcomer = await encodeCommand({ ...buildCommand({ id: 7n }), season: 'spring' }, registry, newer)
    await world.send([buildCommand({ id: 1n })])
    await until(() => expect([world.results(), world.statuses()]).toMatchObject([[{}], [{}]]))
    const unavailable = vi.fn()
    allEventsOf(world.worker).on('registry.unavailable', unavailable)
    await server.stop()
    await world.produceRaw(newcomer)
    await world.send([buildCommand({ id: 2n })])
    await world.finished(2)
    await until(() => expect(unavailable).toHaveBeenCalled())
    expect(world.results().map(({ id }) => id)).toEqual([1n, 2n])

    await server.start()
    await world.finished(3)
    await world.quiet()
    expect(world.resultOf(7)).toMatchObject({ outcome: 'SENT', commandOffset: 1 })
    expect(world.results()).toHaveLength(3)
    expect(world.deadLetters()).toEqual([])
    await server.stop()
  })
})

describe('invalid records with many schema ids', () => {
  const count = 300

  test('do not delay commands while the registry is unavailable, and are logged in one line', async () => {
    const server = await startRegistry()
    const world = await startWorld({ registry: confluentRegistry({ url: server.url }) })
    await world.send([buildCommand({ id: 1n })])
    await until(() => expect([world.results(), world.statuses()]).toMatchObject([[{}], [{}]]))
    const logged = { unavailable: 0, available: 0 }
    allEventsOf(world.worker).on('registry.unavailable', () => void logged.unavailable++)
    allEventsOf(world.worker).on('registry.available', () => void logged.available++)
    server.fail((_request, response) => response.writeHead(503).end())
    server.requests.length = 0
    await Promise.all(Array.from({ length: count }, (_, id) => world.produceRaw(recordOf(1000 + id, [2]))))
    await world.send([buildCommand({ id: 2n })])
    await world.finished(2)
    const warnings = () => world.worker.ready().warnings
    await until(() =>
      expect(warnings()).toEqual([
        ...Array(5).fill(
          expect.stringMatching(
            /^the record at \S+@\d+ has waited since \S+ for schema \d+: the registry cannot be asked for it$/,
          ),
        ),
        'records wait for 295 more schemas',
      ]),
    )
    expect([logged, world.worker.ready().ready]).toEqual([{ unavailable: 1, available: 0 }, true])

    server.fail()
    await until(() => expect(world.deadLetters()).toHaveLength(count), 60_000)
    expect([logged, warnings()]).toEqual([{ unavailable: 1, available: 1 }, []])
    await server.stop()
  })

  test('that the registry lacks become dead letters that are logged in one line', async () => {
    const server = await startRegistry()
    const world = await startWorld({ registry: confluentRegistry({ url: server.url }) })
    const counts: number[] = []
    world.worker.telemetry.on('deadLetter.published', letters => counts.push(letters.count))
    await Promise.all(Array.from({ length: count }, (_, id) => world.produceRaw(recordOf(1000 + id, [2]))))
    await until(() => expect(world.deadLetters()).toHaveLength(count), 60_000)
    await until(() => expect(counts.reduce((sum, one) => sum + one, 0)).toBe(count))
    expect(counts.length).toBeLessThan(count / 3)
    await server.stop()
  })
})

test('a record of another schema is a dead letter, and no warning at /readyz: nothing waits for it', async () => {
  const world = await startWorld()
  const id = await world.registry.idOf('any', schemas.status)
  await world.produceRaw(recordOf(id, [2]))
  await until(() => expect(world.deadLetters()).toHaveLength(1))
  const readyz = await fetch(`http://127.0.0.1:${world.worker.ports.telemetry}/readyz`)
  expect([readyz.status, await readyz.json()]).toMatchObject([200, { ready: true, reasons: [], warnings: [] }])
})

describe('a readable command that cannot be sent', () => {
  test('is INVALID if a text is not UTF-8', async () => {
    const world = await startWorld()
    const bytes = world.encode(buildCommand({ id: 7n }))
    bytes[bytes.indexOf('Your order')] = 0xcf
    await world.produceRaw(bytes)
    await world.finished(1)
    expect(world.resultOf(7)).toMatchObject({ outcome: 'INVALID', error: 'sms_message is not UTF-8' })
    expect(world.sandbox.stats()).toMatchObject({ executed: 0 })
  })
})
