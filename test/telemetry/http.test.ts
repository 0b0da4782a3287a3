import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import type { Server } from 'node:http'
import { networkInterfaces } from 'node:os'
import { afterEach, describe, expect, it, onTestFinished } from 'vitest'
import { Telemetry } from '../../src/telemetry/events.ts'
import { startTelemetryServer, type TelemetryServer } from '../../src/telemetry/http.ts'
import { createMetrics } from '../../src/telemetry/metrics.ts'
import { eventually, rawConnection } from '../support/callbacks.ts'

const host = '127.0.0.1'
let server: TelemetryServer | undefined

afterEach(async () => {
  await server?.close()
  server = undefined
})

async function start(state: { reasons?: string[]; sick?: string[]; port?: number } = {}) {
  const { reasons = [], sick = [], port = 0 } = state
  server = await startTelemetryServer({
    host,
    port,
    metrics: createMetrics(new Telemetry()),
    ready: () => ({ ready: reasons.length === 0, started: true, reasons }),
    healthy: () => ({ healthy: sick.length === 0, reasons: sick }),
  })
  return (path: string, method = 'GET') => fetch(`http://${host}:${server?.port}${path}`, { method })
}

describe('the telemetry server', () => {
  it('stops although a client sends an endless body', async () => {
    await start()
    const raw = rawConnection(server?.port ?? 0)
    raw.say('POST /metrics HTTP/1.1\r\nHost: b\r\nContent-Length: 1000\r\n\r\nx')
    await eventually(() => expect(raw.heard).toMatch(/^HTTP\/1\.1 405 /))
    await server?.close()
    server = undefined
    await eventually(() => expect(raw.closed).toBe(true))
  })

  it('continues if the system cannot accept a connection', async () => {
    const ask = await start()
    const servers = new Set<Server>()
    const find = (message: unknown) => void servers.add((message as { server: Server }).server)
    subscribe('http.server.request.start', find)
    onTestFinished(() => void unsubscribe('http.server.request.start', find))
    expect((await ask('/healthz')).status).toBe(200)
    // What Node tells when accept(2) fails, which no test can bring about at will.
    for (const one of servers) one.emit('error', Object.assign(new Error('accept ENFILE'), { code: 'ENFILE' }))
    expect((await ask('/healthz')).status).toBe(200)
  })

  it('answers IPv4 and IPv6 on ::, and IPv4 without IPv6', async () => {
    const metrics = createMetrics(new Telemetry())
    const ready = () => ({ ready: true, started: true, reasons: [] })
    const healthy = () => ({ healthy: true, reasons: [] })
    server = await startTelemetryServer({ host: '::', port: 0, metrics, ready, healthy })
    const hasIpv6 = Object.values(networkInterfaces()).some(list => list?.some(({ family }) => family === 'IPv6'))
    for (const name of ['127.0.0.1', ...(hasIpv6 ? ['[::1]'] : [])]) {
      expect((await fetch(`http://${name}:${server.port}/healthz`)).status).toBe(200)
    }
  })

  it.each(['//', '///healthz', '*', 'http://[::1', '/%'])('answers a target such as %s with 404', async target => {
    await start()
    const raw = rawConnection(server?.port ?? 0)
    raw.say(`GET ${target} HTTP/1.1\r\nHost: b\r\n\r\n`)
    await eventually(() => expect(raw.heard).toMatch(/^HTTP\/1\.1 404 /))
  })

  it('serves metrics in the text format of Prometheus', async () => {
    const ask = await start()
    const response = await ask('/metrics')
    expect(response.status).toBe(200)
    expect(response.headers.get('content-type')).toContain('text/plain; version=0.0.4')
    expect(await response.text()).toContain('# TYPE busgate_commands_consumed_total counter')
  })

  it('is ready with 200, and not ready with 503 and the reasons', async () => {
    const reasons: string[] = []
    const ask = await start({ reasons })
    const ready = await ask('/readyz')
    expect([ready.status, await ready.json()]).toEqual([200, { ready: true, started: true, reasons: [] }])
    reasons.push('the gateway answers Access denied to account default')
    const waiting = await ask('/readyz?verbose')
    expect([waiting.status, await waiting.json()]).toEqual([503, { ready: false, started: true, reasons }])
  })

  it('is healthy with 200, and not healthy with 503 and the reasons', async () => {
    const sick: string[] = []
    const ask = await start({ sick })
    expect((await ask('/healthz')).status).toBe(200)
    sick.push('no heartbeat for 60 s')
    const response = await ask('/healthz')
    expect([response.status, await response.json()]).toEqual([503, { healthy: false, reasons: sick }])
  })

  it('answers 404 to other paths and 405 to other methods', async () => {
    const ask = await start()
    expect((await ask('/')).status).toBe(404)
    const post = await ask('/metrics', 'POST')
    expect([post.status, post.headers.get('allow')]).toEqual([405, 'GET, HEAD'])
  })
})
