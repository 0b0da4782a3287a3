import { describe, expect, onTestFinished, test } from 'vitest'
import { MemoryBroker } from '../../src/bus/memory/broker.ts'
import { MemoryBus } from '../../src/bus/memory/bus.ts'
import { startSending } from '../../src/dispatch/role.ts'
import type { Answer } from '../../src/gateway/answer.ts'
import { createDecoder } from '../../src/records/decoder.ts'
import { createEncoder } from '../../src/records/encoder.ts'
import type { Doubt, SendCommand, SendResult, StatusEvent } from '../../src/records/generated.ts'
import { embeddedRegistry } from '../../src/records/registry.ts'
import { schemas, subjectOf } from '../../src/records/schemas.ts'
import { Telemetry } from '../../src/telemetry/events.ts'
import { itemsAnswer, sentItem } from '../support/answers.ts'
import { ManualClock } from '../support/clock.ts'
import { buildCommand } from '../support/commands.ts'
import { buildSettings } from '../support/settings.ts'
import { buildStatusEvent } from '../support/status-events.ts'

const minute = 60_000
const lost: Answer = { kind: 'lost', cause: 'timeout', message: 'timeout' }

/** A worker on a bus in memory, in a time that passes as the test says. */
async function startWorker(answer: Answer) {
  const clock = new ManualClock()
  const broker = new MemoryBroker(clock)
  const telemetry = new Telemetry()
  const registry = embeddedRegistry()
  const settings = buildSettings({ gateway: { balanceIntervalMs: 0 } })
  const { topics } = settings
  const names = [...topics.commands, topics.doubts, topics.results, topics.statuses, topics.deadLetters]
  broker.createTopics(names.map(topic => ({ topic, partitions: 1 })))
  const hop = async () => {}
  const bus = new MemoryBus({ broker, groupId: 'g', clock, telemetry, drainMs: 5000, startFrom: 'earliest', hop })
  onTestFinished(() => bus.close())
  const starting = startSending({
    settings: { ...settings, gateway: { ...settings.gateway, url: 'http://gateway' } },
    bus,
    registry,
    telemetry,
    clock,
    hookFor: () => null,
    random: () => 0.5,
    connection: { post: async (_, lastCheck) => (lastCheck() ? lost : answer), close: async () => {} },
    fatal: error => {
      throw error
    },
  })
  await clock.pass(1000)
  await starting
  const encodeCommand = await createEncoder<SendCommand>(subjectOf(topics.commands[0]!), schemas.command, registry)
  const encodeDoubt = await createEncoder<Doubt>(subjectOf(topics.doubts), schemas.doubt, registry)
  const encodeStatus = await createEncoder<StatusEvent>(subjectOf(topics.statuses), schemas.status, registry)
  const decodeResult = createDecoder<SendResult>(schemas.result, registry)
  await decodeResult.prepare(await registry.idOf(subjectOf(topics.results), schemas.result))
  const key = (id: number) => Buffer.from(String(id))

  return {
    clock,
    doubted(id: number, overrides: Partial<Doubt>) {
      const doubt: Doubt = {
        topic: topics.commands[0]!,
        partition: 0,
        offset: id,
        timestamp: clock.now(),
        key: key(id),
        value: encodeCommand(buildCommand({ id: BigInt(id) })),
        headers: [],
        account: 'default',
        attempts: 1,
        postedAt: clock.now(),
        cause: 'timeout',
        type: 'sms',
        correlationId: null,
        tenant: null,
        omitted: null,
        ...overrides,
      }
      broker.append([{ topic: topics.doubts, key: key(id), value: encodeDoubt(doubt) }], clock.now())
    },
    calledBack(id: number) {
      const value = encodeStatus(buildStatusEvent({ id: BigInt(id) }))
      broker.append([{ topic: topics.statuses, key: key(id), value }], clock.now())
    },
    results: () =>
      broker.read({ topic: topics.results, partition: 0 }, 0, 100).records.map(({ value }) => {
        const decoded = decodeResult.decode(value)
        if (!decoded.ok) throw new Error('a result cannot be read')
        return decoded.value
      }),
  }
}

describe('a command in doubt', () => {
  test('after a second request is SENT when the first one’s callback came between them', async () => {
    const { clock, doubted, calledBack, results } = await startWorker(lost)
    const timestamp = clock.now()
    await clock.pass(10 * minute)
    calledBack(1)
    await clock.pass(10 * minute)
    doubted(1, { timestamp, attempts: 2 })
    await clock.pass(5000)
    expect(results()).toMatchObject([{ id: 1n, outcome: 'SENT' }])
  })

  test('is asked for in time though the clock of whoever sent it is hours ahead', async () => {
    const { clock, doubted, results } = await startWorker(itemsAnswer(sentItem(1, { status: 'ROUTING' })))
    doubted(1, { postedAt: clock.now() + 5 * 60 * minute })
    await clock.pass(minute)
    expect(results()).toEqual([])
    await clock.pass(2 * minute)
    expect(results()).toMatchObject([{ id: 1n, outcome: 'SENT' }])
  })
})
