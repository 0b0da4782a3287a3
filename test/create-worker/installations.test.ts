import { Writable } from 'node:stream'
import { pino } from 'pino'
import { expect, onTestFinished, test } from 'vitest'
import { createWorker } from '../../src/create-worker.ts'
import { startSandbox } from '../../src/sandbox/index.ts'
import { Telemetry } from '../../src/telemetry/events.ts'
import { until } from '../support/bus.ts'
import { buildCommand } from '../support/commands.ts'
import { asStable } from '../support/events.ts'
import { startWorld } from '../support/worker.ts'

test('a worker with another gateway waits outside of the group, says so, and works when the others have left', async () => {
  const world = await startWorld()
  const other = await startSandbox()
  onTestFinished(() => other.close())
  const { settings } = world
  const lines: string[] = []
  const logger = pino({}, new Writable({ write: (line, _, done) => done(void lines.push(String(line))) }))
  const ending = new AbortController()
  const telemetry = new Telemetry()
  const port = 19_000 + (process.pid % 1000)
  const starting = createWorker(
    { ...settings, gateway: { ...settings.gateway, url: other.url }, telemetry: { ...settings.telemetry, port } },
    {
      registry: world.registry,
      telemetry: asStable(telemetry),
      bus: world.openMemoryBus(telemetry),
      logger,
      signal: ending.signal,
    },
  )
  onTestFinished(() => ending.abort())
  const difference = `gateway.url is ${other.url} here and ${settings.gateway.url} there`
  await until(async () => {
    const answer = await fetch(`http://127.0.0.1:${port}/readyz`)
    expect([answer.status, await answer.text()]).toEqual([503, expect.stringContaining(difference)])
  })
  expect(lines.join('')).toContain(difference)
  await world.send([buildCommand({ id: 1n })])
  await world.finished(1)
  expect([world.sandbox.executions(1), other.executions(1)]).toEqual([1, 0])
  await world.worker.close()
  const worker = await starting
  onTestFinished(() => worker.close())
  await world.send([buildCommand({ id: 2n })])
  await world.finished(2)
  expect(other.executions(2)).toBe(1)
})
