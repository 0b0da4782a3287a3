import { expect, test } from 'vitest'
import type { Envelope } from '../../../src/dispatch/sending/delivery.ts'
import { InFlight } from '../../../src/dispatch/sending/packer.ts'
import { Slots } from '../../../src/dispatch/sending/slots.ts'
import { settled } from '../../support/clock.ts'

const empty = { pendings: [], parts: new Map() } as Pick<Envelope, 'pendings' | 'parts'> as Envelope
const [urgent, bulk] = [0, 1]

/** Slots of two topics, with requests that end when the test says so. */
function buildSlots(concurrency: number) {
  const slots = new Slots(concurrency, 2)
  const begun: string[] = []
  const ends: (() => void)[] = []
  const request = (name: string) => () => {
    begun.push(name)
    return new Promise<void>(resolve => ends.push(resolve))
  }
  return {
    slots,
    begun,
    wait(...names: string[]) {
      for (const name of names) {
        if (name === 'poll') void slots.poll(request(name))
        else void slots.envelope(new InFlight(empty, name === 'urgent' ? urgent : bulk), request(name))
      }
    },
    async fill() {
      slots.fill()
      await settled()
    },
    /** The oldest request ends. */
    async endOne() {
      ends.shift()!()
      await settled()
    },
  }
}

test('no more requests begin than there are slots, the last of them for the most urgent topic only', async () => {
  const { slots, begun, wait, fill, endOne } = buildSlots(3)
  wait('bulk', 'bulk', 'bulk', 'poll')
  await fill()
  expect(begun).toEqual(['bulk', 'bulk'])
  expect([slots.free(bulk), slots.free(urgent)]).toEqual([0, 1])
  wait('urgent', 'urgent')
  await fill()
  expect(begun).toEqual(['bulk', 'bulk', 'urgent'])
  expect([slots.taken, slots.free(urgent)]).toEqual([3, 0])
  await endOne()
  await fill()
  expect(begun).toEqual(['bulk', 'bulk', 'urgent', 'urgent'])
})

test('a single slot is for all', async () => {
  const { slots, begun, wait, fill, endOne } = buildSlots(1)
  wait('bulk', 'urgent')
  await fill()
  expect(begun).toEqual(['urgent'])
  expect(slots.taken).toBe(1)
  await endOne()
  await fill()
  expect(begun).toEqual(['urgent', 'bulk'])
})

test('bulk and status polls go first after seven more urgent requests', async () => {
  const { begun, wait, fill, endOne } = buildSlots(1)
  wait('bulk', 'bulk', 'poll', 'poll', ...Array.from({ length: 20 }, () => 'urgent'))
  for (let i = 0; i < 18; i++) {
    await fill()
    await endOne()
  }
  expect(begun.map(name => name[0]).join('')).toBe('uuuuuuubpuuuuuuubp')
})

test('a status poll that fails gives its slot back, and whoever waits for it is told', async () => {
  const { slots } = buildSlots(2)
  const failing = slots.poll(() => Promise.reject(new Error('no key')))
  slots.fill()
  await expect(failing).rejects.toThrow('no key')
  expect(slots.taken).toBe(0)
})

test('an envelope that is withdrawn while it waits is not sent', async () => {
  const { slots, begun, fill } = buildSlots(2)
  const flight = new InFlight(empty, bulk)
  const sent = slots.envelope(flight, async () => begun.push('bulk'))
  expect(slots.isWaiting(flight)).toBe(true)
  expect(slots.withdraw(() => false)).toEqual([flight])
  expect(await sent).toBeNull()
  await fill()
  expect([begun, slots.isWaiting(flight)]).toEqual([[], false])
})
