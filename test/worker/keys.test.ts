import { stat, utimes, writeFile } from 'node:fs/promises'
import { expect, test, vi } from 'vitest'
import { parseJson } from '../../src/protocol/index.ts'
import { createLogger } from '../../src/telemetry/logs.ts'
import { until } from '../support/bus.ts'
import { commandsFrom } from '../support/commands.ts'
import { keyFile } from '../support/key-file.ts'
import { startProxy } from '../support/reverse-proxy.ts'
import { startWorld, type World } from '../support/worker.ts'

const readiness = async ({ worker }: World) => {
  const response = await fetch(`http://127.0.0.1:${worker.ports.telemetry}/readyz`)
  return { status: response.status, ...((await response.json()) as { reasons: string[] }) }
}

test('a wrong key is reported before the first command, once in the log and as a warning in /readyz', async () => {
  const apiKeyFile = await keyFile('mistyped')
  const lines: { event: string; msg: string }[] = []
  const logger = createLogger('warn', { write: line => lines.push(JSON.parse(line)) })
  const world = await startWorld({ logger, settings: { gateway: { apiKeyFile, balanceIntervalMs: 20 } } })
  const gateway = world.sandbox.stats
  await until(() => expect(gateway().requests).toBeGreaterThan(2))
  const warning = 'cannot read the balance of account default: Access denied'
  expect(await readiness(world)).toMatchObject({ status: 200, reasons: [], warnings: [warning] })
  const place = 'the file of gateway.apiKeyFile (BUSGATE_GATEWAY_API_KEY_FILE)'
  expect(lines.filter(({ event }) => event === 'balance.failed').map(({ msg }) => msg)).toEqual([
    `${warning}; put its key into ${place}`,
  ])
  expect(JSON.stringify(lines)).not.toContain('mistyped')

  await writeFile(apiKeyFile, 'sandbox-key\n')
  await until(() => expect(world.worker.ready().warnings).toEqual([]))
})

test('with a wrong key no command is lost: one of them probes until the file has the right key', async () => {
  const gateway = await startProxy()
  const apiKeyFile = await keyFile('mistyped')
  const world = await startWorld({ settings: { gateway: { url: gateway.url, apiKeyFile } } })
  gateway.target = world.sandbox.url
  const places = new Set<string>()
  world.worker.telemetry.on('account.paused', ({ keyPlace }) => places.add(keyPlace))
  await world.send(commandsFrom(1, 20))
  await until(() => expect(gateway.requests.length).toBeGreaterThanOrEqual(2))
  expect(await readiness(world)).toMatchObject({
    status: 503,
    reasons: ['account default is held back (denied): its key was refused; it sends one probe at a time'],
  })
  expect([...places]).toEqual(['the file of gateway.apiKeyFile (BUSGATE_GATEWAY_API_KEY_FILE)'])
  expect(world.results()).toEqual([])

  await writeFile(apiKeyFile, 'sandbox-key\n')
  await world.finished(20)
  expect(await readiness(world)).toMatchObject({ status: 200, reasons: [] })
  await world.quiet()
  expect(world.results()).toHaveLength(20)
  expect(world.results().every(({ outcome }) => outcome === 'SENT')).toBe(true)
  expect(world.sandbox.stats()).toMatchObject({ executed: 20, billedTwice: 0 })
  const sizes = gateway.requests.map(({ body }) => (parseJson(body) as { data: unknown[] }).data.length)
  expect(sizes[0]).toBe(20)
  expect(sizes.slice(1, -1).every(size => size === 1)).toBe(true)
  expect(sizes.at(-1)).toBe(19)
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
  await vi.waitFor(async () => expect(await readiness(world)).toMatchObject({ status: 200, warnings: [] }), 5_000)
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
