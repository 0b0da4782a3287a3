import fc from 'fast-check'
import { expect, test, vi } from 'vitest'
import type { OutgoingRecord } from '../../src/bus/port.ts'
import { WaitingHours } from '../../src/inspect/waiting.ts'
import { type LaterFacts, type LaterKey, releasedRecord, tombstone, waitingRecord } from '../../src/records/later.ts'
import { openMemoryBus, publishAll } from '../support/bus.ts'
import { buildSettings } from '../support/settings.ts'

const settings = buildSettings()
const topic = settings.topics.later
const ending = new AbortController().signal
const hour = 3_600_000
const now = Date.UTC(2026, 10, 30, 9, 30)
const nine = Date.UTC(2026, 10, 30, 9)

const facts: LaterFacts = {
  ...{ account: 'default', type: 'sms', correlationId: null, tenant: null, campaign: null },
  ...{ country: 'UA', copyAt: null, notBefore: null, since: 0, timestamp: 0, expiresAt: now + 99 * hour },
}

interface Waiting {
  id: number
  notBefore: number | null
  campaign: string | null
}

const due = { notBefore: null, campaign: null }

const keyOf = (id: number): LaterKey => ({ topic: 'commands', partition: 0, offset: id, id: BigInt(id) })
const tableOf = (id: number) => ({ topic, partition: id % 3 })

function recordOf({ id, ...waiting }: Waiting): OutgoingRecord {
  const record = { offset: id, timestamp: 0, key: null, value: Buffer.from('a command'), headers: {} }
  const origin = { topic: 'commands', partition: 0, record }
  return waitingRecord(tableOf(id), keyOf(id), { ...facts, ...waiting }, origin)
}

async function count(...records: OutgoingRecord[]) {
  const { bus } = openMemoryBus([topic], { partitions: 3 })
  await publishAll(bus, records)
  const hours = await new WaitingHours(bus, settings).look(ending, now)
  return hours!.map(({ hour, campaign, commands }) => [hour, campaign, commands])
}

test('commands that wait are counted by hour and campaign, the next hour first; those that are due before all', async () => {
  const waiting = [
    ...Array.from({ length: 30 }, (_, i) => ({ id: 1 + i, notBefore: nine + 2 * hour, campaign: 'spring' })),
    { id: 100, notBefore: nine + hour, campaign: null },
    { id: 101, notBefore: nine + 2 * hour - 1, campaign: null },
    { id: 102, notBefore: now + 1, campaign: 'spring' },
    { id: 103, notBefore: nine - 1, campaign: 'autumn' },
    { id: 104, notBefore: null, campaign: 'autumn' },
  ]
  expect(await count(...waiting.map(recordOf))).toEqual([
    [null, 'autumn', 2],
    [nine, 'spring', 1],
    [nine + hour, null, 2],
    [nine + 2 * hour, 'spring', 30],
  ])
})

test('records that busgate did not write count as nothing', async () => {
  const foreign = { topic, partition: 0, key: Buffer.from('commands/0@1#1'), value: Buffer.from('x') }
  expect(await count(foreign, { ...foreign, headers: { 'busgate.later': '["waits"]' } })).toEqual([])
})

test('without the topic, nothing is known', async () => {
  const { bus } = openMemoryBus([])
  expect(await new WaitingHours(bus, settings).look(ending)).toBeNull()
})

test('a second look reads only what was written since', async () => {
  const { bus } = openMemoryBus([topic], { partitions: 3 })
  const hours = new WaitingHours(bus, settings)
  const looked = async () => (await hours.look(ending, now))!.map(({ commands }) => commands)
  await publishAll(bus, [recordOf({ id: 1, ...due }), recordOf({ id: 2, ...due })])
  expect(await looked()).toEqual([2])
  const search = vi.spyOn(bus, 'search')
  await publishAll(bus, [tombstone(tableOf(1), keyOf(1)), recordOf({ id: 3, ...due }), recordOf({ id: 4, ...due })])
  expect(await looked()).toEqual([3])
  expect(search.mock.calls.map(([, { from }]) => from)).toEqual([{ offset: 0 }, { offset: 1 }, { offset: 1 }])
})

test('only the last record of a command counts, whatever came before', async () => {
  const step = fc.record({ id: fc.integer({ min: 1, max: 6 }), what: fc.constantFrom('waits', 'released', 'finished') })
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 30 }), async steps => {
      const records = steps.map(({ id, what }) => {
        if (what === 'waits') return recordOf({ id, notBefore: null, campaign: 'spring' })
        return what === 'released' ? releasedRecord(tableOf(id), keyOf(id), facts) : tombstone(tableOf(id), keyOf(id))
      })
      const last = new Map(steps.map(({ id, what }) => [id, what]))
      const waiting = [...last.values()].filter(what => what === 'waits').length
      expect(await count(...records)).toEqual(waiting > 0 ? [[null, 'spring', waiting]] : [])
    }),
    { numRuns: 50 },
  )
})
