import { describe, expect, test } from 'vitest'
import { ResultCounts } from '../../src/dispatch/outcome/outbox.ts'
import { createDecoder } from '../../src/records/decoder.ts'
import { createEncoder } from '../../src/records/encoder.ts'
import type { SendResult } from '../../src/records/generated.ts'
import { embeddedRegistry } from '../../src/records/registry.ts'
import { createResultWriter, type ResultDetails, type ResultSubject } from '../../src/records/result.ts'
import { noPayload } from '../../src/records/result-payload.ts'
import { schemas, subjectOf } from '../../src/records/schemas.ts'
import { type Events, Telemetry } from '../../src/telemetry/events.ts'
import { buildPending } from '../support/pendings.ts'

const topic = 'busgate.results'
const now = 1_763_000_000_000
const id = 2n ** 53n + 1n
const origin = buildPending({ id, type: 'viber+sms', offset: 42 })
const subject = { ...origin.command, correlationId: 'order 7', tenant: 'shop', campaign: 'spring' }

/** A result as a reader of the topic sees it. */
async function written(details: ResultDetails, changes: Partial<ResultSubject> = {}) {
  const registry = embeddedRegistry()
  const encode = await createEncoder<SendResult>(subjectOf(topic), schemas.result, registry)
  const record = createResultWriter({ topic, encode, now: () => now, codes: 'result' })(
    { ...subject, ...changes },
    origin,
    details,
  )
  const decoder = createDecoder<SendResult>(schemas.result, registry)
  const pending = decoder.decode(record.value)
  if ('pending' in pending) await decoder.prepare(pending.pending)
  const decoded = decoder.decode(record.value)
  if (!decoded.ok) throw new Error('not a SendResult')
  return { record, value: decoded.value }
}

describe('a result', () => {
  test.each([
    ['SENT', true],
    ['REJECTED', true],
    ['INVALID', true],
    ['EXPIRED', true],
    ['DUPLICATE', true],
    ['IN_DOUBT', false],
    ['UNRESOLVED', true],
  ] as const)('%s is final: %s', async (outcome, final) => {
    const { value } = await written({ outcome, attempts: 1 })
    expect(value).toMatchObject({ outcome, final })
  })

  test('has its error cut, so that the broker takes it', async () => {
    const error = 'ї'.repeat(100_000)
    const { record, value } = await written({ outcome: 'REJECTED', attempts: 1, errorCode: 'REJECTED', error })
    expect(value.error).toBe('ї'.repeat(1024))
    expect(record.value!.length).toBeLessThan(4096)
  })
})

test('telemetry hears once a group of equal results, and once a cause of doubts', () => {
  const telemetry = new Telemetry()
  const heard: Events[keyof Events][] = []
  for (const name of ['results.published', 'doubt.opened'] as const) {
    telemetry.on(name, (event: Events[typeof name]) => heard.push(event))
  }
  const counts = new ResultCounts()
  expect(counts.isEmpty).toBe(true)
  const sms = { type: 'sms', account: 'default', tenant: 'shop' }
  const payload = { ...noPayload, parts: 2, price: 0.5 }
  for (let i = 0; i < 2; i++) counts.add(sms, { outcome: 'SENT', attempts: 1, payload })
  counts.add({ ...sms, tenant: null }, { outcome: 'SENT', attempts: 1, payload: { ...noPayload, parts: -1 } })
  counts.add(sms, { outcome: 'REJECTED', attempts: 1, errorCode: 'VALIDATION' })
  counts.add({ ...sms, type: 'viber' }, { outcome: 'SENT', attempts: 1 })
  for (let i = 0; i < 2; i++) counts.addDoubt('reset')
  expect([counts.isEmpty, heard]).toEqual([false, []])
  counts.announce(telemetry)
  expect(heard).toEqual([
    { cause: 'reset', count: 2 },
    {
      ...{ type: 'sms', account: 'default', outcome: 'SENT', errorCode: null, count: 3, parts: 4, price: 1 },
      shares: new Map([
        ['shop', { count: 2, parts: 4 }],
        [null, { count: 1, parts: 0 }],
      ]),
    },
    {
      ...{ type: 'sms', account: null, outcome: 'REJECTED', errorCode: 'VALIDATION', count: 1, parts: 0, price: 0 },
      shares: new Map([['shop', { count: 1, parts: 0 }]]),
    },
    {
      ...{ type: 'viber', account: 'default', outcome: 'SENT', errorCode: null, count: 1, parts: 0, price: 0 },
      shares: new Map([['shop', { count: 1, parts: 0 }]]),
    },
  ])
})
