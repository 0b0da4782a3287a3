import { expect, test } from 'vitest'
import { deedText, type Replay, readHistory, replayRecord } from '../../src/control/history.ts'
import { openMemoryBus } from '../support/bus.ts'
import { buildPause, buildWithdrawal } from '../support/control.ts'
import { buildSettings } from '../support/settings.ts'

const settings = buildSettings()
const { history } = settings.topics

test.each([
  ['by', 500, false],
  ['by', 501, true],
  ['reason', 500, false],
  ['reason', 501, true],
] as const)('a replay whose %s has %d characters is refused: %s', (field, length, isRefused) => {
  const replay = { effect: 'replayed', name: 'letters', letters: 1, by: 'olena', at: 0, reason: 'none' } as const
  const write = () => replayRecord(history, { ...replay, [field]: 'x'.repeat(length) })
  if (isRefused) expect(write).toThrow('may have at most 500 characters each')
  else expect(write().topic).toBe(history)
})

test('the history tells of each deed: what was paused, resumed, withdrawn, and is no longer', () => {
  const at = Date.UTC(2026, 2, 14)
  const time = '2026-03-14T00:00:00.000Z'
  const deeds = [buildPause({ at }), buildPause({ at, begins: false }), buildWithdrawal({ at, begins: false })]
  expect(deeds.map(deedText)).toEqual([
    `topic bulk is paused by olena since ${time} until it is resumed`,
    `topic bulk was resumed by olena at ${time}`,
    `campaign spring is no longer withdrawn, by olena at ${time}`,
  ])
})

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
