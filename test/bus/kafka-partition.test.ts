import type { Kafka } from 'kafkajs'
import { expect, test, vi } from 'vitest'
import { kafkaPartition } from '../../src/bus/kafka/partition.ts'
import { RecordLimits } from '../../src/bus/record-limits.ts'
import { Telemetry } from '../../src/telemetry/events.ts'
import { ManualClock, settled } from '../support/clock.ts'

test('a partition that goes while its producer connects leaves no connection behind', async () => {
  const { promise: connected, resolve: connect } = Promise.withResolvers<void>()
  const disconnect = vi.fn(async () => {})
  const producer = { connect: () => connected, disconnect }
  const driver = kafkaPartition({
    kafka: { producer: () => producer } as unknown as Kafka,
    clock: new ManualClock(),
    groupId: 'busgate',
    tp: { topic: 'commands', partition: 0 },
    logs: { committed: () => Promise.reject(), ends: () => Promise.reject(), offsetAt: () => Promise.reject() },
    compression: 'none',
    limits: new RecordLimits({ ask: async () => null, clock: new ManualClock(), telemetry: new Telemetry() }),
    cursor: { seek() {}, pause() {}, resume() {} },
  })
  const failed = expect(driver.acquire()).rejects.toThrow()
  const released = driver.release()
  await settled()
  expect(disconnect).not.toHaveBeenCalled() // a connection could be opened after it
  connect()
  await failed
  await released
  expect(disconnect).toHaveBeenCalledOnce()
})
