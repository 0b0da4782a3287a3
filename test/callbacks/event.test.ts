import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { statusEvent } from '../../src/callbacks/event.ts'
import type { CallbackOrigin } from '../../src/callbacks/origin.ts'
import { callbackBody } from '../../src/protocol/callback.ts'
import { parseJson } from '../../src/protocol/json.ts'
import { createDecoder } from '../../src/records/decoder.ts'
import { createEncoder } from '../../src/records/encoder.ts'
import type { StatusEvent } from '../../src/records/generated.ts'
import { embeddedRegistry } from '../../src/records/registry.ts'
import { schemas } from '../../src/records/schemas.ts'
import { callback, hookSubject, NOON } from '../support/callbacks.ts'

const ofMessage: CallbackOrigin = { kind: 'message', subject: { ...hookSubject(), issuedAt: NOON - 1000 } }
const ofAccount: CallbackOrigin = { kind: 'account', account: 'shop' }

function made(body: Record<string, unknown> | string, origin = ofMessage) {
  const json = typeof body === 'string' ? parseJson(body) : body
  return statusEvent(origin, callbackBody.parse(json), NOON)
}

function event(body: Record<string, unknown> | string, origin = ofMessage) {
  const result = made(body, origin)
  if (!result.ok) throw new Error(`refused: ${result.reason}`)
  return result.event
}

describe('a callback of one message', () => {
  test('becomes an event with all that the body and the address say', () => {
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
      receivedAt: NOON,
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
    })
  })

  test('with nothing but success takes the rest from the address', () => {
    expect(event({ success: true })).toEqual({
      id: 42n,
      msgId: null,
      account: 'default',
      type: 'sms',
      status: '',
      state: 'DELIVERED',
      final: true,
      success: true,
      error: null,
      source: 'CALLBACK',
      verified: true,
      updatedAt: null,
      receivedAt: NOON,
      reply: null,
      duration: null,
      requestId: null,
      replies: [],
      correlationId: 'order-7',
      tenant: 'acme',
    })
    expect(event({ success: false, error: 'Blocked' })).toMatchObject({
      state: 'FAILED',
      final: true,
      error: 'Blocked',
    })
  })

  test.each(['"42"', '42'])('accepts its id as %s', id => {
    expect(event(`{"success":true,"id":${id}}`).id).toBe(42n)
  })

  test('accepts an id that a number cannot hold', () => {
    const subject = { ...hookSubject({ id: 2n ** 63n - 1n }), issuedAt: NOON }
    const origin: CallbackOrigin = { kind: 'message', subject }
    expect(event('{"success":true,"id":9223372036854775807}', origin).id).toBe(2n ** 63n - 1n)
    expect(made('{"success":true,"id":9223372036854775806}', origin)).toEqual({ ok: false, reason: 'other_id' })
  })

  test.each(['43', 43, '', '42 ', 'forty-two', 42.5])('with the id %j of another message is refused', id => {
    expect(made(callback({ id }))).toEqual({ ok: false, reason: 'other_id' })
  })

  test('names the channel that the gateway wrote, also one that no table lists', () => {
    expect(event(callback({ type: 'whatsapp' })).type).toBe('whatsapp')
  })

  test.each([
    ['UNDELIVERABLE', 'FAILED', true],
    ['Sim_Full', 'FAILED', true],
    ['ROUTING', 'PENDING', false],
    ['UNKNOWN', 'UNKNOWN', false],
    ['TELEPORTED', 'UNKNOWN', false],
  ])('with the status %s is %s', (status, state, final) => {
    expect(event(callback({ status }))).toMatchObject({ status, state, final })
  })

  test.each([
    ['2026-03-14T12:00:00Z', Date.UTC(2026, 2, 14, 12)],
    ['2026-03-14T12:00:00.123456+00:00', Date.UTC(2026, 2, 14, 12, 0, 0, 123)],
    ['2026-03-14T12:00:00+0200', Date.UTC(2026, 2, 14, 10)],
    ['2026-03-14T12:00-03:30', Date.UTC(2026, 2, 14, 15, 30)],
    ['2026-03-14T12:00:00', null],
    ['2026-02-31T99:00:00Z', null],
    ['1773489600', null],
    ['yesterday', null],
  ])('reads the instant %s only when it is beyond doubt', (updated, updatedAt) => {
    expect(event(callback({ updated })).updatedAt).toBe(updatedAt)
  })

  test.each([1.5, -1, Number.MAX_SAFE_INTEGER, 1e300])('leaves out %d as the size of a file', filesize => {
    const replies = [{ media: { filesize } }]
    expect(event(callback({ replies })).replies[0]?.media?.filesize).toBeNull()
  })

  test('reads -0 as the size of a file as 0', () => {
    const replies = [{ media: { filesize: -0 } }]
    expect(event(callback({ replies })).replies[0]?.media?.filesize).toBe(0)
  })

  test('can be written to the bus and read again, whatever else the body holds', async () => {
    const registry = embeddedRegistry()
    const encode = await createEncoder<StatusEvent>('statuses-value', schemas.status, registry)
    const decoder = createDecoder<StatusEvent>(schemas.status, registry)
    await decoder.prepare(encode(event(callback())).readUInt32BE(1))
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
        const written = event(given)
        expect(decoder.decode(encode(written))).toEqual({ ok: true, value: written })
      }),
    )
  })
})

describe("a callback to an account's address", () => {
  test('becomes an event that only the body vouches for', () => {
    expect(event(callback({ id: '77' }), ofAccount)).toMatchObject({
      id: 77n,
      account: 'shop',
      type: 'sms',
      verified: false,
      correlationId: null,
      tenant: null,
    })
  })

  test('without a type has the type unknown', () => {
    expect(event({ success: true, id: 77 }, ofAccount).type).toBe('unknown')
  })

  test('keeps every digit of its id', () => {
    expect(event('{"success":true,"id":9223372036854775807}', ofAccount).id).toBe(2n ** 63n - 1n)
  })

  test.each([undefined, '', 'order-17', '0', '-5', '042', 1.5, '9223372036854775808', '1e3'])(
    'with the id %j belongs to no command',
    id => {
      expect(made(callback({ id }), ofAccount)).toMatchObject({
        ok: false,
        reason: 'no_id',
        error: { code: 'NO_NUMERIC_ID', message: expect.stringContaining('account shop') },
      })
    },
  )
})
