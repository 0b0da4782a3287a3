import { expect, test } from 'vitest'
import { busgate } from '../support/cli.ts'
import { startPage } from '../support/ui.ts'
import { startWorld } from '../support/worker.ts'

const env = { BUSGATE_KAFKA_BROKERS: '127.0.0.1:1', BUSGATE_REGISTRY_URL: 'http://127.0.0.1:1' }

test.each([
  [['--port', '70000'], '--port: expected a whole number from 0 to 65535'],
  [['--bind', '0.0.0.0'], 'ui has no --bind'],
])('busgate ui %j is refused with what is expected', async (args, expected) => {
  const { code, stdout, stderr } = await busgate(['ui', ...args], { env })
  expect([code, stdout]).toEqual([2, ''])
  expect(stderr).toContain(expected)
})

test('a port in use is reported, with what to do', async () => {
  const { url } = await startPage(await startWorld())
  const { code, stderr } = await busgate(['ui', '--port', new URL(url).port], { env })
  expect(code).toBe(1)
  expect(stderr).toMatch(/cannot serve the page on 127\.0\.0\.1:\d+ \(EADDRINUSE\): choose another --port/)
})
