import { describe, expect, test } from 'vitest'
import type { OutgoingRecord } from '../../src/bus/port.ts'
import { leastMessageBytes } from '../../src/bus/record-limits.ts'
import { sizeInBatch } from '../../src/bus/record-size.ts'
import type { SendType } from '../../src/protocol/index.ts'
import { deadLetter } from '../../src/records/dead-letter.ts'
import { createDecoder } from '../../src/records/decoder.ts'
import { createDoubtWriter } from '../../src/records/doubt.ts'
import { createEncoder } from '../../src/records/encoder.ts'
import type { Doubt, SendResult, StatusEvent } from '../../src/records/generated.ts'
import { createOverdueWriter } from '../../src/records/overdue.ts'
import { embeddedRegistry } from '../../src/records/registry.ts'
import { createResultWriter } from '../../src/records/result.ts'
import { schemas } from '../../src/records/schemas.ts'
import { createStatusWriter } from '../../src/records/status.ts'
import type { CodePlace } from '../../src/vocabulary/lists.ts'
import { buildResult } from '../support/results.ts'
import { buildStatusEvent } from '../support/status-events.ts'
import { decodeWith } from './codec.ts'

const registry = embeddedRegistry()
const encoders = {
  result: await createEncoder<SendResult>('result', schemas.result, registry),
  status: await createEncoder<StatusEvent>('status', schemas.status, registry),
  doubt: await createEncoder<Doubt>('doubt', schemas.doubt, registry),
}

/** 3 bytes a character. */
const long = '€'.repeat(100_000)
const topic = 't'.repeat(249)
const headers = {
  traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
  tracestate: 's'.repeat(512),
  'busgate.lifetime': '7200',
  foreign: [long, Buffer.from(long)],
}
const trace = { traceId: '1'.repeat(32), spanId: '2'.repeat(16), flags: 1, state: 's'.repeat(512) }
const record = { offset: 2 ** 40, timestamp: 2 ** 41, key: Buffer.from(long), value: Buffer.from(long), headers }
const marks = { correlationId: long, tenant: long, campaign: long }
const hlr = { phone: 380501234567, status: long, imsi: long, mccmnc: 25501, ported: true, network: null }
const payload = { msgId: long, parts: 1, code: long, price: 1.5, hlr, payload: long }
const origin = { topic, partition: 999, record }
const id = 2n ** 63n - 1n
const inDoubt = {
  ...origin,
  command: { id, account: 'default', type: 'sms', ...marks },
  attempts: 0,
  doubted: false,
} as const

const resultOf = (type: SendType, codes: CodePlace) =>
  createResultWriter({ topic, encode: encoders.result, now: () => 2 ** 41, codes })(
    {
      ...{ id, idText: String(id), type, account: long },
      ...{ ...marks, lifetime: 7200, hooked: false, country: 'UA', trace },
    },
    origin,
    { outcome: 'SENT', attempts: 3, error: long, payload, sentAt: 2 ** 41 },
  )

const writers: Record<string, () => OutgoingRecord> = {
  result: () => resultOf('rcs+viber+sms', 'result'),
  'result with its code in a header': () => resultOf('call/otp', 'header'),
  'status event': () =>
    createStatusWriter(topic, encoders.status)(
      buildStatusEvent({
        ...marks,
        ...Object.fromEntries(
          ['msgId', 'status', 'type', 'account', 'error', 'reply', 'requestId'].map(field => [field, long]),
        ),
        replies: Array.from({ length: 100 }, () => ({ datetime: long, message: long, media: null })),
      }),
      trace,
    ),
  'dead letter': () => deadLetter(topic, origin, { code: 'SCHEMA_INCOMPATIBLE', message: 'x'.repeat(100_000) }),
  doubt: () => createDoubtWriter(topic, encoders.doubt)(inDoubt, 2 ** 41, 'response_too_large'),
  'message overdue for a verdict': () => {
    const result = buildResult({ ...marks, ...payload, account: long, error: long })
    const itsRecord = { ...record, value: encoders.result(result) }
    const schedule = { pollAt: 2 ** 41, answers: 99, endsAt: 2 ** 41 }
    return createOverdueWriter(topic, encoders.result)(itsRecord, result, schedule)
  },
}

describe.each(Object.entries(writers))('a %s with only long fields', (_, write) => {
  test('has a shorter form that fits any allowed topic', () => {
    const whole = write()
    expect(sizeInBatch(whole)).toBeGreaterThan(250_000)
    expect(sizeInBatch(whole.shorter!())).toBeLessThan(leastMessageBytes * 0.95)
  })
})

test('a result keeps 1,024 characters of a longer error', async () => {
  const decoded = await decodeWith(createDecoder<SendResult>(schemas.result, registry), resultOf('sms', 'result').value)
  expect(decoded).toMatchObject({ ok: true, value: { error: '€'.repeat(1024) } })
})

test('a doubt beyond the bound of a record is written without its command, so that it can be read', async () => {
  const huge = { ...inDoubt, record: { ...record, headers: { foreign: Buffer.alloc(9 << 20) } } }
  const { value } = createDoubtWriter(topic, encoders.doubt)(huge, 2 ** 41, 'timeout')
  expect(await decodeWith(createDecoder<Doubt>(schemas.doubt, registry), value)).toMatchObject({
    ok: true,
    value: { key: null, headers: [], omitted: expect.stringContaining('too large') },
  })
})
