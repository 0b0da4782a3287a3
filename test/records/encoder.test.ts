import { describe, expect, test } from 'vitest'
import { createDecoder } from '../../src/records/decoder.ts'
import { createEncoder } from '../../src/records/encoder.ts'
import { embeddedRegistry } from '../../src/records/registry.ts'
import { schemas } from '../../src/records/schemas.ts'
import { buildCommand } from '../support/commands.ts'
import { buildResult } from '../support/results.ts'
import { buildStatusEvent } from '../support/status-events.ts'
import { decodeWith } from './codec.ts'

const largestLong = 2n ** 63n - 1n

const network = { origin: { name: 'Vodafone', prefix: 38050, country: { name: 'Ukraine', prefix: 380 } }, ported: null }
const hlr = { phone: 380501234567, status: 'DELIVERED', imsi: '255011234567890', mccmnc: 25501, ported: false, network }
const result = buildResult({ id: largestLong, type: 'hlr', hlr })

describe('in a written record,', () => {
  test('half an emoji becomes U+FFFD in any text', async () => {
    const [half, long] = ['\ud83d', `${'x'.repeat(100)}\ude00`]
    const values: [object, object][] = [
      [schemas.result, { ...result, error: half, msgId: `7${half}`, payload: long, hlr: { ...hlr, imsi: half } }],
      [
        schemas.status,
        buildStatusEvent({
          error: `${half}b`,
          replies: [{ datetime: half, message: long, media: { url: half, filename: long, filesize: null } }],
        }),
      ],
      [schemas.command, buildCommand({ correlationId: half, extra: { cut: half, other: '"😀"' } })],
    ]
    for (const [schema, value] of values) {
      const registry = embeddedRegistry()
      const encode = await createEncoder<object>('any', schema, registry)
      const found = await decodeWith(createDecoder<object>(schema, registry), encode(value))
      expect(found).toEqual({ ok: true, value: wellFormed(value) })
    }
  })

  test("a value of the wrong type is refused with its field's name, without its content", async () => {
    const encode = await createEncoder<object>('any', schemas.result, embeddedRegistry())
    const errorOf = (overrides: object) => {
      try {
        return encode({ ...result, ...overrides })
      } catch (error) {
        return (error as Error).message
      }
    }
    expect(errorOf({ msgId: 380501234567 })).toBe('Not a io.busgate.SendResult: msgId is not a ["null","string"]')
    expect(errorOf({ outcome: 'LOST', id: 380501234567 })).toBe(
      'Not a io.busgate.SendResult: id is not a "long"; outcome is not a io.busgate.SendResultOutcome',
    )
    expect(errorOf({ id: largestLong + 1n })).toMatch(/^Not a io\.busgate\.SendResult: id is no/)
  })
})

/** Replaces lone surrogates by U+FFFD in all texts and names of a value. */
function wellFormed(value: unknown): unknown {
  if (typeof value === 'string') return value.toWellFormed()
  if (Array.isArray(value)) return value.map(wellFormed)
  if (value === null || typeof value !== 'object') return value
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name.toWellFormed(), wellFormed(one)]))
}
