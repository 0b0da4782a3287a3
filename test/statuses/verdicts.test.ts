import { expect, test } from 'vitest'
import type { BusRecord, OnRecords } from '../../src/bus/port.ts'
import { createDecoder } from '../../src/records/decoder.ts'
import { createEncoder } from '../../src/records/encoder.ts'
import type { StatusEvent } from '../../src/records/generated.ts'
import { embeddedRegistry } from '../../src/records/registry.ts'
import { schemas, subjectOf } from '../../src/records/schemas.ts'
import { Verdicts } from '../../src/statuses/verdicts.ts'
import { Telemetry } from '../../src/telemetry/events.ts'
import { ManualClock, settled } from '../support/clock.ts'
import { buildStatusEvent } from '../support/status-events.ts'

/** With so many in memory nothing is read beyond the window. */
const many = 1 << 18

test('among many verdicts, one whose writer has a clock that is ahead does not keep the others from being read', async () => {
  const clock = new ManualClock()
  const registry = embeddedRegistry()
  const encode = await createEncoder<StatusEvent>(subjectOf('statuses'), schemas.status, registry)
  const hour = 3_600_000
  let handOver: OnRecords = () => {}
  const verdicts = new Verdicts({
    bus: {
      async follow(_tp, _from, onRecords) {
        handOver = onRecords
        return { caughtUp: async () => {}, close: async () => {} }
      },
    },
    tp: { topic: 'statuses', partition: 0 },
    decoder: createDecoder(schemas.status, registry),
    delayMs: 60_000,
    clock,
    telemetry: new Telemetry(),
  })
  const record = (id: number, aheadMs = 0): BusRecord => {
    const value = encode(buildStatusEvent({ id: BigInt(id) }))
    return { offset: id, timestamp: clock.now() + aheadMs, key: null, value, headers: {} }
  }
  await verdicts.moveTo(clock.now())
  await handOver(Array.from({ length: many }, (_, i) => record(i + 1)))
  void handOver([record(many + 1, hour), record(many + 2)])
  await settled()
  expect(verdicts.has('default', BigInt(many + 2))).toBe(true)
  verdicts.close()
})
