import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { OutgoingRecord } from '../../src/bus/port.ts'
import { loadSettings } from '../../src/config/index.ts'
import { readFleet } from '../../src/fleet/fleet.ts'
import { holdsOf, ownerOf } from '../../src/fleet/holds.ts'
import { goneRecord, longestValueBytes, writeReport } from '../../src/fleet/report.ts'
import { holdReasons } from '../../src/vocabulary/holds.ts'
import { openMemoryBus } from '../support/bus.ts'
import { buildHeld, buildReport } from '../support/reports.ts'

const settings = loadSettings({ env: {}, overrides: { kafka: { brokers: 'embedded' } } })
const topic = settings.topics.workers
const partitions = new Map([['busgate.commands', 1]])

function startTopic() {
  const { bus, broker } = openMemoryBus([topic])
  return {
    write: (record: OutgoingRecord, agoMs = 0) => broker.append([record], Date.now() - agoMs),
    read: () => readFleet(bus, settings),
    texts: async () => holdsOf(await readFleet(bus, settings), partitions).map(({ text }) => text),
  }
}

const names = (processes: readonly { name: string }[]) => processes.map(({ name }) => name)

test('a process that has been silent for a minute holds nothing back, and is named', async () => {
  const { write, read, texts } = startTopic()
  const report = buildReport({ held: [buildHeld()] })
  write(writeReport(topic, 'dead', report), 61_000)
  expect(names((await read()).silent)).toEqual(['dead'])
  expect(await texts()).toEqual([
    expect.stringMatching(/^no worker has reported in the last minute; dead was last heard at \S+Z$/),
  ])
  write(writeReport(topic, 'alive', report), 59_000)
  expect(names((await read()).alive)).toEqual(['alive'])
  expect(await texts()).toEqual([expect.stringMatching(/^account shop has been held back/)])
})

test('a process that said that it stops is gone at once', async () => {
  const { write, read } = startTopic()
  write(writeReport(topic, 'one', buildReport()))
  write(goneRecord(topic, 'one'))
  expect(await read()).toEqual({ alive: [], silent: [], skipped: 0 })
})

test('of a killed process and its successor, the successor owns a partition, whatever their names', async () => {
  const { write, read } = startTopic()
  const report = buildReport({ owned: { 'busgate.commands': { 0: 0 } } })
  const owner = async () => ownerOf(await read(), { topic: 'busgate.commands', partition: 0 })?.name
  write(writeReport(topic, 'b', report), 30_000)
  for (const successor of ['c', 'a']) {
    write(writeReport(topic, successor, report), 20_000)
    expect(await owner()).toBe(successor)
    write(goneRecord(topic, successor))
  }
  expect(await owner()).toBe('b')
})

test('processes of another group are not shown', async () => {
  const { write, read } = startTopic()
  write(writeReport(topic, 'one', buildReport({ group: 'other' })))
  expect((await read()).alive).toEqual([])
})

test('what several processes hold back is told once: since the first, with all that waits', async () => {
  const { write, texts } = startTopic()
  const [first, second] = [Date.UTC(2026, 0, 1, 10), Date.UTC(2026, 0, 1, 11)]
  write(writeReport(topic, 'one', buildReport({ held: [buildHeld({ since: second, waiting: 1_200 })] })))
  write(writeReport(topic, 'two', buildReport({ held: [buildHeld({ since: first, waiting: 4 })] })))
  expect(await texts()).toEqual([
    'account shop has been held back since 2026-01-01T10:00:00.000Z, because the gateway refuses its key; 1,204 commands wait with it',
  ])
})

test('every hold of a report is told', async () => {
  const { write, texts } = startTopic()
  const { commands } = { commands: { topic: 'busgate.commands', partition: 0, offset: 7 } }
  const report = buildReport({
    reasons: ['the coordinator does not answer'],
    held: Object.keys(holdReasons).map(reason => buildHeld({ reason: reason as keyof typeof holdReasons })),
    polls: [buildHeld()],
    stuck: [
      { ...commands, why: 'schema', schemaId: 3, since: 0 },
      { ...commands, why: 'transaction', text: 'somebody has an open transaction' },
    ],
    owned: {},
  })
  write(writeReport(topic, 'one', report))
  const told = await texts()
  for (const { because } of Object.values(holdReasons)) expect(told.join()).toContain(because)
  expect(told).toContain('no worker owns busgate.commands/0 now')
  expect(told).toContain(
    'the record at busgate.commands/0@7 has waited since 1970-01-01T00:00:00.000Z for schema 3: the registry cannot be asked for it',
  )
  expect(told).toContain('somebody has an open transaction')
  expect(told).toContain('process one does not work: the coordinator does not answer')
  expect(told).toContainEqual(expect.stringMatching(/^status polls of account shop have been held back/))
})

test('whatever else is on the topic is skipped, and hides no report', async () => {
  const anything = fc.oneof(
    fc.uint8Array({ maxLength: 100 }).map(bytes => Buffer.from(bytes)),
    fc.json().map(text => Buffer.from(text)),
    fc
      .record({ held: fc.anything(), stuck: fc.anything(), owned: fc.anything(), startedAt: fc.double() })
      .map(odd =>
        Buffer.from(
          JSON.stringify({ ...buildReport(), ...odd }, (_, value) => (typeof value === 'bigint' ? 0 : value)),
        ),
      ),
    fc.constant(Buffer.alloc(longestValueBytes + 1, '{')),
  )
  const key = fc.option(fc.string({ maxLength: 600 }).map(text => Buffer.from(`other ${text}`)))
  await fc.assert(
    fc.asyncProperty(fc.array(fc.record({ key, value: anything }), { maxLength: 10 }), async foreign => {
      const { write, read } = startTopic()
      const report = buildReport({ held: [buildHeld()] })
      write(writeReport(topic, 'one', report))
      for (const record of foreign) write({ topic, ...record })
      const fleet = await read()
      expect(fleet.alive.find(({ name }) => name === 'one')?.report).toEqual(report)
      for (const { text, mend } of holdsOf(fleet, partitions)) expect(typeof (text + mend)).toBe('string')
    }),
    { numRuns: 100 },
  )
})

test('of a thousand foreign reports as long as they may be, as much is told as of honest ones', async () => {
  const { write, read, texts } = startTopic()
  const held = Array.from({ length: 5_000 }, () => ({ account: 'a', reason: 'denied', since: 5 }))
  const [usual, first] = [9, 1].map(since =>
    Buffer.from(JSON.stringify({ ...buildReport(), held: [{ ...held[0], since }, ...held] })),
  )
  for (let i = 0; i < 1_100; i++) write({ topic, key: Buffer.from(`foreign ${i}`), value: i === 20 ? first! : usual! })
  const { alive, skipped } = await read()
  expect(alive.length + skipped).toBe(1_100)
  expect(Math.max(...alive.map(({ report }) => report.held.length))).toBeLessThan(1_000)
  expect(await texts()).toContainEqual(
    expect.stringMatching(/^account a has been held back since 1970-01-01T00:00:00.001Z/),
  )
})

test('a report is short enough to be read, whatever it says, and names the accounts for which most commands wait', async () => {
  const { write, read } = startTopic()
  const long = 'x'.repeat(600)
  const held = Array.from({ length: 5_000 }, (_, i) => buildHeld({ account: `${i}${long}`, error: long, waiting: i }))
  const stuck = held.map(() => ({ topic: long, partition: 0, offset: 0, why: 'transaction' as const, text: long }))
  const learnt = Object.fromEntries(held.map(({ account }) => [account, 1]))
  write(writeReport(topic, 'one', buildReport({ held, polls: held, stuck, learnt, reasons: stuck.map(() => long) })))
  const { alive, skipped } = await read()
  expect(skipped).toBe(0)
  expect(alive[0]!.report.held[0]!.account).toMatch(/^4999x/)
  expect(alive[0]!.report.reasons[0]!.length).toBeLessThan(600)
  expect(alive[0]!.report.held.length).toBeGreaterThanOrEqual(100)
})
