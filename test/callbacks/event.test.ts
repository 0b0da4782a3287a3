import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { parseCallback } from '../../src/callbacks/body.ts'
import { statusEvent } from '../../src/callbacks/event.ts'
import type { CallbackOrigin } from '../../src/callbacks/hook-url.ts'
import { createDecoder } from '../../src/records/decoder.ts'
import { createEncoder } from '../../src/records/encoder.ts'
import type { StatusEvent } from '../../src/records/generated.ts'
import { embeddedRegistry } from '../../src/records/registry.ts'
import { schemas } from '../../src/records/schemas.ts'
import { createStatusWriter } from '../../src/records/status.ts'
import { callback, hookSubject, noonMs } from '../support/callbacks.ts'

const ofMessage = { kind: 'message', subject: { ...hookSubject(), issuedAt: noonMs - 1000 } } as const
const ofAccount: CallbackOrigin = { kind: 'account', account: 'shop' }

function parse(body: Record<string, unknown> | string, origin: CallbackOrigin = ofMessage) {
  const parsed = parseCallback(Buffer.from(typeof body === 'string' ? body : JSON.stringify(body)))
  if (typeof parsed === 'string') throw new Error(`refused: ${parsed}`)
  return statusEvent(origin, parsed, { receivedAt: noonMs, keyOf: () => '' })
}

function event(body: Record<string, unknown> | string, origin: CallbackOrigin = ofMessage) {
  const result = parse(body, origin)
  if (!result.ok) throw new Error(`refused: ${result.reason}`)
  return result.event
}

describe('a callback of one message', () => {
  test('is accepted without an unknown field that is nested too deeply', () => {
    const deep = `{"success":true,"status":"READ","x":${'['.repeat(30_000)}${']'.repeat(30_000)}}`
    expect(event(deep)).toMatchObject({ state: 'DELIVERED', status: 'READ', extra: null })
  })

  test('becomes an event that repeats no phone which the body names, in texts and numbers', () => {
    const phone = 380671112233
    const replies = [{ message: '+380 67 111-22-33', media: { url: 'https://example.com/a', filesize: phone } }]
    const told = event({ success: true, status: 'READ', phone, duration: phone, replies })
    expect(told).toMatchObject({ status: 'READ', duration: null, replies: [{ media: { filesize: null } }] })
    expect(JSON.stringify({ ...told, id: null })).not.toContain('111')
    expect(event({ success: true, status: 'READ', phone, duration: 12 })).toMatchObject({ duration: 12 })
  })

  test.each(['1.152921504606847e18', '"1152921504606847000"', '1152921504606846976', '"1.152921504606847e+18"'])(
    'belongs to the message of its address if its id is %s, which has lost digits in a program that keeps numbers as doubles',
    written => {
      const subject = { ...ofMessage.subject, id: 2n ** 60n + 1n }
      expect(event(`{"success":true,"id":${written}}`, { kind: 'message', subject })).toMatchObject({ id: subject.id })
      const other = { ...subject, id: 2n ** 60n + 1_000n }
      expect(parse(`{"success":true,"id":${written}}`, { kind: 'message', subject: other })).toMatchObject({
        reason: 'other_id',
      })
    },
  )

  test('becomes an event with all data of its body and its address', () => {
    const body = callback({
      updated: '2026-03-14T12:00:00+02:00',
      reply: '5',
      duration: 12.5,
      request_id: 'r-1',
      replies: [
        {
          datetime: '2026-03-14T11:00:00+02:00',
          message: 'Yes',
          media: { url: 'https://example.com/a.jpg', filename: 'a.jpg', filesize: 1234 },
        },
        { message: 'No' },
      ],
    })
    expect(event(body)).toEqual({
      id: 42n,
      msgId: '9001',
      account: 'default',
      type: 'sms',
      status: 'DELIVERED',
      state: 'DELIVERED',
      final: true,
      success: true,
      error: null,
      source: 'CALLBACK',
      verified: true,
      updatedAt: Date.UTC(2026, 2, 14, 10),
      receivedAt: noonMs,
      reply: '5',
      duration: 12.5,
      requestId: 'r-1',
      replies: [
        {
          datetime: '2026-03-14T11:00:00+02:00',
          message: 'Yes',
          media: { url: 'https://example.com/a.jpg', filename: 'a.jpg', filesize: 1234 },
        },
        { datetime: null, message: 'No', media: null },
      ],
      correlationId: 'order-7',
      tenant: 'acme',
      campaign: 'spring',
      commandType: 'sms',
      country: 'UA',
      extra: null,
    })
  })

  test('with only the field success takes all other data from the address', () => {
    expect(event({ success: true })).toEqual({ ...event(callback()), msgId: null, status: '' })
    expect(event({ success: false, error: 'Blocked' })).toMatchObject({
      state: 'FAILED',
      final: true,
      error: 'Blocked',
    })
  })

  test.each(['"42"', '42'])('may contain its id as %s', id => {
    expect(event(`{"success":true,"id":${id}}`).id).toBe(42n)
  })

  test('may contain an id beyond 2^53', () => {
    const subject = { ...hookSubject({ id: 2n ** 63n - 1n }), issuedAt: noonMs }
    const origin: CallbackOrigin = { kind: 'message', subject }
    expect(event('{"success":true,"id":9223372036854775807}', origin).id).toBe(2n ** 63n - 1n)
    expect(parse('{"success":true,"id":9223372036854775806}', origin)).toEqual({ ok: false, reason: 'other_id' })
  })

  test.each(['', '  ', ' 42 ', '0042', '42\n', null])("with the id %j belongs to the address's message", id => {
    expect(event(callback({ id }))).toMatchObject({ id: 42n, verified: true, extra: null })
  })

  test.each(['43', 43, '0', '4 2', 'forty-two', 42.5])('with the id %j of another message is refused', id => {
    expect(parse(callback({ id }))).toEqual({ ok: false, reason: 'other_id' })
  })

  test('keeps the name of the channel, even an unknown one', () => {
    expect(event(callback({ type: 'whatsapp' })).type).toBe('whatsapp')
  })

  test.each([
    ['UNDELIVERABLE', true, 'DELIVERED'],
    ['Sim_Full', true, 'DELIVERED'],
    ['READ', false, 'FAILED'],
    ['DELIVERED', false, 'FAILED'],
    ['ROUTING', true, 'DELIVERED'],
    ['ROUTING', false, 'FAILED'],
    ['UNKNOWN', true, 'DELIVERED'],
  ])('with the status %s and success %s is %s and final', (status, success, state) => {
    for (const origin of [ofMessage, ofAccount]) {
      expect(event(callback({ status, success }), origin)).toMatchObject({ status, success, state, final: true })
    }
  })

  test.each(['SEEN', 'BUSY', 'NO ANSWER', ''])(
    'with the unknown status "%s" has the state that success says',
    status => {
      expect(event(callback({ status, success: true }))).toMatchObject({ status, state: 'DELIVERED', final: true })
      expect(event(callback({ status, success: false }))).toMatchObject({ status, state: 'FAILED', final: true })
    },
  )

  test.each(['2026-03-14T12:00:00', '2026-02-31T12:00:00Z', 'yesterday', 1773489600])(
    'keeps the time %j unchanged because it is ambiguous',
    updated => {
      const { updatedAt, extra } = event(callback({ updated }))
      expect([updatedAt, extra]).toEqual([null, JSON.stringify({ updated })])
    },
  )

  test('keeps unknown fields with every digit', () => {
    const { extra } = event('{"success":true,"price":0.05,"parts":[1,2],"campaign":9223372036854775807,"note":null}')
    expect(extra).toBe('{"price":0.05,"parts":[1,2],"campaign":9223372036854775807,"note":null}')
  })

  test('keeps values of the wrong type', () => {
    const odd = { msg_id: { id: 7 }, type: ['sms'], status: true, duration: '12 s', reply: false, replies: 'Yes' }
    const { msgId, type, status, state, duration, reply, replies, extra } = event(callback(odd))
    expect({ msgId, type, status, state, duration, reply, replies }).toEqual({
      ...{ msgId: null, type: 'sms', status: '', state: 'DELIVERED', duration: null, reply: null, replies: [] },
    })
    expect(JSON.parse(extra!)).toEqual(odd)
  })

  test('keeps partly readable replies unchanged, in addition to their readable parts', () => {
    const replies = [{ message: 'Yes', sticker: 5 }, 'No']
    const read = event(callback({ replies }))
    expect(read.replies).toEqual([{ datetime: null, message: 'Yes', media: null }])
    expect(JSON.parse(read.extra!)).toEqual({ replies })
  })

  test.each([1.5, -1, Number.MAX_SAFE_INTEGER, 1e300])('ignores the file size %d', filesize => {
    const replies = [{ media: { filesize } }]
    expect(event(callback({ replies })).replies[0]?.media?.filesize).toBeNull()
  })

  test('reads the file size -0 as 0', () => {
    const replies = [{ media: { filesize: -0 } }]
    expect(event(callback({ replies })).replies[0]?.media?.filesize).toBe(0)
  })

  test('can be written to the bus and read again, whatever the body contains', async () => {
    const registry = embeddedRegistry()
    const encode = await createEncoder<StatusEvent>('statuses-value', schemas.status, registry)
    const decoder = createDecoder<StatusEvent>(schemas.status, registry)
    await decoder.prepare(encode({ ...event(callback()), eventId: null }).readUInt32BE(1))
    const anything = fc.oneof(fc.jsonValue(), fc.integer(), fc.string({ unit: 'binary' }))
    const reply = fc.record(
      {
        datetime: anything,
        message: anything,
        media: fc.oneof(anything, fc.record({ url: anything, filename: anything, filesize: anything })),
      },
      { requiredKeys: [] },
    )
    const fields = ['msg_id', 'type', 'status', 'error', 'updated', 'reply', 'duration', 'request_id'] as const
    const body = fc.record(
      {
        success: fc.boolean(),
        ...Object.fromEntries(fields.map(name => [name, anything])),
        replies: fc.oneof(anything, fc.array(reply)),
      },
      { requiredKeys: ['success'] },
    )
    fc.assert(
      fc.property(body, given => {
        const written = { ...event(given), eventId: 'e-1' }
        expect(decoder.decode(encode(written))).toEqual({ ok: true, value: written })
      }),
    )
  })
})

test('a status event has the same eventId in a later version that adds a field, if the field is null', () => {
  const idOf = (added: object) => {
    const write = createStatusWriter('statuses', ({ eventId }) => Buffer.from(eventId!))
    return String(write({ ...event(callback()), ...added }, null).value)
  }
  expect(idOf({ operator: null })).toBe(idOf({}))
  expect(idOf({ operator: 'one' })).not.toBe(idOf({}))
})

describe("a callback to an account's address", () => {
  test('becomes an unverified event', () => {
    expect(event(callback({ id: '77' }), ofAccount)).toMatchObject({
      id: 77n,
      account: 'shop',
      type: 'sms',
      verified: false,
      correlationId: null,
      ...{ tenant: null, campaign: null, commandType: null, country: null },
    })
  })

  test.each([' 77\n', '0077', ' 077'])('with the padded id %j belongs to message 77', id => {
    expect(event(callback({ id }), ofAccount)).toMatchObject({ id: 77n, verified: false })
  })

  test('without a type becomes an event of type unknown', () => {
    expect(event({ success: true, id: 77 }, ofAccount).type).toBe('unknown')
  })

  test.each([undefined, '', 'order-17', '0', '-5', 1.5, '9223372036854775808', '1e3'])(
    'with the id %j belongs to no command',
    id => {
      expect(parse(callback({ id }), ofAccount)).toMatchObject({
        ok: false,
        reason: 'no_id',
        error: { code: 'NO_NUMERIC_ID', message: expect.stringContaining('account shop') },
      })
    },
  )
})
