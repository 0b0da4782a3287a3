import { expect, test } from 'vitest'
import { fill, mixedTypes } from '../../bench/load.ts'
import { startWorld } from '../support/worker.ts'

test("the benchmark's commands of mixed kinds are of each of them, and each is sent", async () => {
  const { producer, finished } = await startWorld()

  await fill(producer, 2 * mixedTypes.length, 'mixed')

  const results = await finished(2 * mixedTypes.length)
  expect(results.filter(({ outcome }) => outcome !== 'SENT')).toEqual([])
  expect(new Set(results.map(({ type }) => type))).toEqual(new Set(mixedTypes))
})
