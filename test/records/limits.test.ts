import { expect, test } from 'vitest'
import { beyondHorizon } from '../../src/records/limits.ts'

const day = 24 * 3_600_000

test('a command may wait as long as commands.horizonMs, and not a millisecond longer', () => {
  const now = 1_800_000_000_000
  const problemOf = (notBefore: number | null) => beyondHorizon({ notBefore }, day, now)
  expect([null, 0, now, now + day].map(problemOf)).toEqual([null, null, null, null])
  expect(problemOf(now + day + 1)).toEqual({
    field: 'notBefore',
    expected: 'must be at most 1 day ahead (commands.horizonMs)',
  })
})
