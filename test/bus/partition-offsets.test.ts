import { expect, onTestFinished, test } from 'vitest'
import { PartitionOffsets } from '../../src/bus/read/partition-offsets.ts'
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
  const logs = new PartitionOffsets({ brokers: brokers as never, clock, telemetry })
  onTestFinished(() => logs.close())
  return { brokers, clock, logs, warnings }
}

const tp = { topic: 'commands', partition: 3 }
const listed = (offset: number) => ({ errorCode: 0, offsets: [{ ...tp, errorCode: 0, offset }] })

test('the end of a log is waited for in silence while its leader is elected', async () => {
  const { brokers, clock, logs, warnings } = setUp()
  brokers.next('ListOffsets', moving(), moving(), listed(7))
  const end = logs.end(tp)
  await clock.pass(1_000)
  expect(await end).toBe(7)
  expect(warnings).toEqual([])
})

test('the end of a log whose leader is not found for seconds is waited for, with one warning', async () => {
  const { brokers, clock, logs, warnings } = setUp()
  brokers.next('ListOffsets', ...Array.from({ length: 10 }, moving), listed(7))
  const end = logs.end(tp)
  await clock.pass(30_000)
  expect(await end).toBe(7)
  expect(warnings).toEqual([`cannot read commands/3 now: ${moving().message}`])
})

/** Answers as the leader of every log from 2 to 9, which knows no partition 13. */
const ofLeader = ({ tps, timestamp }: { tps: (typeof tp)[]; timestamp: number }) => ({
  errorCode: 0,
  offsets: tps.map(one => ({
    ...one,
    errorCode: one.partition === 13 ? moving().code : 0,
    offset: timestamp === -2 ? 2 : 9,
  })),
})

test('the ends of all logs that one broker leads are asked for at once', async () => {
  const { brokers, logs } = setUp()
  brokers.next('ListOffsets', ofLeader, ofLeader)
  const tps = Array.from({ length: 12 }, (_, partition) => ({ ...tp, partition }))
  expect(await Promise.all(tps.map(one => logs.ends(one)))).toEqual(tps.map(one => ({ ...one, low: 2, high: 9 })))
  expect(brokers.of('ListOffsets').map(({ request }) => request.tps.length)).toEqual([12, 12])
})

test('a log whose ends two ask for at once is named once, since brokers refuse one that is named twice', async () => {
  const { brokers, logs } = setUp()
  brokers.next('ListOffsets', ofLeader, ofLeader)
  expect(await Promise.all([logs.ends(tp), logs.ends(tp)])).toEqual(Array(2).fill({ ...tp, low: 2, high: 9 }))
  expect(brokers.of('ListOffsets').map(({ request }) => request.tps)).toEqual([[tp], [tp]])
})

/** Lets time pass in steps: the event loop has to turn before a gathered question is asked, whose answer sets a timer. */
async function passInSteps(clock: ManualClock, ms: number): Promise<void> {
  for (let step = 0; step < 100; step++) await clock.pass(ms / 100)
}

test('a log whose leader is elected holds up none of the others that are asked about with it', async () => {
  const { brokers, clock, logs } = setUp()
  brokers.next('ListOffsets', ...Array.from({ length: 40 }, () => ofLeader))
  const missing = expect(logs.ends({ ...tp, partition: 13 })).rejects.toMatchObject({ type: 'NOT_LEADER_OR_FOLLOWER' })
  expect(await logs.ends(tp)).toMatchObject({ low: 2, high: 9 })
  await passInSteps(clock, 10_000)
  await missing
})

test('whoever asks for the ends of a log whose leader is elected gets them when it is', async () => {
  const { brokers, clock, logs, warnings } = setUp()
  brokers.next('ListOffsets', moving(), moving(), moving(), ofLeader, ofLeader)
  const ends = logs.ends(tp)
  await passInSteps(clock, 1_000)
  expect(await ends).toMatchObject({ low: 2, high: 9 })
  expect(warnings).toEqual([])
})

test('a broker that does not answer holds up none of the logs that others lead', async () => {
  const { brokers, logs } = setUp()
  brokers.leaders.set('commands/4', 2)
  const frozen = Promise.withResolvers<never>()
  brokers.next('ListOffsets', () => frozen.promise, ofLeader, ofLeader)
  const slow = logs.ends(tp)
  expect(await logs.ends({ ...tp, partition: 4 })).toMatchObject({ low: 2, high: 9 })
  frozen.reject(new Error('no answer'))
  brokers.next('ListOffsets', ofLeader, ofLeader)
  expect(await slow).toMatchObject({ low: 2, high: 9 })
})
