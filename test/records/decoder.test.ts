import fc from 'fast-check'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { sendTypes } from '../../src/protocol/index.ts'
import { createDecoder, decodePatiently } from '../../src/records/decoder.ts'
import { createEncoder } from '../../src/records/encoder.ts'
import type { SendCommand } from '../../src/records/generated.ts'
import { embeddedRegistry, type SchemaRegistry } from '../../src/records/registry.ts'
import { type AvroEnum, type AvroRecord, schemas } from '../../src/records/schemas.ts'
import { ManualClock } from '../support/clock.ts'
import { buildCommand, buildCommandOf } from '../support/commands.ts'
import { laggingRegistry } from '../support/lagging-registry.ts'
import { buildResult } from '../support/results.ts'
import { buildStatusEvent } from '../support/status-events.ts'
import { changedCommandSchema, decodeWith, encodeCommand, long, recordOf, throughTheBus } from './codec.ts'

const fieldOf = (schema: AvroRecord, name: string) => schema.fields.find(field => field.name === name)!
const without = (schema: AvroRecord, name: string) => {
  schema.fields = schema.fields.filter(field => field.name !== name)
}
const refusedWith = (code: string, message: RegExp = /./) => ({
  ok: false,
  error: { code, message: expect.stringMatching(message) },
})

describe('with the published schema', () => {
  test.each(sendTypes)('a command of type %s is decoded unchanged', async type => {
    const command = buildCommandOf(type, {
      deadline: 1_763_000_000_000,
      delivery: 'AT_MOST_ONCE',
      hook: 'https://shop.example/hook',
      correlationId: 'order 7',
      tenant: 'shop',
      extra: { campaign: '"spring"' },
    })
    expect(await throughTheBus(command)).toEqual({ ok: true, value: command })
  })

  test.each([1n, 2n ** 53n + 1n, 2n ** 63n - 1n, 0n, -1n])('the id %s keeps all digits', async id => {
    expect(await throughTheBus(buildCommand({ id }))).toMatchObject({ ok: true, value: { id } })
  })

  test('an omitted field has its default', async () => {
    const { id, phone } = buildCommand()
    const message = { 'io.busgate.Sms': { sms_message: 'Hi', sms_signature: 'Shop' } }
    const nothing = { short_link: null, sms_lifetime: null, unsubscribe_link: null }
    expect(await throughTheBus({ id, phone, message })).toEqual({
      ok: true,
      value: buildCommandOf('sms', {}, { ...message['io.busgate.Sms'], ...nothing }),
    })
  })

  test('a key __proto__ in extra is read like any other', async () => {
    const command = buildCommand({ extra: { __prot0__: '1' } })
    const bytes = await encodeCommand(command, embeddedRegistry())
    bytes.write('__proto__', bytes.indexOf('__prot0__'))
    const registry = embeddedRegistry()
    await registry.idOf('any', schemas.command)
    const decoded = await decodeWith(createDecoder<SendCommand>(schemas.command, registry), bytes)
    expect(decoded.ok && Object.entries(decoded.value.extra)).toEqual([['__proto__', '1']])
  })

  test('a text with a negative length is refused, wherever the bytes before it would go on', async () => {
    const registry = embeddedRegistry()
    const text = 'x'.repeat(20)
    const bytes = await encodeCommand(buildCommandOf('sms', {}, { sms_message: text, sms_signature: 'Shop' }), registry)
    await registry.idOf('any', schemas.command)
    const length = bytes.indexOf(text) - 1
    for (let one = 1; one < 128; one += 2) {
      bytes[length] = one // zigzag: odd numbers are negative
      const decoded = await decodeWith(createDecoder<SendCommand>(schemas.command, registry), bytes)
      expect(decoded).toMatchObject({ ok: false, error: { message: expect.stringContaining('negative') } })
    }
  })

  test.each([
    ['Latin-1', Buffer.from('caf\u00e9!', 'latin1')],
    ['CESU-8', Buffer.from([0xed, 0xa0, 0xbd, 0xed, 0xb8, 0x80])],
    ['windows-1251', Buffer.from([0xcf, 0xf0, 0xe8, 0xe2, 0xb3, 0xf2])],
    ['bytes without a first one', Buffer.from(Array(50).fill(0x80))],
  ])('invalid UTF-8 in %s is reported with the name of its field', async (_name, text) => {
    const registry = embeddedRegistry()
    const mark = 'x'.repeat(text.length)
    const sms = { sms_message: mark, sms_signature: 'Магазин' }
    const bytes = await encodeCommand(buildCommandOf('sms', {}, sms), registry)
    text.copy(bytes, bytes.indexOf(mark))
    const decoded = await decodeWith(createDecoder<SendCommand>(schemas.command, registry), bytes)
    expect(decoded).toMatchObject({ ok: true, flaw: 'sms_message is not UTF-8' })
  })

  test.each([
    ['phone', 380501234567890123n],
    ['deadline', 2n ** 63n - 1n],
    ['deadline', -(2n ** 63n)],
  ])('the %s %s, beyond 2^53, is read as the nearest number', async (field, value) => {
    const bytes = recordOf(1, [...long(1), ...long(value)])
    const pair = (name: string) => ({
      type: 'record',
      name: 'Pair',
      fields: [
        { name: 'id', type: 'long' },
        { name, type: 'long' },
      ],
    })
    const registry = embeddedRegistry()
    await registry.idOf('any', pair(field))
    const decoded = await decodeWith(createDecoder(pair(field), registry), bytes)
    expect(decoded).toEqual({ ok: true, value: { id: 1n, [field]: Number(value) } })
  })
})

describe('with the schema of another version', () => {
  const added: [kind: 'command' | 'result' | 'status', field: string, value: object][] = [
    ['status', 'extra', buildStatusEvent({ extra: '{"price":0.05}' })],
    ...['campaign', 'commandType', 'country', 'eventId'].map(
      field => ['status', field, buildStatusEvent({ campaign: 'spring' })] as (typeof added)[number],
    ),
    ...['campaign', 'hooked', 'commandAt', 'country'].map(
      field => ['result', field, buildResult({ campaign: 'spring' })] as (typeof added)[number],
    ),
    ['command', 'campaign', buildCommand({ campaign: 'spring' })],
  ]
  test.each(added)(
    'a %s without the field %s is read by the newer version, and with it by the older one',
    async (kind, field, value) => {
      const registry = embeddedRegistry()
      const older = structuredClone(schemas[kind])
      without(older, field)
      const { [field]: _, ...rest } = value as Record<string, unknown>
      const [encodeOlder, encodeNewer] = await Promise.all(
        [older, schemas[kind]].map(schema => createEncoder<object>('statuses-value', schema, registry)),
      )
      const newerReader = createDecoder<object>(schemas[kind], registry)
      const olderReader = createDecoder<object>(older, registry)
      expect(await decodeWith(newerReader, encodeOlder!(rest))).toEqual({ ok: true, value: { ...rest, [field]: null } })
      expect(await decodeWith(olderReader, encodeNewer!(value))).toEqual({ ok: true, value: rest })
    },
  )

  test('an unknown field is skipped, even an array or a map', async () => {
    const schema = changedCommandSchema(({ fields }) => {
      fields.unshift({ name: 'labels', type: { type: 'array', items: 'string' }, doc: '' })
      fields.unshift({ name: 'notes', type: { type: 'map', values: 'string' }, doc: '' })
    })
    const command = buildCommand()
    const newer = { ...command, labels: ['a', 'b'], notes: { a: 'b' } }
    expect(await throughTheBus(newer, schema)).toEqual({ ok: true, value: command })
  })

  test('a command is read if the schema has only one type of message, even in another namespace', async () => {
    const schema = changedCommandSchema(changed => {
      changed.namespace = 'com.shop'
      const field = fieldOf(changed, 'message')
      field.type = (field.type as AvroRecord[])[0]!
    })
    const command = buildCommand()
    const { 'io.busgate.Sms': sms } = command.message as { 'io.busgate.Sms': object }
    expect(await throughTheBus({ ...command, message: sms }, schema)).toEqual({ ok: true, value: command })
  })

  test('a field and a record are found by an alias that the reader has, unless the writer has its name', async () => {
    const [x, y, why] = [{ name: 'x', aliases: ['toString', 'old'] }, { name: 'y' }, { default: 'why' }]
    const inner = {
      type: 'record',
      name: 'New',
      aliases: ['Old'],
      fields: [
        { ...x, type: 'int' },
        { ...y, ...why, type: 'string' },
      ],
    }
    const reader = { type: 'record', name: 'Top', fields: [{ name: 'part', type: inner }] }
    const read = (names: string[]) => {
      const part = { type: 'record', name: 'Old', fields: names.map(name => ({ name, type: 'int' })) }
      const writer = { type: 'record', name: 'Top', fields: [{ name: 'part', type: part }] }
      const decoder = createDecoder(reader, { schemaOf: async () => writer, idOf: async () => 1 })
      return decodeWith(
        decoder,
        recordOf(
          1,
          names.flatMap((_, i) => long(i + 1)),
        ),
      )
    }
    expect(await read(['a', 'old'])).toEqual({ ok: true, value: { part: { x: 2, y: 'why' } } })
    expect(await read(['old', 'x'])).toEqual({ ok: true, value: { part: { x: 2, y: 'why' } } })
    expect(await read(['a'])).toEqual(
      refusedWith('SCHEMA_INCOMPATIBLE', /part lacks the field x of New\. Write with the published schema\.$/),
    )
  })

  test('an id of type int is read as a bigint', async () => {
    const schema = changedCommandSchema(changed => {
      fieldOf(changed, 'id').type = 'int'
    })
    expect(await throughTheBus({ ...buildCommand(), id: 7 }, schema)).toMatchObject({ ok: true, value: { id: 7n } })
  })

  test.each<[written: string, wanted: string, bytes: number[], value: number | null]>([
    ...['long', 'float', 'double'].map(wanted => ['int', wanted, [14], 7] as [string, string, number[], number]),
    ...['float', 'double'].map(wanted => ['long', wanted, [14], 7] as [string, string, number[], number]),
    ['float', 'double', [0, 0, 0xc0, 0x3f], 1.5],
    ['long', 'int', [14], null],
    ['double', 'float', [0, 0, 0, 0, 0, 0, 0xf8, 0x3f], null],
    ['float', 'long', [0, 0, 0xc0, 0x3f], null],
  ])('a number written as %s is read as %s if that is wider: %j is %s', async (written, wanted, bytes, value) => {
    const [writer, reader] = [written, wanted].map(type => ({
      ...{ type: 'record', name: 'Top' },
      fields: [{ name: 'x', type }],
    }))
    const decoder = createDecoder(reader!, { schemaOf: async () => writer!, idOf: async () => 1 })
    const decoded = await decodeWith(decoder, recordOf(1, bytes))
    if (value === null) expect(decoded).toEqual(refusedWith('SCHEMA_INCOMPATIBLE', new RegExp(`x is ${written}`)))
    else expect(decoded).toEqual({ ok: true, value: { x: value } })
  })

  test('a command with an unknown delivery policy is refused, since there is no default; the others are read', async () => {
    const schema = changedCommandSchema(changed => {
      const policy = fieldOf(changed, 'delivery').type as AvroEnum
      policy.symbols.push('EXACTLY_ONCE')
    })
    const decoded = await throughTheBus({ ...buildCommand(), delivery: 'EXACTLY_ONCE' }, schema)
    expect(decoded).toEqual(refusedWith('SCHEMA_INCOMPATIBLE', /delivery is EXACTLY_ONCE\. .*upgrade busgate/))
    expect(await throughTheBus(buildCommand(), schema)).toEqual({ ok: true, value: buildCommand() })
  })

  test('known types of messages are read even if the schema has unknown ones', async () => {
    const schema = changedCommandSchema(changed => {
      const kinds = fieldOf(changed, 'message').type as AvroRecord[]
      kinds.push({ type: 'record', name: 'Fax', doc: '', fields: [{ name: 'page', type: 'string', doc: '' }] })
    })
    expect(await throughTheBus(buildCommand(), schema)).toEqual({ ok: true, value: buildCommand() })
    const fax = { ...buildCommand(), message: { 'io.busgate.Fax': { page: 'secret' } } }
    expect(await throughTheBus(fax, schema)).toEqual(
      refusedWith('SCHEMA_INCOMPATIBLE', /message is io\.busgate\.Fax\. Write with .*, or upgrade busgate/),
    )
  })

  describe('with a field that may be null although busgate requires it,', () => {
    const nullable = (name: string) =>
      changedCommandSchema(changed => {
        const field = fieldOf(changed, name)
        field.type = Array.isArray(field.type) ? ['null', ...field.type] : ['null', field.type]
        delete field.default
      })
    const filled = { account: 'shop', delivery: 'AT_MOST_ONCE', extra: { a: '1' } } as const

    test.each(['id', 'phone', 'message', 'account', 'delivery', 'extra'])(
      'the field %s is read if it has a value',
      async name => {
        const id = name === 'id' ? 1001 : 1001n // avsc finds our ids in a union by their plain type
        const decoded = await throughTheBus({ ...buildCommand(filled), id }, nullable(name))
        expect(decoded).toEqual({ ok: true, value: buildCommand({ ...filled, id: 1001n }) })
      },
    )

    test.each(['phone', 'message', 'account'])('the field %s is refused if it is null', async name => {
      const decoded = await throughTheBus({ ...buildCommand(), [name]: null }, nullable(name))
      expect(decoded).toEqual(refusedWith('DECODE', new RegExp(`${name} is null`)))
    })

    test('texts of the message and values of a map are read', async () => {
      const schema = changedCommandSchema(changed => {
        const [sms] = fieldOf(changed, 'message').type as AvroRecord[]
        fieldOf(sms!, 'sms_message').type = ['null', 'string']
        fieldOf(changed, 'extra').type = { type: 'map', values: ['null', 'string'] }
      })
      const command = buildCommand({ extra: { campaign: '"spring"' } })
      expect(await throughTheBus(command, schema)).toEqual({ ok: true, value: command })
      expect(await throughTheBus(buildCommand({ extra: { a: null as never } }), schema)).toEqual(
        refusedWith('DECODE', /extra\.a is null/),
      )
    })
  })

  test('a command is read if the schema is a union of records', async () => {
    const other = { type: 'record', name: 'Cancel', namespace: 'com.shop', fields: [{ name: 'id', type: 'long' }] }
    const registry = embeddedRegistry()
    const id = await registry.idOf('any', [other, schemas.command])
    const body = (await encodeCommand(buildCommand(), embeddedRegistry())).subarray(5)
    const decoder = createDecoder<SendCommand>(schemas.command, registry)
    expect(await decodeWith(decoder, recordOf(id, [2, ...body]))).toEqual({ ok: true, value: buildCommand() })
    expect(await decodeWith(decoder, recordOf(id, [0, ...long(7)]))).toEqual(
      refusedWith('SCHEMA_INCOMPATIBLE', /it is com\.shop\.Cancel/),
    )
  })

  test('a command is read though another record of the union has its name, and lacks its fields', async () => {
    const older = { type: 'record', name: 'SendCommand', namespace: 'old', fields: [{ name: 'id', type: 'long' }] }
    const registry = embeddedRegistry()
    const id = await registry.idOf('any', [older, schemas.command])
    const body = (await encodeCommand(buildCommand(), embeddedRegistry())).subarray(5)
    const decoder = createDecoder<SendCommand>(schemas.command, registry)
    expect(await decodeWith(decoder, recordOf(id, [2, ...body]))).toEqual({ ok: true, value: buildCommand() })
    expect(await decodeWith(decoder, recordOf(id, [0, ...long(7)]))).toEqual(
      refusedWith('SCHEMA_INCOMPATIBLE', /lacks the field/),
    )
  })

  test.each<[string, object]>([
    ['io.busgate.StatusEvent', schemas.status],
    ['io.busgate.StatusEvent or io.busgate.SendResult', [schemas.status, schemas.result]],
    ['string', { type: 'string' }],
  ])('a record of type %s is refused with the name of its type', async (name, schema) => {
    const registry = embeddedRegistry()
    const id = await registry.idOf('any', schema)
    const decoder = createDecoder<SendCommand>(schemas.command, registry)
    expect(await decodeWith(decoder, recordOf(id, [2]))).toEqual(
      refusedWith(
        'SCHEMA_INCOMPATIBLE',
        new RegExp(`^Schema 1 cannot be read as io.busgate.SendCommand: it is ${name}. Write with`),
      ),
    )
  })

  test('a command is refused if the schema lacks a required field', async () => {
    const schema = changedCommandSchema(changed => without(changed, 'phone'))
    const message = /it lacks the field phone of io\.busgate\.SendCommand\. Write with the published schema\.$/
    expect(await throughTheBus(buildCommand(), schema)).toEqual(refusedWith('SCHEMA_INCOMPATIBLE', message))
  })

  test('a deadline in microseconds is refused, and not read as milliseconds', async () => {
    const schema = changedCommandSchema(changed => {
      const micros = { type: 'long', logicalType: 'timestamp-micros' }
      fieldOf(changed, 'deadline').type = ['null', micros as never]
    })
    const decoded = await throughTheBus(buildCommand({ deadline: 1_763_000_000_000_000 }), schema)
    expect(decoded).toEqual(refusedWith('SCHEMA_INCOMPATIBLE', /deadline is timestamp-micros/))
    expect(await throughTheBus(buildCommand(), schema)).toEqual({ ok: true, value: buildCommand() })
  })

  test.each([
    ['an unknown one', { logicalType: 'toString' }],
    ['one of another type', { logicalType: 'uuid' }],
    ['no text', { logicalType: ['timestamp-micros'] }],
  ])('a logical type that is %s is ignored', async (_name, logical) => {
    const schema = changedCommandSchema(changed => {
      fieldOf(changed, 'phone').type = { type: 'long', ...logical } as never
      fieldOf(changed, 'deadline').type = ['null', { type: 'long', ...logical } as never]
    })
    const command = buildCommand({ deadline: 1_763_000_000_000 })
    const bytes = await encodeCommand(command, embeddedRegistry())
    const decoder = createDecoder(schemas.command, { schemaOf: async () => schema, idOf: async () => 1 })
    expect(await decodeWith(decoder, bytes)).toEqual({ ok: true, value: command })
  })

  describe('of a writer that names things like JavaScript does,', () => {
    const names = [...Object.getOwnPropertyNames(Object.prototype), 'prototype', 'then', 'toJSON', 'name', 'length']
    const hostile = fc.constantFrom(...names)
    const a = Buffer.from([2, 0x61])
    /** A type, with the bytes of one of its values. */
    const typed = fc.tuple(hostile, hostile, fc.nat(3)).map(([name, inner, kind]): [type: object, bytes: number[]] => {
      if (kind === 0) return [{ type: 'map', values: 'string' }, [2, ...a, ...a, 0]]
      if (kind === 1) return [{ type: 'bytes' }, [2, 0]]
      if (kind === 2) return [{ type: 'enum', name, symbols: [inner] }, [0]]
      const fields = [{ name: inner, type: 'long' }]
      return [
        ['null', { type: 'record', name, namespace: 'com.shop', fields }],
        [2, ...long(-(2n ** 40n))],
      ]
    })

    test('an additional field is skipped, whatever its name and type', async () => {
      const command = buildCommand({ extra: { a: '1' } })
      const body = (await encodeCommand(command, embeddedRegistry())).subarray(5)
      const place = fc.constantFrom('first', 'last')
      await fc.assert(
        fc.asyncProperty(hostile, typed, place, async (name, [type, bytes], where) => {
          const field = { name, type: type as never, doc: '' }
          const schema = changedCommandSchema(({ fields }) => {
            if (where === 'first') fields.unshift(field)
            else fields.push(field)
          })
          const decoder = createDecoder(schemas.command, { schemaOf: async () => schema, idOf: async () => 1 })
          const value = recordOf(1, where === 'first' ? [...bytes, ...body] : [...body, ...bytes])
          expect(await decodeWith(decoder, value)).toEqual({ ok: true, value: command })
        }),
        { numRuns: 300 },
      )
    })

    test('a key in extra is read, whatever its name', async () => {
      const command = buildCommand({ extra: { KEY: '1' } })
      const bytes = (await encodeCommand(command, embeddedRegistry())).toString('latin1')
      const decoder = createDecoder<SendCommand>(schemas.command, {
        schemaOf: async () => schemas.command,
        idOf: async () => 1,
      })
      await fc.assert(
        fc.asyncProperty(hostile, async key => {
          const value = Buffer.from(bytes.replace('\x06KEY', String.fromCharCode(...long(key.length)) + key), 'latin1')
          const decoded = await decodeWith(decoder, value)
          expect(decoded.ok && Object.entries(decoded.value.extra)).toEqual([[key, '1']])
        }),
      )
    })
  })
})

describe('of the records that cannot be decoded,', () => {
  const registry = embeddedRegistry()
  const decoder = createDecoder<SendCommand>(schemas.command, registry)
  const valid = encodeCommand(buildCommand(), registry)

  test('a tombstone has the code NO_VALUE', async () => {
    expect(await decodeWith(decoder, null)).toEqual(refusedWith('NO_VALUE'))
  })

  test.each([
    ['', /with the serializer of a schema registry/],
    ['{"id":1}', /does not begin with a zero byte and a schema id/],
    ['\0abc', /does not begin with a zero byte and a schema id/],
    ['\0\0\0\0\0\0\0\0\x01', /The schema's id has 8 bytes, or is 0: with Apicurio/],
    ['\0\xff\xff\xff\xff', /no schema id of a registry/],
  ])('the bytes %j have the code NOT_CONFLUENT', async (text, message) => {
    expect(await decodeWith(decoder, Buffer.from(text, 'latin1'))).toEqual(refusedWith('NOT_CONFLUENT', message))
  })

  test('a record cut anywhere has the code TRUNCATED', async () => {
    const bytes = await valid
    await decoder.prepare(1)
    for (let end = 5; end < bytes.length; end++) {
      expect(decoder.decode(bytes.subarray(0, end)), `cut at ${end}`).toEqual(refusedWith('TRUNCATED', /schema 1/))
    }
  })

  test('a record whose last field is a text has the code TRUNCATED if it is cut anywhere', async () => {
    const bytes = (await createEncoder('any', schemas.result, registry))(buildResult({ country: 'UA' }))
    const results = createDecoder<object>(schemas.result, registry)
    expect(await decodeWith(results, bytes)).toMatchObject({ ok: true, value: { country: 'UA' } })
    for (let end = 5; end < bytes.length; end++) {
      expect(results.decode(bytes.subarray(0, end)), `cut at ${end}`).toEqual(refusedWith('TRUNCATED'))
    }
  })

  test('a record with bytes behind it has the code TRAILING_BYTES', async () => {
    const bytes = Buffer.concat([await valid, Buffer.alloc(2)])
    expect(await decodeWith(decoder, bytes)).toEqual(refusedWith('TRAILING_BYTES', /^2 bytes/))
  })

  test('an unknown type of message has the code DECODE, and an error without content', async () => {
    const bytes = recordOf(1, [...long(1), ...long(380501234567), ...long(99)])
    const decoded = await decodeWith(decoder, bytes)
    expect(decoded).toEqual(refusedWith('DECODE', /schema 1/))
    expect(JSON.stringify(decoded)).not.toContain('380501234567')
  })

  test('an int of more than 32 bits, and a long of more than 64, have the code DECODE', async () => {
    const schema = (type: string) => ({ type: 'record', name: 'One', fields: [{ name: 'a', type }] })
    const decode = (type: string, body: number[]) =>
      decodeWith(
        createDecoder(schema(type), { schemaOf: async () => schema(type), idOf: async () => 1 }),
        recordOf(1, body),
      )
    expect(await decode('int', long(2n ** 31n - 1n))).toEqual({ ok: true, value: { a: 2 ** 31 - 1 } })
    expect(await decode('int', long(2n ** 31n))).toEqual(refusedWith('DECODE', /32 bits/))
    expect(await decode('long', long(-(2n ** 63n)))).toEqual({ ok: true, value: { a: -(2 ** 63) } })
    expect(await decode('long', [...Array<number>(9).fill(0xff), 2])).toEqual(refusedWith('DECODE', /64 bits/))
    expect(await decode('long', [...Array<number>(11).fill(0x80), 0])).toEqual(refusedWith('DECODE', /64 bits/))
  })

  test('none makes the decoder throw', async () => {
    const bytes = await valid
    await decoder.prepare(1)
    const damaged = fc
      .tuple(fc.nat(bytes.length - 6), fc.uint8Array({ maxLength: 12 }))
      .map(([at, noise]) => Buffer.concat([bytes.subarray(0, 5 + at), noise, bytes.subarray(5 + at + noise.length)]))
    const noise = fc.uint8Array({ maxLength: 200 }).map(body => recordOf(1, Buffer.from(body)))
    fc.assert(
      fc.property(fc.oneof(damaged, noise), value => {
        const decoded = decoder.decode(value)
        expect(decoded.ok || 'error' in decoded).toBe(true)
      }),
      { numRuns: 2000 },
    )
  })
})

describe('a small record with a huge content', () => {
  const list = (items: unknown) => ({
    type: 'record',
    name: 'List',
    fields: [{ name: 'items', type: { type: 'array', items } }],
  })
  const map = { type: 'record', name: 'Map', fields: [{ name: 'values', type: { type: 'map', values: 'null' } }] }
  const empty = { type: 'record', name: 'Empty', fields: [] }
  const wrapped = { type: 'record', name: 'Wrapped', fields: [{ name: 'nothing', type: empty }] }
  const reader = { type: 'record', name: 'List', aliases: ['Map'], fields: [] as object[] }

  async function decodeAs(readerSchema: object, writerSchema: object, body: readonly number[]) {
    const registry = embeddedRegistry()
    const id = await registry.idOf('any', writerSchema)
    return decodeWith(createDecoder(readerSchema, registry), recordOf(id, body))
  }

  test.each([
    ['null', 'null'],
    ['an empty record', empty],
    ['a record of empty records', wrapped],
    ['nothing', { type: 'fixed', name: 'Nothing', size: 0 }],
  ])('may have at most 16,384 values, even those that take no bytes: %s', async (_name, items) => {
    expect(await decodeAs(reader, list(items), [...long(200_000_000), 0])).toEqual(refusedWith('DECODE', /16384/))
    expect(await decodeAs(reader, list(items), [...long(1000), 0])).toEqual({ ok: true, value: {} })
  })

  test.each([-1, 0, 2, -(2 ** 40)])('has the code DECODE if a block claims %s bytes too many', async more => {
    const body = [...long(-1), ...long(2 + more), 2, 97, 0]
    for (const schema of [reader, list('string')]) {
      expect(await decodeAs(schema, list('string'), body)).toEqual(
        more === 0 ? { ok: true, value: expect.anything() } : refusedWith('DECODE', /the length of a block is wrong/),
      )
    }
  })

  test.each([
    ['a known array', list('string'), list('string')],
    ['a skipped array', reader, list('string')],
    ['a known map', map, map],
    ['a skipped map', reader, map],
  ])('has the code TRUNCATED at once if 20 bytes claim 2^52 items in %s', async (_name, readerSchema, writerSchema) => {
    for (const count of [2 ** 52, -(2 ** 52)]) {
      const body = [...long(count), ...Buffer.alloc(20)]
      expect(await decodeAs(readerSchema, writerSchema, body)).toEqual(refusedWith('TRUNCATED'))
    }
  })

  test.each([
    ['an array', list('string')],
    ['a map', map],
  ])('has the code DECODE if %s exceeds the limit of items, in one block or two', async (_name, schema) => {
    const most = 16_382 // with the record and its list 16,384
    const body = (count: number) => [...long(count), ...Array<number>(count).fill(0)] // each an empty text
    expect(await decodeAs(schema, schema, body(most + 1))).toEqual(refusedWith('DECODE'))
    expect(await decodeAs(schema, schema, [...body(most), ...body(1), 0])).toEqual(refusedWith('DECODE'))
  })

  test('is read and skipped in blocks that begin with their size in bytes', async () => {
    const body = [...long(-2), ...long(4), 2, 97, 2, 98, ...long(1), 2, 99, 0]
    expect(await decodeAs(list('string'), list('string'), body)).toEqual({
      ok: true,
      value: { items: ['a', 'b', 'c'] },
    })
    expect(await decodeAs(reader, list('string'), body)).toEqual({ ok: true, value: {} })
  })

  test('has the code DECODE if it is a recursive record nested without end', async () => {
    const chain = { type: 'record', name: 'List', fields: [{ name: 'next', type: ['null', 'List'] }] }
    expect(await decodeAs(reader, chain, Buffer.alloc(1_000_000, 2).toJSON().data)).toEqual(refusedWith('DECODE'))
  })

  test('may have at most 16,384 values if it is a command', async () => {
    const extra = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, n) => [`k${n}`, '1']))
    expect(await throughTheBus(buildCommand({ extra: extra(16_000) }))).toMatchObject({ ok: true })
    expect(await throughTheBus(buildCommand({ extra: extra(17_000) }))).toEqual(refusedWith('DECODE', /16384/))
  })

  test('is read with a recursive schema if its nesting ends', async () => {
    const leaves = { name: 'leaves', type: { type: 'array', items: 'List' } }
    const tree = { type: 'record', name: 'List', fields: [leaves, { name: 'name', type: 'string' }] }
    expect(await decodeAs(tree, tree, [2, 0, 2, 97, 0, 2, 98])).toEqual({
      ok: true,
      value: { leaves: [{ leaves: [], name: 'a' }], name: 'b' },
    })
  })
})

describe('a schema beyond the limits of busgate', () => {
  const reader = { type: 'record', name: 'Top', fields: [] as object[] }
  const record = (name: string, fields: object[]) => ({ type: 'record', name, fields })
  const field = (name: string, type: unknown, more: object = {}) => ({ name, type, ...more })

  /** Records that each contain the previous one twice: 40 levels have 2^40 values. */
  function chain(levels: number, more: object = {}): object {
    let inner: unknown = 'null'
    for (let level = 0; level < levels; level++) {
      inner = record(`R${level}`, [field('a', inner, more), field('b', level === 0 ? 'null' : `R${level - 1}`, more)])
    }
    return record('Top', [field('chain', inner, more)])
  }
  function nested(levels: number): object {
    let inner: unknown = 'null'
    for (let level = 0; level < levels; level++) inner = { type: 'array', items: inner }
    return record('Top', [field('deep', inner)])
  }
  const many = (count: number, one: (n: number) => object) => Array.from({ length: count }, (_, n) => one(n))

  test.each([
    ['is nested 5,000 levels deep', nested(5_000), /deeper than 64 levels/],
    [
      'has 100,000 fields',
      record(
        'Top',
        many(100_000, n => field(`f${n}`, 'int')),
      ),
      /more than 2500 parts/,
    ],
    ['has 20,000 parts', record('Top', [field('a', Array(20_000).fill('int'))]), /more than 2500 parts/],
  ])('is refused if it %s', async (_name, schema, message) => {
    const decoder = createDecoder(reader, { schemaOf: async () => schema, idOf: async () => 1 })
    expect(await decodeWith(decoder, recordOf(1, Buffer.alloc(35)))).toEqual(
      refusedWith('SCHEMA_INCOMPATIBLE', message),
    )
  })

  test.each([
    ['expands to 2^40 values', chain(40), /more than 16384 values/],
    ['expands to 2^40 values as defaults', chain(40, { default: {} }), /more than 16384 values/],
    ['contains itself', record('Top', [field('self', 'Top')]), /deeper than 500 levels/],
  ])('gives every record the code DECODE if one record %s', async (_name, schema, message) => {
    const decoder = createDecoder(reader, { schemaOf: async () => schema, idOf: async () => 1 })
    expect(await decodeWith(decoder, recordOf(1, Buffer.alloc(35)))).toEqual(refusedWith('DECODE', message))
  })

  test('is read if its records are optional, because then each takes a byte', async () => {
    const optional = (level: number): unknown =>
      level === 0
        ? 'null'
        : record(`R${level}`, [
            field('a', level > 1 ? ['null', optional(level - 1)] : 'null'),
            field('b', level > 1 ? ['null', `R${level - 1}`] : 'null'),
          ])
    const schema = record('Top', [field('chain', ['null', optional(20)])])
    const registry = embeddedRegistry()
    const id = await registry.idOf('any', schema)
    expect(await decodeWith(createDecoder(reader, registry), recordOf(id, [0]))).toEqual({ ok: true, value: {} })
  })
})

describe("the writer's schema", () => {
  afterEach(() => vi.useRealTimers())

  function countingRegistry(schemaOf: SchemaRegistry['schemaOf']) {
    const registry = { schemaOf: vi.fn(schemaOf), idOf: embeddedRegistry().idOf }
    return { registry, decoder: createDecoder<SendCommand>(schemas.command, registry) }
  }

  test('is not requested for a command above 1 MiB, which would take seconds to decode', async () => {
    const { registry, decoder } = countingRegistry(async () => schemas.command)
    const brackets = buildCommandOf('sms', { extra: { note: '['.repeat(1 << 20) } }, {})
    const bytes = await encodeCommand(brackets, embeddedRegistry())
    expect(decoder.decode(bytes)).toEqual(refusedWith('VALUE_TOO_LARGE', /more than 1048576/))
    expect(decoder.decode(bytes.subarray(0, 1 << 20))).toEqual({ ok: false, pending: 1 })
    expect(registry.schemaOf).not.toHaveBeenCalled()
  })

  test('is not requested for another record above 8 MiB', async () => {
    const decoder = createDecoder(schemas.doubt, embeddedRegistry())
    expect(decoder.decode(recordOf(1, Buffer.alloc(8 << 20)))).toEqual(
      refusedWith('VALUE_TOO_LARGE', /more than 8388608/),
    )
    expect(decoder.decode(recordOf(1, Buffer.alloc(8_000_000)))).toEqual({ ok: false, pending: 1 })
  })

  test('is requested once for all waiting records', async () => {
    const { registry, decoder } = countingRegistry(async () => schemas.command)
    expect(decoder.decode(recordOf(7, [2]))).toEqual({ ok: false, pending: 7 })
    await Promise.all([decoder.prepare(7), decoder.prepare(7)])
    await decoder.prepare(7)
    expect(registry.schemaOf).toHaveBeenCalledOnce()
  })

  test('is requested again after a minute if it was invalid, because the registry may have been wrong', async () => {
    const clock = new ManualClock()
    let answer: object = schemas.result
    const registry = { schemaOf: async () => answer, idOf: embeddedRegistry().idOf }
    const decoder = createDecoder<SendCommand>(schemas.command, registry, { clock })
    const bytes = await encodeCommand(buildCommand(), embeddedRegistry())
    expect(await decodeWith(decoder, bytes)).toEqual(refusedWith('SCHEMA_INCOMPATIBLE'))
    answer = schemas.command
    await clock.pass(59_999)
    expect(await decodeWith(decoder, bytes)).toEqual(refusedWith('SCHEMA_INCOMPATIBLE'))
    await clock.pass(1)
    expect(await decodeWith(decoder, bytes)).toEqual({ ok: true, value: buildCommand() })
  })

  describe('if the registry lacks it and the decoder is patient,', () => {
    function patientDecoder() {
      const clock = new ManualClock()
      const inner = { schemaOf: async () => schemas.command, idOf: embeddedRegistry().idOf }
      const registry = laggingRegistry(inner)
      registry.isLagging = true
      const decoder = createDecoder<SendCommand>(schemas.command, registry, { clock, patient: true })
      /** The ids that count as missing. */
      const missing = (ids: readonly number[]) => ids.filter(id => 'error' in decoder.decode(recordOf(id, [2])))
      return { clock, registry, decoder, missing }
    }
    const range = (from: number, count: number) => Array.from({ length: count }, (_, i) => from + i)

    test('is requested with back-off for ten seconds, then counts as missing for a minute', async () => {
      const { clock, registry, decoder, missing } = patientDecoder()
      const prepared = decoder.prepare(7)
      const counts: number[] = []
      for (const ms of [0, 250, 500, 1000, 2000, 4000, 2249]) {
        await clock.pass(ms)
        counts.push(registry.asked.length)
      }
      expect([counts, missing([7])]).toEqual([[1, 2, 3, 4, 5, 6, 6], []])
      await clock.pass(1)
      await prepared
      expect([registry.asked.length, missing([7])]).toEqual([7, [7]])
      await clock.pass(60_000)
      expect(decoder.decode(recordOf(7, [2]))).toEqual({ ok: false, pending: 7 })
    })

    test('counts as missing at once if 10,000 ids are requested together', async () => {
      const { clock, registry, decoder, missing } = patientDecoder()
      const ids = range(1, 10_000)
      const prepared = Promise.all(ids.map(id => decoder.prepare(id)))
      await clock.pass(0)
      expect(missing(ids)).toHaveLength(10_000 - 4)
      await clock.pass(250)
      await prepared
      expect(missing(ids)).toHaveLength(10_000)
      expect(registry.asked).toHaveLength(10_000 + 4)
    })

    test('counts as missing at once while others are missing, so that 10,000 in a row take seconds', async () => {
      const { clock, decoder } = patientDecoder()
      let done = 0
      const readInTurn = async () => {
        for (const id of range(1, 10_000)) {
          await decoder.prepare(id)
          done++
        }
      }
      const read = readInTurn()
      await clock.pass(41_000)
      await read
      expect(done).toBe(10_000)
    })
  })
})

test('a record is read once the registry answers, unless nobody wants it any more', async () => {
  const clock = new ManualClock()
  const inner = embeddedRegistry()
  const bytes = await encodeCommand(buildCommand(), inner)
  let isAway = true
  const schemaOf = (id: number) => (isAway ? Promise.reject(new Error('away')) : inner.schemaOf(id))
  const decoder = createDecoder<SendCommand>(schemas.command, { ...inner, schemaOf })
  let isWanted = true
  const [first, second] = [() => true, () => isWanted].map(wanted => decodePatiently(decoder, bytes, clock, wanted))
  await clock.pass(1_500)
  isWanted = false
  await clock.pass(500)
  expect(await second).toBeNull()
  isAway = false
  await clock.pass(1_000)
  expect(await first).toEqual({ ok: true, value: buildCommand() })
})
