import type { ServerResponse } from 'node:http'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { createDecoder } from '../../src/records/decoder.ts'
import { RegistryUnavailable, SchemaNotFound, SchemaRefused } from '../../src/records/errors.ts'
import type { SendCommand } from '../../src/records/generated.ts'
import { confluentRegistry, embeddedRegistry } from '../../src/records/registry.ts'
import { schemas } from '../../src/records/schemas.ts'
import { buildCommand } from '../support/commands.ts'
import { decodeWith, encodeCommand, recordOf } from './codec.ts'
import { startRegistry } from './registry-server.ts'

let server: Awaited<ReturnType<typeof startRegistry>>
beforeEach(async () => {
  server = await startRegistry()
})
afterEach(() => server.stop())

const registry = (timeoutMs = 5000) => confluentRegistry({ url: server.url, timeoutMs })
const host = () => new URL(server.url).host

describe('a Confluent registry', () => {
  test('lets one program read the records of another', async () => {
    const bytes = await encodeCommand(buildCommand(), registry())
    const decoder = createDecoder<SendCommand>(schemas.command, registry())
    expect(await decodeWith(decoder, bytes)).toEqual({ ok: true, value: buildCommand() })
  })

  test.each([
    ['no level of its own', undefined],
    ['a level that busgate does not advise', 'BACKWARD'],
  ])('keeps the compatibility level of a subject at registration, with %s', async (_, level) => {
    if (level) server.setLevel('busgate.results-value', level)
    expect(await registry().idOf('busgate.results-value', schemas.result)).toBe(1)
    expect(server.requests.filter(request => request.startsWith('PUT'))).toEqual([])
    expect(server.requests.at(-1)).toBe('POST /subjects/busgate.results-value/versions')
  })

  test('may have an address with a path and a slash at its end', async () => {
    const elsewhere = confluentRegistry({ url: `${server.url}/apis/ccompat/v7/` })
    await expect(elsewhere.schemaOf(1)).rejects.toThrow(SchemaNotFound)
    expect(server.requests).toEqual(['GET /apis/ccompat/v7/schemas/ids/1'])
  })

  test('may not have credentials in its address, because addresses are logged', () => {
    expect(() => confluentRegistry({ url: 'http://busgate:secret@localhost' })).toThrow(/registry\.password/)
  })

  test.each([
    ['Protobuf', { schema: 'syntax = "proto3";', schemaType: 'PROTOBUF' }, /PROTOBUF, not Avro/],
    ['no JSON', { schema: 'record' }, /not JSON/],
    ['no Avro', { schema: '{"type":"recrod"}' }, /recrod/],
  ])('makes a record unreadable for ever if its schema is %s', async (_name, stored, message) => {
    server.put(4, stored)
    const decoder = createDecoder(schemas.command, registry())
    expect(await decodeWith(decoder, recordOf(4, [2]))).toEqual({
      ok: false,
      error: { code: 'SCHEMA_INCOMPATIBLE', message: expect.stringMatching(message) },
    })
  })

  test.each([
    ['Confluent has no such subject', 40401],
    ['Confluent has no such version', 40402],
    ['Confluent has no such schema', 40403],
  ])('lacks a schema if it says so: %s', async (_, code) => {
    server.fail((_request, response) => response.writeHead(404).end(JSON.stringify({ error_code: code })))
    await expect(registry().schemaOf(4)).rejects.toThrow(SchemaNotFound)
  })

  test('makes a record unreadable if its schema is missing', async () => {
    const decoder = createDecoder(schemas.command, registry())
    expect(await decodeWith(decoder, recordOf(4, [2]))).toEqual({
      ok: false,
      error: { code: 'SCHEMA_NOT_FOUND', message: expect.stringContaining(`${host()} has no schema 4`) },
    })
  })
})

describe('a registry that answers for other schemas', () => {
  const known = { status: 200, body: { schema: JSON.stringify(schemas.result) } }
  /** Answers for schema 1 as `others`, and for all others as `refused`. */
  const answerWith = (refused: { status: number; body: object }, others: typeof refused = known) =>
    server.fail((request, response) => {
      const { status, body } = request.url === '/schemas/ids/1' ? others : refused
      response.writeHead(status).end(JSON.stringify(body))
    })

  test.each([
    ['403 for another team', { status: 403, body: { error_code: 40301, message: 'not yours' } }],
    ['500', { status: 500, body: { error_code: 50001, message: 'store' } }],
    ['404 of a proxy', { status: 404, body: { title: 'Not Found' } }],
    ['200 without a schema', { status: 200, body: {} }],
  ])('does not have a schema for which it answers %s', async (_, refused) => {
    const one = registry()
    expect(await one.idOf('busgate.results-value', schemas.result)).toBe(1)
    answerWith(refused)
    await expect(one.schemaOf(7)).rejects.toThrow(SchemaNotFound)
    answerWith(refused, refused)
    await expect(one.schemaOf(7)).rejects.toThrow(RegistryUnavailable)
  })
})

describe('a registry that answers for other schemas, but breaks the connection for one', () => {
  const known = JSON.stringify({ schema: JSON.stringify(schemas.result) })
  const breakFor = (isBroken: (url: string) => boolean) =>
    server.fail((request, response) => {
      if (isBroken(request.url!)) request.socket.destroy()
      else response.writeHead(200).end(known)
    })
  const tries = async (one: ReturnType<typeof registry>, count: number) => {
    const errors: unknown[] = []
    for (let i = 0; i < count; i++) errors.push(await one.schemaOf(7).then(String, (error: Error) => error.name))
    return errors
  }

  test('does not have that schema, after ten requests in a row', async () => {
    const one = registry()
    await one.idOf('busgate.results-value', schemas.result)
    breakFor(url => url.endsWith('/7'))
    expect(new Set(await tries(one, 9))).toEqual(new Set(['RegistryUnavailable']))
    expect(await tries(one, 2)).toEqual(['SchemaNotFound', 'SchemaNotFound'])
    breakFor(() => false)
    expect(await one.schemaOf(7)).toEqual(schemas.result)
  })

  test('is unavailable as long as it answers for none in between', async () => {
    const one = registry()
    await one.idOf('busgate.results-value', schemas.result)
    for (let i = 0; i < 4; i++) {
      breakFor(url => url.endsWith('/7'))
      expect(new Set(await tries(one, 5))).toEqual(new Set(['RegistryUnavailable']))
      breakFor(() => true)
      expect(await tries(one, 1)).toEqual(['RegistryUnavailable'])
    }
  })
})

describe('a schema with references', () => {
  const reference = (name: string, subject: string, version = 1) => ({ name, subject, version })
  const put = (schema: unknown, references: object[] = []) =>
    server.put(9, { schema: JSON.stringify(schema), references: references as never })
  const record = (name: string, type: unknown) => ({ type: 'record', name, fields: [{ name: 'a', type }] })
  /** Why the schema is refused; null if it is not. */
  const complaint = () =>
    registry()
      .schemaOf(9)
      .then(
        () => null,
        (error: Error) => error.message,
      )

  test('to other subjects is assembled, including nested references', async () => {
    const fields = [
      { name: 'id', type: 'long' },
      { name: 'to', type: ['null', 'Address'] },
      { name: 'from', type: { type: 'array', items: 'com.shop.Address' } },
    ]
    put({ type: 'record', name: 'Order', namespace: 'com.shop', fields }, [reference('com.shop.Address', 'address')])
    server.putVersion('address', 1, {
      schema: JSON.stringify(record('com.shop.Address', 'Country')),
      references: [reference('com.shop.Country', 'country')],
    })
    const country = { type: 'enum', name: 'Country', namespace: 'com.shop', symbols: ['UA', 'PL'] }
    server.putVersion('country', 1, { schema: JSON.stringify(country) })
    const decoder = createDecoder(await registry().schemaOf(9), registry())
    expect(await decodeWith(decoder, recordOf(9, [2, 2, 0, 2, 2, 0]))).toEqual({
      ok: true,
      value: { id: 1n, to: { a: 'UA' }, from: [{ a: 'PL' }] },
    })
  })

  test.each<[string, unknown, number[], unknown]>([
    ['as a field', 'com.shop.A', [8], { a: 4 }],
    ['in a union', ['null', 'com.shop.A'], [2, 8], { a: 4 }],
    ['in a list', { type: 'array', items: 'com.shop.A' }, [2, 8, 0], [{ a: 4 }]],
    ['in a map', { type: 'map', values: 'com.shop.A' }, [2, 2, 107, 8, 0], { k: { a: 4 } }],
    [
      'in a list of maps',
      { type: 'array', items: { type: 'map', values: 'A' } },
      [2, 2, 2, 107, 8, 0, 0],
      [{ k: { a: 4 } }],
    ],
    ['by an alias of its kind', { type: { type: 'array', items: 'A' } }, [2, 8, 0], [{ a: 4 }]],
  ])('is assembled wherever it names a type for the first time: %s', async (_, type, bytes, value) => {
    put(record('com.shop.Order', type), [reference('com.shop.A', 'a')])
    server.putVersion('a', 1, { schema: JSON.stringify(record('com.shop.A', 'int')) })
    const decoder = createDecoder(await registry().schemaOf(9), registry())
    expect(await decodeWith(decoder, recordOf(9, bytes))).toEqual({ ok: true, value: { a: value } })
  })

  test('is assembled if a reference is named after a file, or contains several definitions', async () => {
    put(record('com.shop.Order', ['null', 'Address', 'Country']), [reference('types.avsc', 'types')])
    const list = [
      record('com.shop.Address', 'com.shop.Country'),
      { type: 'enum', name: 'com.shop.Country', symbols: ['UA'] },
    ]
    server.putVersion('types', 1, { schema: JSON.stringify(list) })
    const decoder = createDecoder(await registry().schemaOf(9), registry())
    expect(await decodeWith(decoder, recordOf(9, [2, 0]))).toMatchObject({
      ok: true,
      value: { a: { a: 'UA' } },
    })
  })

  test('is assembled if it defines a type that a reference defines, too', async () => {
    const country = { type: 'enum', name: 'com.shop.Country', symbols: ['UA', 'PL'] }
    const fields = [
      { name: 'to', type: 'com.shop.Address' },
      { name: 'from', type: country },
    ]
    put({ type: 'record', name: 'com.shop.Order', fields }, [reference('com.shop.Address', 'address')])
    server.putVersion('address', 1, { schema: JSON.stringify(record('com.shop.Address', country)) })
    const decoder = createDecoder(await registry().schemaOf(9), registry())
    expect(await decodeWith(decoder, recordOf(9, [0, 2]))).toEqual({ ok: true, value: { to: { a: 'UA' }, from: 'PL' } })
  })

  test('can be a union of its references', async () => {
    put(['com.shop.A', 'com.shop.B'], [reference('com.shop.A', 'a'), reference('com.shop.B', 'b')])
    for (const name of ['A', 'B']) {
      server.putVersion(name.toLowerCase(), 1, { schema: JSON.stringify(record(`com.shop.${name}`, 'int')) })
    }
    const decoder = createDecoder(record('com.shop.B', 'int'), registry())
    expect(await decodeWith(decoder, recordOf(9, [2, 8]))).toEqual({ ok: true, value: { a: 4 } })
  })

  test('means the primitive type by its name, even if a reference defines one like it', async () => {
    put({ type: 'record', name: 'A', namespace: 'com.shop', fields: [{ name: 'a', type: 'string' }] }, [
      reference('com.shop.string', 's'),
    ])
    server.putVersion('s', 1, { schema: JSON.stringify(record('com.shop.string', 'int')) })
    const decoder = createDecoder(record('A', 'string'), registry())
    expect(await decodeWith(decoder, recordOf(9, [2, 97]))).toEqual({ ok: true, value: { a: 'a' } })
  })

  test.each<[string, unknown]>([
    ['no list', 'com.shop.A'],
    ['a list of texts', ['com.shop.A']],
    ['without a version', [{ name: 'A', subject: 'a' }]],
    ['with a subject that no URL can hold', [{ name: 'A', subject: '\ud800', version: 1 }]],
    ['a hundred thousand', Array(100_000).fill(0)],
  ])('is refused if they are %s', async (_name, references) => {
    put('A', references as object[])
    await expect(registry().schemaOf(9)).rejects.toThrow(/its references are not subjects with versions/)
  })

  test.each([
    ['a hundred references', 100, null],
    ['one more', 101, 'Schema 9 cannot be read: it has more than 100 references.'],
  ])('may have %s', async (_, count, error) => {
    const all = Array.from({ length: count }, (_, i) => reference(`com.shop.R${i}`, `r${i}`))
    for (const { name, subject } of all) server.putVersion(subject, 1, { schema: JSON.stringify(record(name, 'int')) })
    put(record('com.shop.Order', 'com.shop.R0'), all)
    expect(await complaint()).toBe(error)
  })

  test.each([
    ['262,144 characters', 0, null],
    ['one more', 1, 'Schema 9 cannot be read: it is longer than 262144 bytes.'],
  ])('may have %s together with them', async (_, more, error) => {
    const referenced = JSON.stringify({ ...record('com.shop.A', 'int'), doc: 'd'.repeat(100_000) })
    server.putVersion('a', 1, { schema: referenced })
    const schema = JSON.stringify({ ...record('com.shop.Order', 'com.shop.A'), doc: '' })
    const doc = 'd'.repeat(262_144 + more - referenced.length - schema.length)
    put({ ...record('com.shop.Order', 'com.shop.A'), doc }, [reference('com.shop.A', 'a')])
    expect(await complaint()).toBe(error)
  })

  test.each([
    ['64 levels of types', 62, null],
    ['one more', 63, 'Schema 9 cannot be read: it has types nested deeper than 64 levels.'],
  ])('may have %s with them', async (_, levels, error) => {
    const chain = (level: number): unknown => (level === 0 ? 'int' : { type: 'array', items: chain(level - 1) })
    put(record('com.shop.Order', 'com.shop.Deep'), [reference('com.shop.Deep', 'deep')])
    server.putVersion('deep', 1, { schema: JSON.stringify(record('com.shop.Deep', chain(levels))) })
    expect(await complaint()).toBe(error)
  })

  test('may have references in a circle, each of which is requested once', async () => {
    put(record('com.shop.Order', 'com.shop.A'), [reference('com.shop.A', 'a')])
    const pair = [
      ['A', 'B'],
      ['B', 'A'],
    ] as const
    for (const [one, other] of pair) {
      const references = [reference(`com.shop.${other}`, other.toLowerCase())]
      const schema = JSON.stringify(record(`com.shop.${one}`, ['null', `com.shop.${other}`]))
      server.putVersion(one.toLowerCase(), 1, { schema, references })
    }
    const decoder = createDecoder(await registry().schemaOf(9), registry())
    expect(server.requests).toHaveLength(3)
    expect(await decodeWith(decoder, recordOf(9, [2, 2, 0]))).toEqual({
      ok: true,
      value: { a: { a: { a: { a: null } } } },
    })
  })

  test('is refused if they form an endless chain', async () => {
    put('R1', [reference('R1', 'r', 1)])
    server.fail((request, response) => {
      const version = Number(request.url?.match(/versions\/(\d+)$/)?.[1] ?? 0)
      const references = [reference(`R${version + 1}`, 'r', version + 1)]
      response.end(JSON.stringify({ schema: JSON.stringify(record(`R${version}`, `R${version + 1}`)), references }))
    })
    await expect(registry().schemaOf(9)).rejects.toThrow(/has more than 100 references/)
    expect(server.requests).toHaveLength(101)
  })

  test('is refused if they are nested without end', async () => {
    const chain = (level: number): unknown => (level === 0 ? 'int' : { type: 'array', items: chain(level - 1) })
    put('Deep', [reference('Deep', 'deep')])
    server.putVersion('deep', 1, { schema: JSON.stringify(record('Deep', chain(1000))) })
    await expect(registry().schemaOf(9)).rejects.toThrow(/nested deeper than 64 levels/)
  })
})

describe('a registry', () => {
  const refused = (message: RegExp) => expect.objectContaining({ message: expect.stringMatching(message) })

  test('that is down is reported as unavailable, and used again once it is back', async () => {
    const id = await registry().idOf('any', schemas.command)
    const client = registry()
    await server.stop()
    await expect(client.schemaOf(id)).rejects.toThrow(RegistryUnavailable)
    await expect(client.idOf('any', schemas.command)).rejects.toEqual(refused(/did not answer: connect ECONNREFUSED/))
    await server.start()
    expect(await client.schemaOf(id)).toEqual(schemas.command)
  })

  test('that does not answer is given up after the time-out, and used again later', async () => {
    const id = await registry().idOf('any', schemas.command)
    const client = registry(1000)
    server.fail(() => {})
    await expect(client.schemaOf(id)).rejects.toEqual(refused(/did not answer within 1000 ms/))
    await expect(client.idOf('any', schemas.command)).rejects.toThrow(RegistryUnavailable)
    server.fail()
    expect(await client.schemaOf(id)).toEqual(schemas.command)
  })

  test.each([
    ['stops in the middle of an answer', false],
    ['cuts the connection in the middle of an answer', true],
  ])('that %s is given up after the time-out', async (_name, cut) => {
    server.fail((_request, response) => {
      response.writeHead(200, { 'content-length': 100 }).write('{"schema":', () => cut && response.destroy())
    })
    await expect(registry(50).schemaOf(1)).rejects.toThrow(RegistryUnavailable)
  })

  test.each([
    ['500', 500, '{"error_code":50001,"message":"Error in the backend data store"}', /backend data store/],
    ['401', 401, '{"error_code":401,"message":"Unauthorized"}', /check registry\.username/],
    ['404 with a page', 404, '<html>404</html>', /check registry\.url/],
    ['404 like a proxy in front of it', 404, '{"message":"no Route matched"}', /check registry\.url/],
    ['404 like another service', 404, '{"error_code":404,"message":"Not Found"}', /check registry\.url/],
    ['something else', 200, '<html>Welcome</html>', /without a schema/],
  ])('that answers %s counts as unavailable, not as lacking the schema', async (_name, status, body, message) => {
    server.fail((_request, response) => response.writeHead(status).end(body))
    const request = registry().schemaOf(1)
    await expect(request).rejects.toThrow(RegistryUnavailable)
    await expect(request).rejects.toEqual(refused(message))
  })

  test('whose answer never ends is given up after 512 KiB', async () => {
    let sent = 0
    server.fail((_request, response) => {
      const more = () => {
        for (let room = true; room && !response.destroyed; sent += 65_536)
          room = response.write(Buffer.alloc(65_536, 32))
      }
      response.on('drain', more)
      more()
    })
    await expect(registry().schemaOf(1)).rejects.toThrow(/the registry's answer is longer than 524288 bytes/)
    expect(sent).toBeLessThan(16 * 2 ** 20)
  })

  test('that answers slowly has one time-out for a schema with its references', async () => {
    const references = [{ name: 'R', subject: 'r', version: 1 }]
    server.fail((_request, response) => {
      setTimeout(
        () => response.end(JSON.stringify({ schema: '"R"', references: [{ ...references[0], version: requests() }] })),
        20,
      )
    })
    const requests = () => server.requests.length
    await expect(registry(200).schemaOf(1)).rejects.toEqual(refused(/did not answer within 200 ms/))
    expect(requests()).toBeLessThan(100)
  })

  test('gets at most 16 requests at once, and the queued ones fail if it becomes unavailable', async () => {
    const held: ServerResponse[] = []
    let [most, answered] = [0, 0]
    const answerAll = () => {
      most = Math.max(most, held.length)
      answered += held.length
      for (const response of held.splice(0)) response.writeHead(404).end('{"error_code":40403,"message":"not found"}')
    }
    server.fail((_request, response) => {
      held.push(response)
      if (held.length === Math.min(16, 200 - answered)) setTimeout(answerAll, 20) // time for one request too many
    })
    const client = registry()
    const ids = Array.from({ length: 200 }, (_, id) => id + 1)
    const missing = await Promise.allSettled(ids.map(id => client.schemaOf(id)))
    expect(missing.every(({ status }) => status === 'rejected')).toBe(true)
    expect([most, server.requests.length]).toEqual([16, 200])

    server.fail((_request, response) => response.writeHead(503).end())
    await Promise.allSettled(ids.map(id => client.schemaOf(id)))
    expect(server.requests.length).toBeLessThanOrEqual(200 + 2 * 16)
    server.fail()
    await expect(client.schemaOf(1)).rejects.toThrow(SchemaNotFound)
  })

  test('that refuses a schema causes an error that says what to do', async () => {
    server.fail((_request, response) =>
      response.writeHead(409).end('{"error_code":409,"message":"Schema being registered is incompatible"}'),
    )
    const request = registry().idOf('busgate.results-value', schemas.result)
    await expect(request).rejects.toThrow(SchemaRefused)
    await expect(request).rejects.toEqual(refused(/busgate\.results-value \(409\): Schema being.*use another topic/))
  })

  test('that refuses the second of two simultaneous registrations gets that request again', async () => {
    server.fail((_request, response) => {
      server.fail()
      response.writeHead(409).end('{"error_code":409,"message":"An artifact with that ID already exists"}')
    })
    expect(await registry().idOf('busgate.results-value', schemas.result)).toBe(1)
  })

  test('that answers without an id counts as unavailable', async () => {
    server.fail((_request, response) => response.writeHead(200).end('{}'))
    await expect(registry().idOf('any', schemas.result)).rejects.toThrow(RegistryUnavailable)
  })
})

describe('the embedded registry', () => {
  test('gives each schema one id of its own', async () => {
    const embedded = embeddedRegistry()
    const ids = [
      await embedded.idOf('a-value', schemas.command),
      await embedded.idOf('b-value', schemas.result),
      await embedded.idOf('c-value', schemas.command),
    ]
    expect(ids).toEqual([1, 2, 1])
    expect(await embedded.schemaOf(2)).toEqual(schemas.result)
    await expect(embedded.schemaOf(3)).rejects.toThrow(SchemaNotFound)
  })
})
