import { expect, test } from 'vitest'
import { busgateHere } from '../support/cli.ts'
import { startPage } from '../support/ui.ts'
import { startWorld } from '../support/worker.ts'

const env = { BUSGATE_KAFKA_BROKERS: '127.0.0.1:1', BUSGATE_REGISTRY_URL: 'http://127.0.0.1:1' }

test('busgate ui with a port in use fails and says what to do', async () => {
  const { url } = await startPage(await startWorld())
  const { code, stderr } = await busgateHere(['ui', '--port', new URL(url).port], { env })
  expect(code).toBe(1)
  expect(stderr).toMatch(/cannot serve the page on 127\.0\.0\.1:\d+ \(EADDRINUSE\): choose another --port/)
})
