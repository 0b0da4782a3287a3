import { expect, test } from 'vitest'
import { fill } from '../../bench/load.ts'
import { sendTypes } from '../../src/protocol/index.ts'
import { startWorld } from '../support/worker.ts'

test("the benchmark's commands of mixed kinds are of every kind, and each is sent", async () => {
  const { producer, finished } = await startWorld()

  await fill(producer, 2 * sendTypes.length, 'mixed')

  const results = await finished(2 * sendTypes.length)
  expect(results.filter(({ outcome }) => outcome !== 'SENT')).toEqual([])
  expect(new Set(results.map(({ type }) => type))).toEqual(new Set(sendTypes))
})
