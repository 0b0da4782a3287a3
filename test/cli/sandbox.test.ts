import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test, vi } from 'vitest'
import { busgateHere, startBusgate } from '../support/cli.ts'

const balance = (url: string, auth: string) =>
  fetch(`${url}/api/json.php`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ auth, data: [{ type: 'balance' }] }),
  }).then(response => response.json())

test('sandbox prints its address, applies its options, and runs until it is stopped', async () => {
  const sandbox = startBusgate([
    'sandbox',
    '--keys',
    'one,two',
    '--balance',
    '7',
    '--latency',
    '10ms',
    '--callback-delay',
    '1s',
  ])
  const url = await sandbox.line('http://')
  expect(await balance(url, 'two')).toMatchObject({ success: true, data: [{ data: { amount: 7 } }] })
  expect(await balance(url, 'three')).toMatchObject({ success: false })
  sandbox.signal('SIGTERM')
  expect(await sandbox.ended).toMatchObject({ code: 0, stdout: `${url}\n` })
})

test("a diagnostic report of Node.js does not hold the process's variables", async () => {
  const folder = mkdtempSync(join(tmpdir(), 'busgate-report-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const env = {
    BUSGATE_GATEWAY_API_KEY: 'key-of-a-variable',
    NODE_OPTIONS: `--report-on-signal --report-directory=${folder}`,
  }
  const sandbox = startBusgate(['sandbox'], { env })
  await sandbox.line('http://')
  sandbox.signal('SIGUSR2')
  await vi.waitFor(() => JSON.parse(reportIn(folder)), { timeout: 60_000 })
  expect(reportIn(folder)).not.toContain('key-of-a-variable')
})

const reportIn = (folder: string) =>
  readdirSync(folder)
    .map(file => readFileSync(join(folder, file), 'utf8'))
    .join()

test('sandbox with a port in use fails and names the flag', async () => {
  const first = startBusgate(['sandbox'])
  const { port } = new URL(await first.line('http://'))
  const { code, stderr } = await busgateHere(['sandbox', '--port', port])
  expect(code).toBe(1)
  expect(stderr).toContain(`127.0.0.1:${port} (EADDRINUSE): choose another port (busgate sandbox --port)`)
})
