import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import type { Server } from 'node:http'
import { networkInterfaces } from 'node:os'
import type { Registry } from 'prom-client'
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

/** Serves these metrics. */
async function serve(metrics: () => Promise<string>) {
  const registry = { contentType: 'text/plain', metrics } as unknown as Registry
  const state = { ready: () => ({ ready: true }), healthy: () => ({ healthy: true }) }
  const server = await startTelemetryServer({ host: '127.0.0.1', port: 0, metrics: registry, ...state })
  onTestFinished(() => server.close())
  return server
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

  describe('answers probes while', () => {
    const flooding = async (count: number, text: string, collect = async () => 'x') => {
      let scrapes = 0
      const { port } = await serve(() => {
        scrapes++
        return collect()
      })
      const raws = Array.from({ length: count }, () => {
        const raw = rawConnection(port)
        raw.socket.pause() // reads no answer
        raw.write(text)
        return raw
      })
      await eventually(() => expect(raws.filter(({ socket }) => socket.connecting)).toHaveLength(0))
      const { status } = await fetch(`http://127.0.0.1:${port}/healthz`)
      expect(status).toBe(200)
      return { scrapes }
    }
    const scrape = 'GET /metrics HTTP/1.1\r\nHost: b\r\n\r\n'

    it.each([
      ['connections pipeline thousands of scrapes, of which one each is begun', 20, scrape.repeat(2000)],
      ['hundreds of connections pipeline scrapes', 300, scrape.repeat(10)],
      ['hundreds of connections send nothing', 300, ''],
      ['connections send endless headers', 50, `GET /metrics HTTP/1.1\r\n${'x: y\r\n'.repeat(50_000)}`],
    ])('%s', async (_, count, text) => {
      const { scrapes } = await flooding(count, text)
      expect(scrapes).toBeLessThanOrEqual(count)
    })

    it('hundreds of connections wait for a slow scrape', async () => {
      const { scrapes } = await flooding(300, scrape, () => new Promise(() => {}))
      expect(scrapes).toBe(1)
    })
  })

  it('gives all scrapes that wait the same bytes, collected after they came', async () => {
    let [begun, collected] = [0, 0]
    const count = () => {
      begun++
    }
    subscribe('http.server.request.start', count)
    onTestFinished(() => void unsubscribe('http.server.request.start', count))
    const first = Promise.withResolvers<void>()
    const { port } = await serve(async () => {
      const number = ++collected
      if (number === 1) await first.promise
      return String(number)
    })
    const scrape = async () => (await fetch(`http://127.0.0.1:${port}/metrics`)).text()
    const early = scrape()
    await eventually(() => expect(collected).toBe(1))
    const late = [scrape(), scrape(), scrape()]
    await eventually(() => expect(begun).toBe(4))
    first.resolve()
    expect([await early, ...(await Promise.all(late))]).toEqual(['1', '2', '2', '2'])
  })

  it('answers 405 to other methods', async () => {
    const { ask } = await start()
    const post = await ask('/metrics', 'POST')
    expect([post.status, post.headers.get('allow')]).toEqual([405, 'GET, HEAD'])
  })
})
