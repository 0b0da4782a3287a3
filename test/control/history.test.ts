import { expect, test } from 'vitest'
import { deedText, type Replay, readHistory, replayRecord } from '../../src/control/history.ts'
import { openMemoryBus } from '../support/bus.ts'
import { buildSettings } from '../support/settings.ts'

const settings = buildSettings()
const { history } = settings.topics

test.each([
  [1, '1 dead letter of letters was replayed by olena at 2026-03-14T12:00:00.000Z: the schema is back'],
  [1_200, '1200 dead letters of letters were replayed by olena at 2026-03-14T12:00:00.000Z: the schema is back'],
])('a replay of %d dead letters is read as it was written, and told', async (letters, text) => {
  const { bus, broker } = openMemoryBus([history])
  const at = Date.UTC(2026, 2, 14, 12)
  const replay: Replay = { effect: 'replayed', name: 'letters', letters, by: 'olena', at, reason: 'the schema is back' }
  const foreign = { ...replayRecord(history, replay), value: Buffer.from('{"replayed":0}') }
  broker.append([replayRecord(history, replay), foreign], at)
  const { deeds, foreign: others } = await readHistory(bus, settings)
  expect([deeds, others]).toEqual([[replay], 1])
  expect(deedText(deeds[0]!)).toBe(text)
})
