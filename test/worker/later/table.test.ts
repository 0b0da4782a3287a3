import { expect, test } from 'vitest'
import type { Bus, BusRecord, OnRecords } from '../../../src/bus/port.ts'
import { type LaterFacts, waitingRecord } from '../../../src/records/later.ts'
import { Telemetry } from '../../../src/telemetry/events.ts'
import { LaterTable } from '../../../src/worker/later/table.ts'
import { ManualClock } from '../../support/clock.ts'

const facts: LaterFacts = {
  ...{ account: 'default', type: 'sms', correlationId: null, tenant: null, campaign: null, country: null },
  ...{ notBefore: null, since: 0, timestamp: 0, expiresAt: 0, copyAt: null },
}
const commands = { topic: 'bulk', partition: 9 }
const later = { topic: 'later', partition: 0 }

/** The record of a command that waits, at the same offset as its command. */
function waitingAt(offset: number): BusRecord {
  const record: BusRecord = { offset, timestamp: 0, key: null, value: Buffer.from('command'), headers: {} }
  const key = { ...commands, offset, id: 1n }
  const { value, headers = {} } = waitingRecord(later, key, facts, { ...commands, record })
  return { offset, timestamp: 0, key: Buffer.from(`bulk/9@${offset}#1`), value: value as Buffer, headers }
}

test('what waits behind a transaction that is being completed is read before the partition is opened', async () => {
  const ended = Promise.withResolvers<void>()
  let begun = 0
  const bus: Partial<Bus> = {
    async search(tp, { take }) {
      await take([waitingAt(0)])
      return { ...tp, from: 0, until: 1, start: 0, since: 0, unreadable: 0 }
    },
    async follow(_tp, from, onRecords: OnRecords) {
      expect(from).toEqual({ offset: 1 })
      return {
        position: 1,
        async caughtUp(behindOpen) {
          begun++
          expect(behindOpen).toBe('behind open transactions')
          await ended.promise
          await onRecords([waitingAt(1)])
        },
        close: async () => {},
      }
    },
  }
  const table = new LaterTable({
    bus: bus as Bus,
    topic: 'later',
    clock: new ManualClock(),
    telemetry: new Telemetry(),
  })
  const taken: number[] = []
  const reading = table.read(commands, 0, 0, (_entry, { offset }) => void taken.push(offset))
  await expect.poll(() => begun).toBe(1)
  expect(taken).toEqual([0])
  ended.resolve()
  await reading
  expect(taken).toEqual([0, 1])
})
