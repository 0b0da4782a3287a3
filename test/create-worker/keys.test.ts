import { stat, utimes, writeFile } from 'node:fs/promises'
import { expect, onTestFinished, test, vi } from 'vitest'
import { createWorker } from '../../src/create-worker.ts'
import { Telemetry } from '../../src/telemetry/events.ts'
import { createLogger } from '../../src/telemetry/logger.ts'
import { until } from '../support/bus.ts'
import { commandsFrom } from '../support/commands.ts'
import { keyFile } from '../support/key-file.ts'
import { freePorts } from '../support/local-kafka/ports.ts'
import { scrape } from '../support/metrics.ts'
import { startProxy } from '../support/reverse-proxy.ts'
import { startWorld, type World } from '../support/worker.ts'

const readiness = async ({ worker }: World) => {
  const response = await fetch(`http://127.0.0.1:${worker.ports.telemetry}/readyz`)
  return { status: response.status, ...((await response.json()) as { reasons: string[] }) }
}

test('with a wrong key a worker holds no partition, says why in /readyz and in the log, and goes on with the right one', async () => {
  const apiKeyFile = await keyFile('mistyped')
  const lines: { event: string; msg: string }[] = []
  const logger = createLogger('info', { write: line => lines.push(JSON.parse(line)) })
  const world = await startWorld({ sandbox: { keys: ['mistyped'] }, settings: { gateway: { apiKeyFile } } })
  await world.worker.close()
  world.sandbox.setKeys(['sandbox-key'])
  const [port] = await freePorts(1)
  const settings = { ...world.settings, telemetry: { ...world.settings.telemetry, port: port! } }
  const bus = world.openMemoryBus(new Telemetry())
  const join = vi.spyOn(bus, 'join')
  const starting = createWorker(settings, { logger, bus, registry: world.registry })
  onTestFinished(async () => (await starting).close())
  const place = 'the file of gateway.apiKeyFile (BUSGATE_GATEWAY_API_KEY_FILE)'
  const why =
    `holds no partition until the gateway at ${world.sandbox.url} (gateway.url, BUSGATE_GATEWAY_URL) accepts a key: ` +
    `account default: Access denied; put its key into ${place}`
  const readyz = async () => {
    const response = await fetch(`http://127.0.0.1:${port}/readyz`)
    return { status: response.status, ...((await response.json()) as object) }
  }
  await until(async () => expect(await readyz()).toMatchObject({ status: 503, started: true, reasons: [why] }))
  expect((await fetch(`http://127.0.0.1:${port}/healthz`)).status).toBe(200)
  expect(lines.filter(({ event }) => event === 'gateway.unproved').map(({ msg }) => msg)).toEqual([why])
  expect((await scrape(port!)).get('busgate_account_key_refused{account="default"}')).toBe(1)
  expect(join).not.toHaveBeenCalled()
  expect(JSON.stringify(lines)).not.toContain('mistyped')

  await writeFile(apiKeyFile, 'sandbox-key\n')
  await starting
  await until(async () => expect(await readyz()).toMatchObject({ status: 200, reasons: [], warnings: [] }))
  await world.send(commandsFrom(1, 5))
  await world.finished(5)
})

test('a balance that is no number is reported once, and holds nothing back', async () => {
  const gateway = await startProxy()
  gateway.answer = ({ body }) =>
    body.includes('balance')
      ? { body: '{"success":true,"data":[{"success":true,"data":{"amount":"31,16 UAH"}}]}' }
      : undefined
  const world = await startWorld({ gateway, settings: { gateway: { balanceIntervalMs: 20 } } })
  const told: string[] = []
  world.worker.telemetry.on('balance.failed', ({ reason }) => told.push(reason))
  const { length } = gateway.requests
  await until(() => expect(gateway.requests.length).toBeGreaterThan(length + 3))
  await world.send(commandsFrom(1, 2))
  await world.finished(2)
  expect(told.length).toBeLessThanOrEqual(1)
  expect(world.worker.ready()).toMatchObject({
    ready: true,
    warnings: [expect.stringContaining('its answer has no amount that is a number')],
  })
})

test('a key that is refused later holds its account back, keeps the worker ready, and loses no command', async () => {
  const gateway = await startProxy()
  const apiKeyFile = await keyFile('sandbox-key')
  const world = await startWorld({
    gateway,
    settings: { gateway: { apiKeyFile, accounts: { other: { apiKey: 'other-key' } } } },
    sandbox: { keys: { default: 'sandbox-key', other: 'other-key' } },
  })
  const places = new Set<string>()
  world.worker.telemetry.on('account.paused', ({ keyPlace }) => places.add(keyPlace))
  world.sandbox.setKeys({ default: 'another-key', other: 'other-key' })
  await world.send(commandsFrom(1, 20))
  await until(() => expect(gateway.requests.length).toBeGreaterThanOrEqual(2))
  const place = 'the file of gateway.apiKeyFile (BUSGATE_GATEWAY_API_KEY_FILE)'
  expect(await readiness(world)).toMatchObject({
    status: 200,
    reasons: [],
    warnings: [
      expect.stringMatching(/^account default has been held back since \S+, because the gateway refuses its key; /),
    ],
  })
  expect(world.worker.ready().warnings[0]).toContain(
    `The operator must replace the key: put the valid one into ${place}.`,
  )
  expect([...places]).toEqual([place])
  expect(world.results()).toEqual([])

  await writeFile(apiKeyFile, 'another-key\n')
  await world.finished(20)
  expect(await readiness(world)).toMatchObject({ status: 200, reasons: [], warnings: [] })
  await world.quiet()
  expect(world.results()).toHaveLength(20)
  expect(world.results().every(({ outcome }) => outcome === 'SENT')).toBe(true)
  expect(world.sandbox.stats()).toMatchObject({ executed: 20, billedTwice: 0 })
})

test('refused keys of all accounts make a worker unready, also without commands, until one is accepted', async () => {
  const world = await startWorld({ settings: { gateway: { balanceIntervalMs: 20 } } })
  world.sandbox.setKeys(['another'])
  await until(async () =>
    expect(await readiness(world)).toMatchObject({
      status: 503,
      reasons: ['the gateway refuses the keys of all accounts'],
    }),
  )
  world.sandbox.setKeys(['sandbox-key'])
  await until(async () => expect(await readiness(world)).toMatchObject({ status: 200, reasons: [] }))
})

test('a secret file that becomes invalid is logged as an event, and is a warning at /readyz until it is repaired', async () => {
  const apiKeyFile = await keyFile('sandbox-key')
  const lines: { event: string; level: string; setting: string; msg: string }[] = []
  const logger = createLogger('info', { write: line => lines.push(JSON.parse(line)) })
  const world = await startWorld({ logger, settings: { gateway: { apiKeyFile } } })
  const warning = 'gateway.apiKeyFile has no valid value now (is empty); the last valid one stays in use'
  await rewrite(apiKeyFile, '')
  await vi.waitFor(
    async () => expect(await readiness(world)).toMatchObject({ status: 200, warnings: [warning] }),
    5_000,
  )
  await rewrite(apiKeyFile, 'sandbox-key\n')
  await vi.waitFor(async () => expect(await readiness(world)).toMatchObject({ status: 200, warnings: [] }), 60_000)
  const told = lines.filter(({ event }) => event.startsWith('secret.'))
  expect(told).toMatchObject([
    { event: 'secret.unusable', level: 'warn', setting: 'gateway.apiKeyFile', msg: warning },
    { event: 'secret.usable', level: 'info', setting: 'gateway.apiKeyFile' },
  ])
})

/** Writes the file so that its time of change differs from before. */
async function rewrite(file: string, text: string): Promise<void> {
  const { mtimeMs } = await stat(file)
  await writeFile(file, text)
  await utimes(file, new Date(), new Date(mtimeMs + 1000))
}
