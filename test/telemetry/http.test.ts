import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import type { Server } from 'node:http'
import { networkInterfaces } from 'node:os'
import { describe, expect, it, onTestFinished } from 'vitest'
import type { GaugeSource } from '../../src/telemetry/definitions.ts'
import { Telemetry } from '../../src/telemetry/events.ts'
import { startTelemetryServer } from '../../src/telemetry/http.ts'
import { createMetrics } from '../../src/telemetry/metrics.ts'
import { eventually, rawConnection } from '../support/callbacks.ts'

interface State {
  reasons?: string[]
  sick?: string[]
  host?: string
  gauges?: GaugeSource[]
}

async function start({ reasons = [], sick = [], host = '127.0.0.1', gauges = [] }: State = {}) {
  const server = await startTelemetryServer({
    host,
    port: 0,
    metrics: createMetrics(new Telemetry(), { gauges }),
    ready: () => ({ ready: reasons.length === 0, started: true, reasons }),
    healthy: () => ({ healthy: sick.length === 0, reasons: sick }),
  })
  const close = async () => server.close()
  onTestFinished(() => close().catch(() => {})) // a test may have closed it
  const ask = (path: string, method = 'GET', name = '127.0.0.1') =>
    fetch(`http://${name}:${server.port}${path}`, { method })
  return { ask, close, port: server.port }
}

describe('the telemetry server', () => {
  it('stops even while a client sends an endless body', async () => {
    const { port, close } = await start()
    const raw = rawConnection(port)
    raw.write('POST /metrics HTTP/1.1\r\nHost: b\r\nContent-Length: 1000\r\n\r\nx')
    await eventually(() => expect(raw.received).toMatch(/^HTTP\/1\.1 405 /))
    await close()
    await eventually(() => expect(raw.closed).toBe(true))
  })

  it('keeps running if the operating system cannot accept a connection', async () => {
    const { ask } = await start()
    const servers = new Set<Server>()
    const find = (message: unknown) => void servers.add((message as { server: Server }).server)
    subscribe('http.server.request.start', find)
    onTestFinished(() => void unsubscribe('http.server.request.start', find))
    expect((await ask('/healthz')).status).toBe(200)
    // The event that Node emits when accept(2) fails; a test cannot cause the failure itself.
    for (const one of servers) one.emit('error', Object.assign(new Error('accept ENFILE'), { code: 'ENFILE' }))
    expect((await ask('/healthz')).status).toBe(200)
  })

  it('answers IPv4 and IPv6 on ::, and IPv4 without IPv6', async () => {
    const { ask } = await start({ host: '::' })
    const hasIpv6 = Object.values(networkInterfaces()).some(list => list?.some(({ family }) => family === 'IPv6'))
    for (const name of ['127.0.0.1', ...(hasIpv6 ? ['[::1]'] : [])]) {
      expect((await ask('/healthz', 'GET', name)).status).toBe(200)
    }
  })

  it.each(['/', '//', '///healthz', '*', 'http://[::1', '/%'])('answers 404 to the request target %s', async target => {
    const { port } = await start()
    const raw = rawConnection(port)
    raw.write(`GET ${target} HTTP/1.1\r\nHost: b\r\n\r\n`)
    await eventually(() => expect(raw.received).toMatch(/^HTTP\/1\.1 404 /))
  })

  it('serves metrics in the text format of Prometheus', async () => {
    const { ask } = await start()
    const response = await ask('/metrics')
    expect(response.status).toBe(200)
    expect(response.headers.get('content-type')).toContain('text/plain; version=0.0.4')
    expect(await response.text()).toContain('# TYPE busgate_commands_consumed_total counter')
  })

  it('fails the scrape, not the process, if a source of gauges fails', async () => {
    const read = () => {
      throw new Error('no session')
    }
    const { ask } = await start({ gauges: [{ read }] })
    const response = await ask('/metrics')
    expect([response.status, await response.json()]).toEqual([500, { error: 'the metrics could not be collected' }])
  })

  it('answers /readyz with 200 if ready, or with 503 and the reasons', async () => {
    const reasons: string[] = []
    const { ask } = await start({ reasons })
    const ready = await ask('/readyz')
    expect([ready.status, await ready.json()]).toEqual([200, { ready: true, started: true, reasons: [] }])
    reasons.push('the gateway answers Access denied to account default')
    const waiting = await ask('/readyz?verbose')
    expect([waiting.status, await waiting.json()]).toEqual([503, { ready: false, started: true, reasons }])
  })

  it('answers /healthz with 200 if healthy, or with 503 and the reasons', async () => {
    const sick: string[] = []
    const { ask } = await start({ sick })
    expect((await ask('/healthz')).status).toBe(200)
    sick.push('no heartbeat for 60 s')
    const response = await ask('/healthz')
    expect([response.status, await response.json()]).toEqual([503, { healthy: false, reasons: sick }])
  })

  it('answers 405 to other methods', async () => {
    const { ask } = await start()
    const post = await ask('/metrics', 'POST')
    expect([post.status, post.headers.get('allow')]).toEqual([405, 'GET, HEAD'])
  })
})
