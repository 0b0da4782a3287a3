import { expect, onTestFinished, test } from 'vitest'
import type { OutgoingRecord } from '../../src/bus/port.ts'
import type { Report } from '../../src/fleet/report.ts'
import { Reporter } from '../../src/fleet/reporter.ts'
import { Telemetry } from '../../src/telemetry/events.ts'
import { ManualClock } from '../support/clock.ts'
import { buildHeld, buildReport } from '../support/reports.ts'

interface Given {
  publish?: (records: OutgoingRecord[]) => Promise<void>
}

function startReporter({ publish = async () => {} }: Given = {}) {
  const clock = new ManualClock()
  const telemetry = new Telemetry()
  const written: { at: number; value: Report | null }[] = []
  const state = { report: buildReport() }
  const events: string[] = []
  telemetry.on('report.unavailable', ({ error }) => events.push(error))
  telemetry.on('report.available', () => events.push('available'))
  const publisher = {
    connect: async () => {},
    close: async () => {},
    publish: async (records: OutgoingRecord[]) => {
      await publish(records)
      for (const { value } of records)
        written.push({ at: clock.monotonic(), value: value && JSON.parse(String(value)) })
    },
  }
  const bus = { publisher: async () => publisher }
  const reporter = new Reporter({ bus, topic: 'busgate.workers', report: () => state.report, clock, telemetry })
  onTestFinished(async () => void (await Promise.all([reporter.stop(), clock.pass(2_000)])))
  return { clock, written, state, events, reporter, times: () => written.map(({ at }) => at) }
}

test('a process reports once a second while its state changes, and every 20 seconds while it does not', async () => {
  const { clock, state, times } = startReporter()
  await clock.pass(50_000)
  expect(times()).toEqual([1_000, 21_000, 41_000])
  for (let i = 0; i < 20; i++) {
    state.report = buildReport({ held: [buildHeld({ account: `a${i}` })] })
    await clock.pass(100)
  }
  expect(times().slice(3)).toEqual([51_000, 52_000])
})

test('rates, times and throttling are not worth a report, nor is a command more', async () => {
  const { clock, state, written } = startReporter()
  state.report = buildReport({ held: [buildHeld({ waiting: 1_000 })] })
  await clock.pass(1_000)
  const held = [buildHeld({ waiting: 1_010, probeAt: 5 }), buildHeld({ account: 'other', reason: 'throttled' })]
  state.report = buildReport({ held, owned: { 'busgate.commands': { 0: 99 } } })
  await clock.pass(19_000)
  expect(written).toHaveLength(1)
  await clock.pass(1_000)
  expect(written[1]!.value).toMatchObject({ held: [{ waiting: 1_010 }, { account: 'other' }] })
})

test('a topic that cannot be written is logged once, and tried again until it can', async () => {
  let isMissing = true
  const { clock, events, written } = startReporter({
    publish: async () => {
      if (isMissing) throw new Error('no such topic')
    },
  })
  await clock.pass(200_000)
  expect(events).toEqual(['no such topic'])
  isMissing = false
  await clock.pass(30_000)
  expect(events).toEqual(['no such topic', 'available'])
  expect(written).not.toEqual([])
})

test('a process that stops says so, and does not wait for brokers that hang', async () => {
  let isHanging = false
  const { clock, reporter, written } = startReporter({
    publish: async () => {
      if (isHanging) await new Promise(() => {})
    },
  })
  await clock.pass(5_000)
  await reporter.stop()
  expect(written.at(-1)!.value).toBeNull()
  isHanging = true
  await Promise.all([reporter.stop(), clock.pass(1_000)])
})
