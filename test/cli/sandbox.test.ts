import { expect, test } from 'vitest'
import { busgateHere, startBusgate } from '../support/cli.ts'

const balance = (url: string, auth: string) =>
  fetch(`${url}/api/json.php`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ auth, data: [{ type: 'balance' }] }),
  }).then(response => response.json())

test('sandbox prints its address, applies its options, and runs until it is stopped', async () => {
  const sandbox = startBusgate(['sandbox', '--keys', 'one,two', '--balance', '7'])
  const url = await sandbox.line('http://')
  expect(await balance(url, 'two')).toMatchObject({ success: true, data: [{ data: { amount: 7 } }] })
  expect(await balance(url, 'three')).toMatchObject({ success: false })
  sandbox.signal('SIGTERM')
  expect(await sandbox.ended).toMatchObject({ code: 0, stdout: `${url}\n` })
})

test('sandbox with a port in use fails and names the flag', async () => {
  const first = startBusgate(['sandbox'])
  const { port } = new URL(await first.line('http://'))
  const { code, stderr } = await busgateHere(['sandbox', '--port', port])
  expect(code).toBe(1)
  expect(stderr).toContain(`127.0.0.1:${port} (EADDRINUSE): choose another port (busgate sandbox --port)`)
})
