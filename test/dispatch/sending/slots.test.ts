import { expect, test } from 'vitest'
import type { Envelope } from '../../../src/dispatch/sending/delivery.ts'
import { InFlight } from '../../../src/dispatch/sending/in-flight.ts'
import { Slots } from '../../../src/dispatch/sending/slots.ts'
import { settled } from '../../support/clock.ts'

const empty = { pendings: [], parts: new Map() } as Pick<Envelope, 'pendings' | 'parts'> as Envelope
const [urgent, bulk] = [0, 1]

test('the slot of the most urgent topic is not free for others at the moment when its request ends', async () => {
  const slots = new Slots(3, 2)
  const ended = Promise.withResolvers<void>()
  const hold = (urgency: number, until: Promise<void>) => slots.hold(new InFlight(empty, urgency, 0), () => until)
  const urgentEnds = hold(urgent, ended.promise)
  const bulkEnds = hold(bulk, ended.promise)
  void hold(bulk, new Promise(() => {}))
  await settled()
  ended.resolve()
  const free: number[] = []
  for (const one of [urgentEnds, bulkEnds]) void one.then(() => free.push(slots.free(bulk)))
  for (let step = 0; step < 20; step++) {
    await null
    free.push(slots.free(bulk))
  }
  expect(Math.max(...free)).toBe(1)
})

test('a request that fails gives its slot back, and whoever waits for it is told', async () => {
  const slots = new Slots(2, 2)
  const failing = slots.request('a status poll', () => Promise.reject(new Error('no key')))
  expect(
    slots.next(
      () => {},
      () => false,
    ),
  ).toBe(true)
  expect([...slots.underWay]).toHaveLength(1)
  await expect(failing).rejects.toThrow('no key')
  expect(slots.taken).toBe(0)
  expect([...slots.underWay]).toHaveLength(0)
})

test('no more than one slot is kept from urgent envelopes for bulk whose turn it is and that is being prepared', async () => {
  const slots = new Slots(10, 2)
  const sent: InFlight[] = []
  const send = (flight: InFlight) => {
    sent.push(flight)
    void slots.hold(flight, () => new Promise(() => {}))
  }
  const prepare = (urgency: number) => {
    const flight = new InFlight(empty, urgency, 0)
    slots.expect(flight)
    return flight
  }
  const goOn = () => {
    while (slots.next(send, () => true));
    return sent.splice(0).map(({ urgency }) => urgency)
  }
  const arrive = (flight: InFlight) => slots.arrive(flight, true)
  for (let i = 0; i < 7; i++) arrive(prepare(urgent))
  expect(goOn()).toHaveLength(7)
  const [due] = [bulk, bulk, bulk].map(prepare)
  for (let i = 0; i < 3; i++) arrive(prepare(urgent))
  expect(goOn()).toEqual([urgent, urgent])
  arrive(due!)
  expect(goOn()).toEqual([bulk])
})
