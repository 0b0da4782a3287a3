import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { expect, onTestFinished, test } from 'vitest'
import { MemoryBroker } from '../../src/bus/memory/broker.ts'
import { MemoryBus } from '../../src/bus/memory/bus.ts'
import { freePorts } from '../../src/cli/local-kafka/ports.ts'
import { systemClock } from '../../src/clock.ts'
import { embeddedRegistry } from '../../src/records/registry.ts'
import { Telemetry } from '../../src/telemetry/events.ts'
import { createWorker } from '../../src/worker.ts'
import { until } from '../support/bus.ts'
import { buildCommand } from '../support/commands.ts'
import { buildSettings } from '../support/settings.ts'
import { startWorld } from '../support/worker.ts'

const script = readFileSync(new URL('../../helm/probes/started.js', import.meta.url), 'utf8')

/** Whether the chart's start-up probe would let a rollout go on, asked as the kubelet asks. */
function passes(port: number): Promise<boolean> {
  return new Promise(resolve =>
    execFile(process.execPath, ['-e', script, String(port)], error => resolve(error === null)),
  )
}

test('the start-up probe fails until the process listens, and while it waits for the registry', async () => {
  const [port] = await freePorts([0])
  expect(await passes(port!)).toBe(false)

  const settings = buildSettings({ telemetry: { host: '127.0.0.1', port }, gateway: { balanceIntervalMs: 0 } })
  const { topics, kafka } = settings
  const broker = new MemoryBroker()
  const names = [...topics.commands, topics.results, topics.statuses, topics.deadLetters, topics.doubts]
  broker.createTopics(names.map(topic => ({ topic, partitions: 1 })))
  const bus = new MemoryBus({ ...kafka, broker, clock: systemClock, telemetry: new Telemetry() })
  const { promise: answered, resolve: answer } = Promise.withResolvers<void>()
  const registry = embeddedRegistry()
  const late: typeof registry = {
    ...registry,
    idOf: async (subject, schema) => {
      await answered
      return registry.idOf(subject, schema)
    },
  }
  const starting = createWorker(settings, { bus, registry: late })
  await until(async () => expect((await fetch(`http://127.0.0.1:${port}/healthz`)).status).toBe(200))
  expect(await passes(port!)).toBe(false)

  answer()
  const worker = await starting
  onTestFinished(() => worker.stop())
  expect(await passes(port!)).toBe(true)
})

test('the start-up probe passes although every account pauses', async () => {
  const [nobody] = await freePorts([0])
  const world = await startWorld({ settings: { gateway: { url: `http://127.0.0.1:${nobody}` } } })
  await world.send([buildCommand({ id: 1n })])
  await until(() => expect(world.worker.ready().reasons).toEqual(['account default pauses: unreachable']))
  expect(await passes(world.worker.ports.telemetry)).toBe(true)
})
