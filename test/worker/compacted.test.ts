import { expect, test, vi } from 'vitest'
import { startSendingWorld } from '../support/sending.ts'

test.each([
  ['results', 'results must not be compacted, or they no longer tell what was answered'],
  ['doubts', 'doubts must not be compacted, or records are lost'],
  ['deadLetters', 'dead-letters must not be compacted, or records are lost'],
] as const)('a worker does not start if its %s topic is compacted, and says what to set', async (use, why) => {
  await expect(startSendingWorld({ compacted: [use] })).rejects.toThrow(
    new RegExp(`${why}.*: set cleanup.policy=delete`),
  )
})

test('a worker starts if only its statuses topic is compacted', async () => {
  const { sending } = await startSendingWorld({ compacted: ['statuses'] })
  expect(sending.reasons()).toEqual([])
})

test('a topic that becomes compacted while a worker runs is reported within a minute, once', async () => {
  const { broker, pass, telemetry, sending } = await startSendingWorld()
  const told: unknown[] = []
  telemetry.on('topics.compacted', ({ topics }) => told.push(topics))
  broker.cleanup.set('results', 'compact')
  await pass(60_000)
  const why = 'or they no longer tell what was answered, and a reset of the progress sends it again'
  expect(sending.warnings()).toEqual([`results must not be compacted, ${why}: set cleanup.policy=delete`])
  await pass(120_000)
  expect([sending.reasons(), told]).toEqual([[], [['results']]])
  broker.cleanup.clear()
  await pass(60_000)
  expect(sending.warnings()).toEqual([])
})

const expires =
  'later must not be deleted by age, or commands that wait are lost without a result: set cleanup.policy=compact'

test('a worker does not start if retention by age applies to the commands that wait', async () => {
  await expect(startSendingWorld({ laterExpires: true })).rejects.toThrow(expires)
})

test('retention by age that applies to the commands that wait while a worker runs is reported within a minute', async () => {
  const { broker, pass, sending } = await startSendingWorld()
  broker.cleanup.set('later', 'delete')
  await pass(60_000)
  expect(sending.warnings()).toEqual([expires])
})

test('what is compacted stays reported while the brokers cannot be asked', async () => {
  const { broker, bus, pass, sending, telemetry } = await startSendingWorld()
  const told: unknown[] = []
  telemetry.on('topics.compacted', ({ topics }) => told.push(topics))
  broker.cleanup.set('results', 'compact')
  await pass(60_000)
  vi.spyOn(bus, 'cleanup').mockRejectedValueOnce(new Error('no broker'))
  await pass(30_000)
  expect(sending.warnings()).toHaveLength(1)
  broker.cleanup.clear()
  await pass(60_000)
  expect([sending.warnings(), told]).toEqual([[], [['results']]])
})
