import { expect, onTestFinished, test } from 'vitest'
import { type ServerOptions, serveHttp } from '../../src/http/server.ts'
import { eventually, rawConnection } from '../support/callbacks.ts'

const limits = { connections: 5, headersMs: 60_000, requestMs: 60_000, idleMs: 0 }
const address = { host: '127.0.0.1', port: 0, what: 'a test', mend: '' }
const request = 'GET / HTTP/1.1\r\nHost: b\r\n\r\n'

async function serve(handle: Parameters<typeof serveHttp>[1], options: Partial<ServerOptions> = {}) {
  const server = await serveHttp({ ...limits, ...address, ...options }, handle)
  onTestFinished(() => server.close(0))
  return server
}

test('connections that do not read their answer make room for others', async () => {
  const body = Buffer.alloc(20_000_000)
  let answered = 0
  const { port } = await serve((_, response) => {
    answered++
    response.end(answered > 5 ? 'short' : body)
  })
  for (let i = 1; i <= 5; i++) {
    const raw = rawConnection(port)
    raw.socket.pause()
    raw.write(request)
    await eventually(() => expect(answered).toBe(i))
  }
  expect(await (await fetch(`http://127.0.0.1:${port}/`)).text()).toBe('short')
})

test.each([
  [true, 'answered'],
  [false, 'refused'],
])('while answers are being made at the limit, closesBusy %s: a new connection is %s', async (closesBusy, outcome) => {
  let begun = 0
  const { port } = await serve(
    (_, response) => {
      begun++
      if (begun > 5) response.end('answered')
    },
    { closesBusy },
  )
  for (let i = 1; i <= 5; i++) {
    rawConnection(port).write(request)
    await eventually(() => expect(begun).toBe(i))
  }
  const asking = fetch(`http://127.0.0.1:${port}/`).then(response => response.text())
  expect(await asking.catch(() => 'refused')).toBe(outcome)
})
