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
const inner = ['datetime', 'message', 'media', 'url', 'filename', 'filesize']
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
  tokenLifeMs: 86_400_000,
})

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
  const reading = statusEvent(origin, body, 1_800_000_000_000)
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
    'a request target names a message or an account, or is refused': fc.asyncProperty(callbackTarget, async target => {
      const found = await bounded('a request target', () => callbackOriginOf(target, tokens))
      if (typeof found === 'string') assert.ok(Object.hasOwn(refusals, found))
      else assert.deepEqual({ ...found }, { kind: 'account', account: 'default' })
    }),
  },
  20,
)
