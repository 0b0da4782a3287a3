import assert from 'node:assert/strict'
import fc from 'fast-check'
import { parseCallback } from '../../../src/callbacks/body.ts'
import { statusEvent } from '../../../src/callbacks/event.ts'
import { type CallbackOrigin, callbackOriginOf } from '../../../src/callbacks/hook-url.ts'
import { refusals } from '../../../src/callbacks/refusals.ts'
import { createHookTokens } from '../../../src/callbacks/token.ts'
import { createDecoder } from '../../../src/records/decoder.ts'
import { createEncoder } from '../../../src/records/encoder.ts'
import type { StatusEvent } from '../../../src/records/generated.ts'
import { embeddedRegistry } from '../../../src/records/registry.ts'
import { readPolledStatus } from '../../../src/records/reported-status.ts'
import { schemas } from '../../../src/records/schemas.ts'
import { createStatusWriter } from '../../../src/records/status.ts'
import { grammarOf } from '../grammar.ts'
import { bounded } from '../measure.ts'
import { damaged, hostileText, jsonText } from './json-text.ts'

const names = [
  'success',
  'id',
  'msg_id',
  'type',
  'status',
  'error',
  'updated',
  'reply',
  'duration',
  'request_id',
  'replies',
]
const key = 'zq7-key-that-nobody-may-see'
const phone = 380671112233
const inner = ['datetime', 'message', 'media', 'url', 'filename', 'filesize']
/** What a callback may repeat of a request. */
const echoes = [
  `"${key}"`,
  `"refused: ${encodeURIComponent(`{"auth":"${key}"}`)}"`,
  String(phone),
  `"no route to +${phone}"`,
  `"no route to 067 111-22-33"`,
]
const values = ['"42"', '42', '"DELIVERED"', '"sms"', '"2026-11-29T10:00:00+02:00"', '[{"message":"yes"}]']

/** Bodies of callbacks, bytes that are no JSON or no UTF-8 among them. */
const callbackBytes: fc.Arbitrary<Uint8Array> = fc.oneof(
  {
    weight: 3,
    arbitrary: jsonText([...names, ...inner], values).map(text => Buffer.from(`{"success":true,"more":${text}}`)),
  },
  { weight: 3, arbitrary: fields() },
  jsonText(names, values)
    .chain(damaged)
    .map(text => Buffer.from(text)),
  fc.uint8Array({ maxLength: 200 }),
)

/** A callback each of whose fields may have any value. */
function fields(): fc.Arbitrary<Uint8Array> {
  const field = fc.tuple(fc.constantFrom(...names), jsonText(inner, values))
  return fc
    .array(field, { maxLength: 8 })
    .map(all => Buffer.from(`{"success":true${all.map(([name, value]) => `,"${name}":${value}`).join('')}}`))
}

const tokens = createHookTokens({
  keys: () => [{ kid: 'k1', secret: 'a-secret-of-the-fuzz' }],
})

/** A callback that names its phone, and may repeat it and the key in any field. */
const echoing: fc.Arbitrary<Buffer> = fc
  .tuple(
    fc.constantFrom('phone', 'msisdn', 'recipient'),
    fc.array(fc.tuple(fc.constantFrom(...names.slice(2), 'note', key), jsonText(inner, echoes)), { maxLength: 8 }),
  )
  .map(([field, all]) =>
    Buffer.from(`{"success":true,"${field}":${phone}${all.map(([name, value]) => `,"${name}":${value}`).join('')}}`),
  )

/** Request targets, of real addresses among them. */
const callbackTarget: fc.Arbitrary<string> = fc
  .array(
    fc.oneof(
      fc.constantFrom('hooks', 'account', 'default', '..', '.', '', '%2e', tokens.issueAccount('default')),
      hostileText,
    ),
    {
      maxLength: 10,
    },
  )
  .map(parts => `/${parts.join('/')}`)

const marks = { correlationId: null, tenant: null, campaign: null, country: 'UA', trace: null }
const subject = { account: 'default', id: 42n, type: 'sms', ...marks, issuedAt: 0 }
const origin = fc.constantFrom<CallbackOrigin>({ kind: 'message', subject }, { kind: 'account', account: 'default' })

const registry = embeddedRegistry()
const encode = await createEncoder<StatusEvent>('any', schemas.status, registry)
const decoder = createDecoder<StatusEvent>(schemas.status, registry)
await decoder.prepare(await registry.idOf('any', schemas.status))
const write = createStatusWriter('statuses', encode)

/** Handles a callback as the receiver does. @returns the record of its event; null for a refusal or a dead letter */
function received(origin: CallbackOrigin, bytes: Uint8Array): Buffer | null {
  const body = parseCallback(Buffer.from(bytes))
  if (typeof body === 'string') {
    assert.ok(Object.hasOwn(refusals, body))
    return null
  }
  const reading = statusEvent(origin, body, { receivedAt: 1_800_000_000_000, keyOf: () => key })
  return reading.ok ? (write(reading.event, null).value as Buffer) : null
}

export const callbacks = grammarOf(
  'requests to the receiver',
  {
    'a callback becomes a status event that can be read, a dead letter or a refusal': fc.asyncProperty(
      origin,
      callbackBytes,
      async (origin, bytes) => {
        const record = await bounded('a callback', () => received(origin, bytes))
        if (record === null) return
        const decoded = decoder.decode(record)
        assert.ok(decoded.ok && decoded.value.final && decoded.value.source === 'CALLBACK')
      },
    ),
    'a status event repeats no key, whether it was told in a callback or a poll, nor the phone that the gateway names':
      fc.asyncProperty(echoing, async bytes => {
        const body = parseCallback(bytes)
        if (typeof body === 'string') return
        const reading = statusEvent({ kind: 'message', subject }, body, {
          receivedAt: 1_800_000_000_000,
          keyOf: () => key,
        })
        assert.ok(reading.ok)
        const polled = readPolledStatus(body, key)
        for (const event of [reading.event, { ...reading.event, ...polled, type: polled.type ?? 'sms' }]) {
          const record = write(event, null).value as Buffer
          const decoded = decoder.decode(record)
          assert.ok(decoded.ok)
          const { msgId, requestId, ...texts } = decoded.value
          const all = JSON.stringify(texts, (_, value) => (typeof value === 'bigint' ? String(value) : value))
          assert.ok(!`${all}${msgId}${requestId}`.includes(key), 'the key is told')
          for (const spelling of [String(phone), '067 111-22-33']) {
            assert.ok(!all.includes(spelling), `${spelling} is told`)
          }
        }
      }),
    'a request target names a message or an account, or is refused': fc.asyncProperty(callbackTarget, async target => {
      const found = await bounded('a request target', () => callbackOriginOf(target, tokens))
      if (typeof found === 'string') assert.ok(Object.hasOwn(refusals, found))
      else assert.deepEqual({ ...found }, { kind: 'account', account: 'default' })
    }),
  },
  20,
)
