import { expect, test } from 'vitest'
import { notOpen } from '../../src/bus/partitions.ts'

const sessions = (count: number, open = false) =>
  Array.from({ length: count }, (_, partition) => {
    return { topic: 'commands', partition, windowUsed: 0, lag: 0, open, committing: false }
  })

test('one sentence says which partitions are not open, and names at most five of them', () => {
  expect(notOpen(sessions(64, true))).toEqual([])
  expect(notOpen([...sessions(9, true), ...sessions(1)])).toEqual(['commands/0 is not open'])
  expect(notOpen(sessions(2))).toEqual(['commands/0, commands/1 are not open'])
  expect(notOpen(sessions(64))).toEqual([
    'commands/0, commands/1, commands/2, commands/3, commands/4 and 59 more are not open',
  ])
})
