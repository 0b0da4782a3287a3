import { expect, test } from 'vitest'
import type { Envelope } from '../../../src/dispatch/sending/delivery.ts'
import { InFlight } from '../../../src/dispatch/sending/packer.ts'
import { buildPartition } from '../../support/pendings.ts'

const inFlight = (sessions: ReturnType<typeof buildPartition>[]) =>
  new InFlight({ pendings: [], parts: new Map(sessions.map(session => [session, [1]])) } as unknown as Envelope, 0)

test('an envelope is named by its partitions, a few of them where they are many', () => {
  const partitions = [0, 1, 2, 3, 4, 5, 6].map(buildPartition)
  expect(inFlight(partitions.slice(0, 2)).what).toBe('an envelope of busgate.commands/0, busgate.commands/1')
  expect(inFlight(partitions).what).toMatch(/^an envelope of busgate.commands\/0, .*busgate.commands\/4 and 2 more$/)
})

test('an envelope that a held session keeps could not end now; one whose partition was lost waits for nobody', () => {
  const [first, second] = [buildPartition(0), buildPartition(1)]
  const envelope = inFlight([first, second])
  expect(envelope.couldEnd).toBe(true)
  second.open = false
  expect(envelope.couldEnd).toBe(false)
  Object.assign(second, { alive: false })
  expect(envelope.couldEnd).toBe(true)
})
