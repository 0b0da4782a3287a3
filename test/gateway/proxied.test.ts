import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import net, { type Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import tls from 'node:tls'
import fc from 'fast-check'
import { afterAll, afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { classify } from '../../src/gateway/classify.ts'
import { type ConnectionOptions, connectGateway } from '../../src/gateway/connection.ts'
import { makeCertificates } from '../support/certificates.ts'
import { answerWith, portOf, type Step, scriptedServer } from '../support/scripted-server.ts'

const body = '{"auth":{"key":"any"},"data":[]}'
const ok = '{"success":true,"data":[]}'
const allow = () => null
const notSent = (message: RegExp) => ({
  kind: 'not_sent',
  cause: 'unreachable',
  message: expect.stringMatching(message),
})

const [certificates, others] = await Promise.all([makeCertificates(), makeCertificates()])
afterAll(() => Promise.all([certificates.remove(), others.remove()]))

beforeEach(() => {
  for (const name of ['HTTPS_PROXY', 'HTTP_PROXY', 'NO_PROXY', 'https_proxy', 'http_proxy', 'no_proxy']) {
    vi.stubEnv(name, undefined)
  }
})
afterEach(() => {
  vi.unstubAllEnvs()
})

/** Starts a gateway with TLS and a certificate of a private CA. */
async function tlsGateway(...steps: Step[]) {
  const inner = await scriptedServer(...steps)
  const pem = readFileSync(certificates.brokerFile)
  const server = tls.createServer({ key: pem, cert: pem }, outer => join(outer, net.connect(inner.port, '127.0.0.1')))
  const host = `127.0.0.1:${await portOf(server)}`
  return { seen: inner.seen, sockets: inner.sockets, host, url: `https://${host}` }
}

function join(one: Duplex, other: Duplex): void {
  for (const [from, to] of [
    [one, other],
    [other, one],
  ] as const) {
    from.on('error', () => to.destroy()).on('close', () => to.destroy())
    from.pipe(to)
  }
}

/** Starts a proxy that opens tunnels, or handles CONNECT with `instead`. */
async function startProxy(instead?: (socket: Duplex) => void) {
  const requests: { place: string; authorization: string | undefined }[] = []
  const tunnels = new Set<Duplex>()
  const server = createServer((_, response) => response.writeHead(501).end())
  server.on('connect', ({ url = '', headers }, socket: Duplex) => {
    requests.push({ place: url, authorization: headers['proxy-authorization'] })
    tunnels.add(socket.on('error', () => {}))
    if (instead) return instead(socket)
    const [host, port] = url.split(':') as [string, string]
    const there: Socket = net.connect(Number(port), host, () => {
      socket.write('HTTP/1.1 200 Connection established\r\n\r\n')
      join(socket, there)
    })
  })
  const place = `127.0.0.1:${await portOf(server)}`
  onTestFinished(() => {
    for (const tunnel of tunnels) tunnel.destroy()
  })
  vi.stubEnv('HTTPS_PROXY', `http://${place}`)
  return { requests, tunnels, place }
}

function connect(url: string, options: Partial<ConnectionOptions> = {}) {
  const connection = connectGateway({
    url,
    timeoutMs: 8_000,
    connections: 2,
    ca: certificates.ca,
    keepAliveMs: undefined,
    maxResponseBytes: undefined,
    ...options,
  })
  onTestFinished(() => connection.close())
  return connection
}

describe('a gateway with a certificate of a private CA', () => {
  test('is trusted if gateway.ssl.ca names it', async () => {
    const { url } = await tlsGateway(answerWith(ok))
    expect(await connect(url).post(body, allow)).toMatchObject({ kind: 'response', status: 200 })
  })

  test.each([
    ['does not name a CA', () => undefined],
    ['names another CA', () => others.ca],
  ])('receives nothing if gateway.ssl.ca %s', async (_, ca) => {
    const { url, seen } = await tlsGateway(answerWith(ok))
    expect(await connect(url, { ca: ca() }).post(body, allow)).toEqual(notSent(/certificate|signature/))
    expect(seen.requests).toEqual([])
  })

  test('is checked with the current gateway.ssl.ca; requests in flight finish after a change', async () => {
    const waiting: Socket[] = []
    const { url, seen } = await tlsGateway(socket => void waiting.push(socket), answerWith(ok))
    let pem = certificates.ca
    const connection = connect(url, { ca: { reveal: () => pem } })
    const first = connection.post(body, allow)
    await expect.poll(() => waiting).toHaveLength(1)
    pem = others.ca
    expect(await connection.post(body, allow)).toEqual(notSent(/certificate|signature/))
    answerWith(ok)(waiting[0]!, seen.requests[0]!)
    expect(await first).toMatchObject({ kind: 'response', status: 200 })
    pem = certificates.ca
    expect(await connection.post(body, allow)).toMatchObject({ kind: 'response', status: 200 })
  })
})

describe('a gateway behind a proxy', () => {
  test('is reached through one tunnel for several requests', async () => {
    const { requests } = await startProxy()
    const { url, host, seen } = await tlsGateway(answerWith(ok))
    const connection = connect(url, { connections: 1 })
    for (let i = 0; i < 3; i++)
      expect(await connection.post(body, allow)).toMatchObject({ kind: 'response', status: 200 })
    expect(requests).toEqual([{ place: host, authorization: undefined }])
    expect(seen.requests).toHaveLength(3)
  })

  test('is reached through a tunnel for each request in flight, up to the limit', async () => {
    const { requests } = await startProxy()
    const { url, seen, sockets } = await tlsGateway(() => {})
    const connection = connect(url, { connections: 2 })
    const all = [1, 2, 3].map(() => connection.post(body, allow))
    await expect.poll(() => seen.requests.length).toBe(2)
    expect([requests.length, seen.mostOpen]).toEqual([2, 2])
    for (const socket of sockets) answerWith(ok)(socket, seen.requests[0]!)
    await expect.poll(() => seen.requests.length).toBe(3)
    for (const socket of sockets) answerWith(ok)(socket, seen.requests[0]!)
    await Promise.all(all)
    expect([requests.length, seen.mostOpen]).toEqual([2, 2])
  })

  test("is reached with the user and password in the proxy's address", async () => {
    const { requests, place } = await startProxy()
    vi.stubEnv('HTTPS_PROXY', `http://me:pass%20word@${place}`)
    const { url } = await tlsGateway(answerWith(ok))
    await connect(url).post(body, allow)
    expect(requests[0]!.authorization).toBe(`Basic ${Buffer.from('me:pass word').toString('base64')}`)
  })

  test.each([
    ['refuses', (socket: Duplex) => socket.end('HTTP/1.1 403 Forbidden\r\n\r\n'), /403/],
    ['requires a password', (socket: Duplex) => socket.end('HTTP/1.1 407 Who are you\r\n\r\n'), /407/],
    ['cannot reach the gateway', (socket: Duplex) => socket.end('HTTP/1.1 502 Bad Gateway\r\n\r\n'), /502/],
    ['hangs up', (socket: Duplex) => socket.destroy(), /./],
    ['never answers', () => {}, /HEADERS_TIMEOUT/],
  ])('received nothing if the proxy %s', async (_, instead, message) => {
    await startProxy(instead)
    const { url, seen } = await tlsGateway(answerWith(ok))
    const answer = await connect(url).post(body, allow)
    expect(answer).toEqual(notSent(message))
    expect(classify(['1'], answer)).toMatchObject({ outcome: 'not_sent', reason: 'unreachable' })
    expect(seen.requests).toEqual([])
  })

  test('received nothing if the proxy is down', async () => {
    const { url } = await tlsGateway(answerWith(ok))
    vi.stubEnv('HTTPS_PROXY', 'http://127.0.0.1:1')
    expect(await connect(url).post(body, allow)).toEqual(notSent(/ECONNREFUSED/))
  })

  test('perhaps received the requests in flight when the tunnel broke', async () => {
    const { tunnels } = await startProxy()
    const { url } = await tlsGateway(() => {
      for (const tunnel of tunnels) tunnel.destroy()
    })
    expect(await connect(url).post(body, allow)).toMatchObject({ kind: 'lost', cause: 'reset' })
  })

  test.each(['127.0.0.1:3128', 'proxy:3128', 'ftp://proxy'])('cannot be configured with HTTPS_PROXY=%s', value => {
    vi.stubEnv('HTTPS_PROXY', value)
    expect(() => connect('https://gateway.example')).toThrow('HTTPS_PROXY is not the address of a proxy')
  })

  test('is reached directly if NO_PROXY says so, or if its address is http', async () => {
    const { requests } = await startProxy()
    const plain = await scriptedServer(answerWith(ok))
    vi.stubEnv('HTTP_PROXY', 'http://127.0.0.1:1')
    expect(await connect(plain.url).post(body, allow)).toMatchObject({ kind: 'response', status: 200 })
    vi.stubEnv('NO_PROXY', '127.0.0.1')
    const { url } = await tlsGateway(answerWith(ok))
    expect(await connect(url).post(body, allow)).toMatchObject({ kind: 'response', status: 200 })
    expect(requests).toEqual([])
  })
})

test.each(['HTTPS_PROXY', 'https_proxy'])(
  'the variable %s with a raw percent sign is refused, without quoting it',
  name => {
    const letters = fc.stringMatching(/^[g-z]{0,5}$/)
    const raw = fc.constantFrom('%', '%z', '%%', '%1z', '%ff')
    fc.assert(
      fc.property(letters, raw, letters, (...parts) => {
        const password = parts.join('')
        vi.stubEnv(name, `http://busgate:s3cret${password}@127.0.0.1:1`)
        expect(() => connect('https://127.0.0.1:1')).toThrow(`${name} has a raw % in its user or password: write %25`)
      }),
    )
    vi.stubEnv(name, 'http://busgate:s3cret%25@127.0.0.1:1')
    expect(() => connect('https://127.0.0.1:1')).not.toThrow()
  },
)
