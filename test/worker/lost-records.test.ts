import { expect, test } from 'vitest'
import { errorHeaders } from '../../src/records/dead-letter.ts'
import { buildPause, buildResume } from '../support/control.ts'
import { startSendingWorld } from '../support/sending.ts'

type World = Awaited<ReturnType<typeof startSendingWorld>>

/** Offsets and perhaps-sent mark of the dead letters about ranges that a log lost. */
const lostIn = ({ letters }: World) =>
  letters().map(({ headers, value }) => {
    expect([String(headers[errorHeaders.code]), value]).toEqual(['RECORDS_DELETED', null])
    const first = Number(headers[errorHeaders.offset])
    const { [errorHeaders.lastOffset]: last = first, [errorHeaders.perhapsSent]: perhapsSent } = headers
    return [String(headers[errorHeaders.topic]), first, Number(last), perhapsSent !== undefined]
  })

test('a dead letter for each range tells of commands that the log lost, once, and of those that a dead worker perhaps sent', async () => {
  const world = await startSendingWorld({
    takes: ({ ids }) => (ids.includes(2) ? Infinity : 0),
    settings: { gateway: { maxOperations: 1 } },
  })
  world.send(1)
  await world.pass(1_000)
  world.send(2)
  await world.pass(1_000)
  world.control(buildPause({ kind: 'topic', name: 'bulk' }))
  await world.pass(1_000)
  for (const id of [3, 4, 5]) world.send(id)
  await world.pass(1_000)
  world.broker.cut({ topic: 'bulk', partition: 0 }, { start: 4 })
  await world.takeOver()
  await world.pass(2_000)
  expect(lostIn(world)).toEqual([
    ['bulk', 1, 1, true],
    ['bulk', 2, 3, false],
  ])
  await world.takeOver()
  world.control(buildResume({ kind: 'topic', name: 'bulk' }))
  await world.pass(2_000)
  expect(lostIn(world)).toHaveLength(2)
  expect(world.results().filter(({ final }) => final)).toMatchObject([
    { id: 1n, outcome: 'SENT' },
    { id: 5n, outcome: 'SENT' },
  ])
})

test('lost doubts are told as commands that were perhaps sent', async () => {
  const world = await startSendingWorld()
  await world.stop()
  for (const id of [1, 2, 3]) world.doubted(id)
  world.broker.cut({ topic: 'doubts', partition: 0 }, { start: 2 })
  await world.startAnother({})
  await world.pass(2_000)
  expect(lostIn(world)).toEqual([['doubts', 0, 1, true]])
})
