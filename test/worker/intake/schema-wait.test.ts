import { expect, test } from 'vitest'
import type { BusRecord, Session } from '../../../src/bus/port.ts'
import { Telemetry } from '../../../src/telemetry/events.ts'
import { SchemaWait, SchemaWaits } from '../../../src/worker/intake/schema-wait.ts'
import { ManualClock } from '../../support/clock.ts'

const minute = 60_000

/** A registry that answers for schemas once the test says so, and partitions whose records wait for them. */
function startWaits() {
  const clock = new ManualClock()
  const telemetry = new Telemetry()
  const known = new Set<number>()
  const told: string[] = []
  telemetry.on('registry.unavailable', ({ schemaId, count, place }) =>
    told.push(`${count} at ${place!.topic}/${place!.partition}@${place!.offset} for ${schemaId}`),
  )
  telemetry.on('registry.available', () => told.push('available'))
  const schemaWaits = new SchemaWaits({ telemetry, clock })
  const open = (topic = 'bulk', partition = 0) => {
    const session = { topic, partition, alive: true } as Session & { alive: boolean }
    const handed: number[][] = []
    const wait = new SchemaWait<{ record: BusRecord }>({
      ...{ session, schemaWaits, clock },
      decoder: {
        async prepare(id) {
          if (!known.has(id)) throw new Error('the registry is away')
        },
      },
      again: items => handed.push(items.map(({ record }) => record.offset)),
    })
    const add = (schemaId: number, offset: number) => {
      const [key, value] = [null, null]
      wait.add(schemaId, { record: { offset, timestamp: clock.now() - 1_000, key, value, headers: {} } })
    }
    return { session, handed, add, wait }
  }
  return { clock, known, told, schemaWaits, open }
}

test('records wait for an unavailable registry, which is told once a minute and once it is back', async () => {
  const { clock, known, told, schemaWaits, open } = startWaits()
  const [bulk, other] = [open(), open('bulk', 1)]
  const since = clock.now() - 1_000
  expect([schemaWaits.isBlocked, schemaWaits.oldestTimestamp('bulk')]).toEqual([false, null])
  bulk.add(7, 10)
  bulk.add(7, 11)
  await clock.pass(500)
  other.add(7, 20)
  other.add(8, 21)
  await clock.pass(0)
  expect([schemaWaits.isBlocked, schemaWaits.oldestTimestamp('bulk'), schemaWaits.oldestTimestamp('urgent')]).toEqual([
    ...[true, since, null],
  ])
  expect(told).toEqual(['1 at bulk/0@10 for 7'])
  await clock.pass(59_000)
  expect(told).toHaveLength(1)
  await clock.pass(2_000)
  expect(told).toEqual(['1 at bulk/0@10 for 7', '2 at bulk/0@10 for 7'])
  expect(schemaWaits.blocked).toEqual([
    { topic: 'bulk', partition: 0, offset: 10, why: 'schema', schemaId: 7, since },
    { topic: 'bulk', partition: 1, offset: 20, why: 'schema', schemaId: 7, since: since + 500 },
    { topic: 'bulk', partition: 1, offset: 21, why: 'schema', schemaId: 8, since: since + 500 },
  ])
  known.add(7)
  await clock.pass(1_000)
  expect([bulk.handed, other.handed, schemaWaits.isBlocked]).toEqual([[[10, 11]], [], true])
  await clock.pass(1_000)
  expect(other.handed).toEqual([[20]])
  known.add(8)
  await clock.pass(2_000)
  expect([other.handed, told.at(-1), schemaWaits.isBlocked]).toEqual([[[20], [21]], 'available', false])
  expect([schemaWaits.oldestTimestamp('bulk'), schemaWaits.warnings()]).toEqual([null, []])
})

test('the warning names five of the records that wait, and counts the others', async () => {
  const { clock, schemaWaits, open } = startWaits()
  const { add } = open()
  for (let id = 1; id <= 5; id++) add(id, 100 + id)
  await clock.pass(0)
  expect(schemaWaits.warnings()).toHaveLength(5)
  expect(schemaWaits.warnings()[0]).toMatch(
    /^the record at bulk\/0@101 has waited since \S+ for schema 1: the registry/,
  )
  for (let id = 6; id <= 7; id++) add(id, 100 + id)
  await clock.pass(0)
  expect(schemaWaits.warnings().at(-1)).toBe('records wait for 2 more schemas')
})

test('records of a partition that was lost are handed to nobody, and it is no recovery of the registry', async () => {
  const { clock, told, schemaWaits, open, known } = startWaits()
  const { session, add, handed } = open()
  add(7, 10)
  await clock.pass(minute / 2)
  session.alive = false
  known.add(7)
  await clock.pass(minute)
  expect([handed, told, schemaWaits.isBlocked]).toEqual([[], ['1 at bulk/0@10 for 7'], false])
})

test('whoever takes the records back gets each once, whether its schema came or not', async () => {
  const { clock, known, open } = startWaits()
  const { add, wait, handed } = open()
  add(7, 10)
  add(8, 11)
  add(7, 12)
  await clock.pass(100)
  known.add(7)
  await clock.pass(1_000) // those of 7 are gathered with what may come next
  expect(wait.takeBack().map(({ record }) => record.offset)).toEqual([10, 12, 11])
  known.add(8)
  await clock.pass(minute)
  expect(handed).toEqual([])
})
