import { expect, onTestFinished, test } from 'vitest'
import { createWorker } from '../../src/create-worker.ts'
import { embeddedRegistry, type SchemaRegistry } from '../../src/records/registry.ts'
import { recordOf } from '../records/codec.ts'
import { openMemoryBus, until } from '../support/bus.ts'
import { buildCommand } from '../support/commands.ts'
import { startProvingGateway } from '../support/reverse-proxy.ts'
import { buildSettings } from '../support/settings.ts'
import { startWorld } from '../support/worker.ts'

/** Fails as a service's own registry does: with an error class that busgate does not know. */
const fail = (code: string) => Promise.reject(Object.assign(new TypeError('the registry of the service'), { code }))

test("a record whose schema a service's own registry lacks becomes a dead letter, and the worker stays ready", async () => {
  const known = embeddedRegistry()
  const schemaOf = (id: number) => known.schemaOf(id).catch(() => fail('SCHEMA_NOT_FOUND'))
  const world = await startWorld({ registry: { ...known, schemaOf } })
  await world.produceRaw(recordOf(4711, [1, 2, 3]))
  await world.send([buildCommand({ id: 1n })])
  await world.finished(1)
  await until(() => expect(world.deadLetters()).toHaveLength(1), 60_000)
  expect(world.deadLetters()[0]!.headers['busgate.error.code']?.toString()).toBe('SCHEMA_NOT_FOUND')
  expect(world.worker.ready()).toMatchObject({ ready: true, reasons: [] })
})

test("a worker waits at its start while a service's own registry is unavailable", async () => {
  const known = embeddedRegistry()
  let refused = 0
  let isDown = true
  const registry: SchemaRegistry = {
    ...known,
    idOf(subject, schema) {
      if (!isDown) return known.idOf(subject, schema)
      refused++
      return fail('REGISTRY_UNAVAILABLE')
    },
  }
  const url = await startProvingGateway()
  const settings = buildSettings({ gateway: { url }, telemetry: { host: '127.0.0.1', port: 0 } })
  const { commands, ...others } = settings.topics
  const { bus } = openMemoryBus([...commands, ...Object.values(others)], settings.kafka)
  const starting = createWorker(settings, { bus, registry })
  await until(() => expect(refused).toBeGreaterThan(0))
  isDown = false
  const worker = await starting
  onTestFinished(() => worker.close())
  await until(() => expect(worker.ready()).toMatchObject({ ready: true, reasons: [] }))
})
