import { describe, expect, test } from 'vitest'
import { finalOf, type SendResult } from '../../src/consumer/index.ts'
import { buildResult } from '../support/results.ts'

const first = { topic: 'busgate.commands', partition: 0, offset: 10 }
const second = { ...first, offset: 11 }
const of = ({ topic, partition, offset }: typeof first, outcome: 'SENT' | 'DUPLICATE' | 'IN_DOUBT') =>
  buildResult({
    outcome,
    final: outcome !== 'IN_DOUBT',
    commandTopic: topic,
    commandPartition: partition,
    commandOffset: offset,
  })

describe('finalOf', () => {
  test('returns the final result of a command, or null while it is in doubt', () => {
    expect(finalOf([of(first, 'IN_DOUBT')], first)).toBeNull()
    expect(finalOf([of(first, 'SENT'), of(first, 'IN_DOUBT')], first)).toMatchObject({ outcome: 'SENT' })
  })

  test("returns DUPLICATE for a repeated command, and the message's result for its id", () => {
    const results = [of(second, 'DUPLICATE'), of(first, 'SENT')]
    expect(finalOf(results, second)).toMatchObject({ outcome: 'DUPLICATE' })
    expect(finalOf(results, { id: 1001 })).toMatchObject({ outcome: 'SENT' })
    expect(finalOf([of(second, 'DUPLICATE')], { id: 1001n })).toBeNull()
  })

  test('keeps the result that counts if it is called with the stored one, or none, and each new one', () => {
    const counts = (stored: SendResult | null | undefined, result: SendResult) =>
      finalOf([stored, result], { id: 1001 })
    const none = counts(undefined, of(first, 'IN_DOUBT'))
    expect(none).toBeNull()
    const sent = counts(none, of(first, 'SENT'))
    expect(counts(sent, of(second, 'DUPLICATE'))).toMatchObject({ outcome: 'SENT', commandOffset: first.offset })
  })

  test.each([1001, '1001'])('refuses a stored result whose id is not a bigint again: %j', id => {
    const stored = { ...JSON.parse(JSON.stringify({ ...of(first, 'SENT'), id: 0 })), id }
    expect(() => finalOf([stored], { id: 1001 })).toThrow('convert a stored id with BigInt')
    expect(finalOf([{ ...stored, id: BigInt(stored.id) }], { id: 1001 })).toMatchObject({ outcome: 'SENT' })
  })
})
