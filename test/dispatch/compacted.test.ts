import { expect, test } from 'vitest'
import { startSendingWorld } from '../support/sending-world.ts'

test.each([
  ['results', 'busgate.results must not be compacted, or they no longer tell what was answered'],
  ['doubts', 'busgate.doubts must not be compacted, or records are lost'],
  ['deadLetters', 'busgate.dead-letters must not be compacted, or records are lost'],
] as const)('a worker does not start where its %s are compacted, and says what to set', async (use, why) => {
  await expect(startSendingWorld({ compacted: [use] })).rejects.toThrow(
    new RegExp(`${why}.*: set cleanup.policy=delete`),
  )
})

test('a worker starts where only statuses are compacted', async () => {
  const { sending } = await startSendingWorld({ compacted: ['statuses'] })
  expect(sending.reasons()).toEqual([])
})
