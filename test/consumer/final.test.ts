import { describe, expect, test } from 'vitest'
import { finalOf } from '../../src/consumer/index.ts'
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
  test('of a command returns its final result, and null while it is in doubt', () => {
    expect(finalOf([of(first, 'IN_DOUBT')], first)).toBeNull()
    expect(finalOf([of(first, 'SENT'), of(first, 'IN_DOUBT')], first)).toMatchObject({ outcome: 'SENT' })
  })

  test("of a repeated command returns DUPLICATE, and of its id the message's result", () => {
    const results = [of(second, 'DUPLICATE'), of(first, 'SENT')]
    expect(finalOf(results, second)).toMatchObject({ outcome: 'DUPLICATE' })
    expect(finalOf(results, { id: 1001 })).toMatchObject({ outcome: 'SENT' })
    expect(finalOf([of(second, 'DUPLICATE')], { id: 1001n })).toBeNull()
  })
})
