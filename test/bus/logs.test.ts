import { expect, onTestFinished, test } from 'vitest'
import { Logs } from '../../src/bus/kafka/logs.ts'
import { Telemetry } from '../../src/telemetry/events.ts'
import { ManualClock } from '../support/clock.ts'
import { refusal, ScriptedBrokers } from '../support/scripted-brokers.ts'

const moving = () => refusal('NOT_LEADER_OR_FOLLOWER')

function setUp() {
  const brokers = new ScriptedBrokers()
  const clock = new ManualClock()
  const telemetry = new Telemetry()
  const warnings: string[] = []
  telemetry.on('bus.log', ({ message }) => warnings.push(message))
  const logs = new Logs({ brokers: brokers as never, clock, telemetry })
  onTestFinished(() => logs.close())
  return { brokers, clock, logs, warnings }
}

const tp = { topic: 'commands', partition: 3 }

test('the end of a log is waited for in silence while its leader is elected', async () => {
  const { brokers, clock, logs, warnings } = setUp()
  brokers.next('ListOffsets', moving(), moving(), { errorCode: 0, offset: 7 })
  const end = logs.end(tp)
  await clock.pass(1_000)
  expect(await end).toBe(7)
  expect(warnings).toEqual([])
})

test('the end of a log whose leader is not found for seconds is waited for, with one warning', async () => {
  const { brokers, clock, logs, warnings } = setUp()
  brokers.next('ListOffsets', ...Array.from({ length: 10 }, moving), { errorCode: 0, offset: 7 })
  const end = logs.end(tp)
  await clock.pass(30_000)
  expect(await end).toBe(7)
  expect(warnings).toEqual([`cannot read commands/3 now: ${moving().message}`])
})
