import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import dns from 'node:dns'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import {
  type Answer,
  type ConnectionOptions,
  connectGateway,
  envelopeBody,
  type LastCheck,
} from '../../src/gateway/connection.ts'
import { until } from '../support/bus.ts'
import { collectGarbage } from '../support/garbage.ts'
import { answerWith, httpAnswer, type Step, scriptedServer } from '../support/scripted-server.ts'

const key = 'key-that-nobody-may-see'
const body = envelopeBody(key, ['{"type":"sms","id":1,"sms_message":"text that nobody may see"}'])
const ok = '{"success":true,"data":[]}'
const allow: LastCheck = () => null

const defaults = { ca: undefined, keepAliveMs: undefined, maxResponseBytes: undefined }

function connect(url: string, options: Partial<ConnectionOptions> = {}) {
  const connection = connectGateway({ ...defaults, url, timeoutMs: 2_000, connections: 4, ...options })
  onTestFinished(() => connection.close())
  return connection
}

/** POSTs to a server that answers by these steps. */
async function postTo(steps: Step[], options: Partial<ConnectionOptions> = {}) {
  const server = await scriptedServer(...steps)
  const answer = await connect(server.url, options).post(body, allow)
  return { answer, seen: server.seen }
}

const timeoutMs = 60_000

/** Lets time-outs expire only when a test advances them, so that none expires early on a slow machine. */
function holdTimeouts() {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'], shouldClearNativeTimers: true })
  onTestFinished(() => void vi.useRealTimers())
}

/** POSTs with a time-out that expires when the step advances it. */
async function postUntil(step: Step) {
  holdTimeouts()
  const { seen, url } = await scriptedServer(step)
  const answer = await connect(url, { timeoutMs }).post(body, allow)
  vi.useRealTimers()
  return { answer, seen }
}

/** Answers 200 with these headers and bytes. */
const answerBytes =
  (headers: string, bytes: Buffer): Step =>
  socket => {
    socket.write(`HTTP/1.1 200 OK\r\n${headers}\r\ncontent-length: ${bytes.length}\r\n\r\n`)
    socket.write(bytes)
  }

/** Reads the request and does not answer. */
const silence: Step = () => {}
/** An answer with an incomplete body. */
const beginning = httpAnswer(ok).slice(0, -10)

const lost = (cause: string) => ({ kind: 'lost', cause, message: expect.any(String) })
const notSent = (cause: string, message: RegExp = /./) => ({
  kind: 'not_sent',
  cause,
  message: expect.stringMatching(message),
})

describe('an answer in time', () => {
  test('is returned with its status and text', async () => {
    const { answer, seen } = await postTo([answerWith('{"success":true,"note":"привіт"}')])
    const text = '{"success":true,"note":"привіт"}'
    expect(answer).toEqual({ kind: 'response', request: body, status: 200, body: text, retryAfterMs: null })
    expect(seen.requests).toEqual([{ head: expect.any(String), body }])
  })

  test.each(['', '/'])(
    'answers a POST of JSON to the one endpoint, below the address with a path ending in "%s"',
    async end => {
      const server = await scriptedServer(answerWith(ok))
      await connect(`${server.url}/gateway${end}`).post(body, allow)
      const { head } = server.seen.requests[0]!
      expect(head).toMatch(/^POST \/gateway\/api\/json\.php HTTP\/1\.1\r\n/)
      expect(head).toMatch(/^content-type: application\/json\r$/m)
    },
  )

  test('may arrive byte by byte, and takes little more memory than its length', async () => {
    const length = 200_000
    let received = 0
    const count = () => {
      received++
    }
    subscribe('undici:request:bodyChunkReceived', count)
    onTestFinished(() => void unsubscribe('undici:request:bodyChunkReceived', count))
    const drip: Step = socket =>
      void socket.write(`HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n${'1\r\nx\r\n'.repeat(length)}`)
    const server = await scriptedServer(drip)
    const held = () => {
      collectGarbage()
      const { heapUsed, arrayBuffers } = process.memoryUsage()
      return heapUsed + arrayBuffers
    }
    const before = held()
    const posted = connect(server.url, { timeoutMs: 60_000 }).post(body, allow)
    await until(() => expect(received).toBe(length))
    expect(held() - before).toBeLessThan(40 * length)
    for (const socket of server.sockets) socket.write('0\r\n\r\n')
    expect(await posted).toEqual({
      kind: 'response',
      request: body,
      status: 200,
      body: 'x'.repeat(length),
      retryAfterMs: null,
    })
  })

  const packed: [string, (bytes: Buffer) => Buffer][] = [
    ['gzip', gzipSync],
    ['deflate', deflateSync],
    ['br', brotliCompressSync],
  ]
  test.each(packed)('is read if it is compressed with %s, even unrequested', async (encoding, pack) => {
    const text = '{"success":true,"note":"привіт"}'
    const { answer, seen } = await postTo([answerBytes(`content-encoding: ${encoding}`, pack(Buffer.from(text)))])
    expect(answer).toMatchObject({ kind: 'response', body: text })
    expect(seen.requests[0]!.head).toMatch(/^accept-encoding: identity\r$/m)
  })

  test('that decompresses to more than the limit leaves the request in doubt', async () => {
    const large = answerBytes('content-encoding: gzip', gzipSync(Buffer.alloc(1_000_000, 'x')))
    expect((await postTo([large], { maxResponseBytes: 10_000 })).answer).toEqual(lost('response_too_large'))
  })

  test.each([
    ['at once', 0],
    ['in a separate packet', 30],
  ])('is read after an unrequested 100 Continue, %s', async (_, delayMs) => {
    const early = 'HTTP/1.1 100 Continue\r\n\r\n'
    const answers: Step = socket => {
      if (delayMs === 0) socket.write(early + httpAnswer(ok))
      else socket.write(early, () => setTimeout(() => socket.write(httpAnswer(ok)), delayMs))
    }
    const { seen, url } = await scriptedServer(answers)
    const connection = connect(url, { connections: 1 })
    for (let i = 0; i < 2; i++) expect(await connection.post(body, allow)).toMatchObject({ kind: 'response', body: ok })
    expect(seen.connections).toBe(1)
  })

  test('is read after several 100 Continue, wherever the network splits them', async () => {
    const early = 'HTTP/1.1 100 Continue\r\n\r\n'.repeat(2)
    const pieces = ['HTTP', `${early}${early}`.slice(4, -3), `\n\r\n${httpAnswer(ok)}`]
    const step: Step = async socket => {
      for (const piece of pieces) {
        await new Promise(written => socket.write(piece, written))
        await new Promise(passed => setTimeout(passed, 30))
      }
    }
    expect((await postTo([step])).answer).toMatchObject({ kind: 'response', body: ok })
  })

  test('with a wrong Content-Encoding leaves the request in doubt', async () => {
    const { answer } = await postTo([answerWith(ok, { headers: { 'content-encoding': 'gzip' } })])
    expect(answer).toEqual(lost('response_cut'))
  })

  test.each([
    ['a byte order mark', 'application/json', Buffer.from(`\ufeff{"note":"ї"}`)],
    ['windows-1251', 'application/json; charset=windows-1251', Buffer.from('{"note":"\xbf"}', 'latin1')],
    [
      'a charset in the wrong quotes',
      "application/json; charset='windows-1251'",
      Buffer.from('{"note":"\xbf"}', 'latin1'),
    ],
    ['UTF-16', 'application/json;charset="utf-16le"', Buffer.from('{"note":"ї"}', 'utf16le')],
    ['an unknown charset', 'application/json; charset=utf8mb4', Buffer.from('{"note":"ї"}')],
  ])('is read with %s', async (_, type, bytes) => {
    const { answer } = await postTo([answerBytes(`content-type: ${type}`, bytes)])
    expect(answer).toMatchObject({ kind: 'response', body: '{"note":"ї"}' })
  })

  test('that redirects names the target without login and query', async () => {
    const headers = { location: 'https://me:secret@new.example/api?token=secret' }
    const { answer } = await postTo([answerWith('', { status: 308, headers })])
    expect(answer).toMatchObject({ status: 308, location: 'https://new.example' })
  })

  test.each([
    ['7', 7_000, 7_000],
    ['0', 0, 0],
    [new Date(Date.now() + 3_000_000).toUTCString(), 1_000_000, 3_000_000],
    ['Sun, 06 Nov 1994 08:49:37 GMT', 0, 0],
    ['9'.repeat(400), 3_600_000, 3_600_000],
  ])('with Retry-After: %s says when to retry', async (retryAfter, least, most) => {
    const { answer } = await postTo([answerWith('', { status: 429, headers: { 'retry-after': retryAfter } })])
    const { retryAfterMs } = answer as Answer & { kind: 'response' }
    expect(retryAfterMs).toBeGreaterThanOrEqual(least)
    expect(retryAfterMs).toBeLessThanOrEqual(most)
  })

  test("with a date in Retry-After is compared with the gateway's clock, not our own", async () => {
    const headers = { date: 'Sun, 06 Nov 1994 08:49:37 GMT', 'retry-after': 'Sun, 06 Nov 1994 08:50:07 GMT' }
    const { answer } = await postTo([answerWith('', { status: 429, headers })])
    expect(answer).toMatchObject({ retryAfterMs: 30_000 })
  })

  test.each(['soon', '-3', '1.5'])('with the invalid Retry-After "%s" has no time to retry', async retryAfter => {
    const { answer } = await postTo([answerWith('', { status: 429, headers: { 'retry-after': retryAfter } })])
    expect(answer).toMatchObject({ status: 429, retryAfterMs: null })
  })
})

describe('nothing was sent', () => {
  test('if the host name is unknown', async () => {
    const answer = await connect('http://no-such-host.invalid').post(body, allow)
    expect(answer).toEqual(notSent('unreachable', /no-such-host\.invalid/))
  })

  test('if the server does not speak TLS', async () => {
    const server = await scriptedServer(silence)
    const connection = connect(server.url.replace('http', 'https'))
    const posted = connection.post(body, allow)
    await until(() => expect(server.seen.bytes).toBeGreaterThan(0))
    for (const socket of server.sockets) socket.end('220 this is another protocol\r\n')
    expect(await posted).toEqual(notSent('unreachable'))
  })

  test('if the time-out expires during the connect', async () => {
    const server = await scriptedServer(silence)
    const connection = connect(server.url.replace('http', 'https'), { timeoutMs: 60 })
    expect(await connection.post(body, allow)).toEqual(notSent('timeout', /60 ms/))
  })

  test('if the time-out expires while the request waits for a connection, even once one is free', async () => {
    holdTimeouts()
    const { seen, url } = await scriptedServer((socket, request) => {
      if (request.body === 'unanswered') vi.advanceTimersByTime(timeoutMs)
      else answerWith(ok)(socket, request)
    })
    const connection = connect(url, { timeoutMs, connections: 1 })
    const answers = await Promise.all([connection.post('unanswered', allow), connection.post('waits', allow)])
    expect(answers).toEqual([lost('timeout'), notSent('timeout')])
    vi.useRealTimers()
    expect(await connection.post('next', allow)).toMatchObject({ kind: 'response' })
    expect(seen.requests.map(request => request.body)).not.toContain('waits')
  })

  test('if the last check withholds the request, not even a byte', async () => {
    const { seen, url } = await scriptedServer(answerWith(ok))
    const connection = connect(url, { connections: 1 })
    expect(await connection.post(body, () => 'the partition was lost')).toEqual(
      notSent('withheld', /^the partition was lost$/),
    )
    await until(() => expect(seen).toMatchObject({ connections: 1, open: 0 }))
    expect(seen.bytes).toBe(0)
    expect(await connection.post('next', allow)).toMatchObject({ kind: 'response' })
    expect(seen.requests.map(request => request.body)).toEqual(['next'])
  })

  test('if the last check throws', async () => {
    const { seen, url } = await scriptedServer(answerWith(ok))
    const answer = await connect(url).post(body, () => {
      throw new Error('no clock')
    })
    expect(answer).toMatchObject({ kind: 'not_sent' })
    expect(seen.bytes).toBe(0)
  })
})

describe('a request is in doubt', () => {
  test.each<[string, string, Step]>([
    ['the connection is reset after the request was read', 'reset', socket => socket.resetAndDestroy()],
    ['the connection is closed before the answer', 'reset', socket => socket.end()],
    ['the connection is closed within the headers', 'reset', socket => socket.end('HTTP/1.1 200 OK\r\ncontent-le')],
    ['the connection is closed within the body', 'response_cut', socket => socket.end(beginning)],
    [
      'the connection is reset within the body',
      'response_cut',
      socket => socket.write(beginning, () => socket.resetAndDestroy()),
    ],
    ['the answer is not HTTP', 'reset', socket => socket.end('220 this is another protocol\r\n')],
    ['a chunk is broken', 'response_cut', s => s.write('HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n')],
  ])('when %s', async (_, cause, step) => {
    const { answer, seen } = await postTo([step])
    expect(answer).toEqual(lost(cause))
    expect(seen.requests).toHaveLength(1)
  })

  test.each<[string, Step]>([
    ['before the headers', silence],
    ['within the headers', socket => socket.write('HTTP/1.1 200 OK\r\ncontent-le')],
    ['within the body', socket => socket.write(beginning)],
  ])('if the time-out expires %s, and the connection is not reused', async (_, step) => {
    const { answer, seen } = await postUntil((socket, request) => {
      step(socket, request)
      setImmediate(() => setImmediate(() => vi.advanceTimersByTime(timeoutMs))) // after the first part of the answer was read
    })
    expect(answer).toEqual(lost('timeout'))
    await until(() => expect(seen.open).toBe(0))
  })

  test('if the body arrives slowly, beyond the time-out', async () => {
    const trickle: Step = socket => {
      socket.write('HTTP/1.1 200 OK\r\ncontent-length: 100000\r\n\r\n')
      const timer = setInterval(() => {
        socket.write('x')
        vi.advanceTimersByTime(timeoutMs / 10)
      }, 5)
      socket.on('close', () => clearInterval(timer))
    }
    const { answer } = await postUntil(trickle)
    expect(answer).toEqual(lost('timeout'))
  })

  test('if the answer exceeds the limit, without waiting for the rest', async () => {
    const endless: Step = socket =>
      socket.write(`HTTP/1.1 200 OK\r\ncontent-length: 100000\r\n\r\n${'x'.repeat(2_000)}`)
    const { answer, seen } = await postTo([endless], { maxResponseBytes: 1_000 })
    expect(answer).toEqual(lost('response_too_large'))
    await until(() => expect(seen.open).toBe(0))
  })

  test('if the connections are closed during it', async () => {
    const { seen, url } = await scriptedServer(silence)
    const connection = connect(url)
    const posted = connection.post(body, allow)
    await until(() => expect(seen.requests).toHaveLength(1))
    await connection.close()
    expect(await posted).toMatchObject({ kind: 'lost' })
  })

  test('if the answer switches protocols, and the next request is not delayed', async () => {
    const upgrade: Step = socket => socket.write('HTTP/1.1 101 Switching Protocols\r\nupgrade: websocket\r\n\r\n')
    const { url } = await scriptedServer(upgrade, answerWith(ok))
    const connection = connect(url, { connections: 1 })
    expect(await connection.post(body, allow)).toMatchObject({ kind: 'lost' })
    expect(await connection.post(body, allow)).toMatchObject({ kind: 'response' })
  })
})

describe('a connection', () => {
  test('is free before the last check of the request runs', async () => {
    const free = Promise.withResolvers<void>()
    const { seen, url } = await scriptedServer(socket => void free.promise.then(() => socket.write(httpAnswer(ok))))
    const connection = connect(url, { connections: 1 })
    const first = connection.post('first', allow)
    const lastCheck = vi.fn(allow)
    const second = connection.post('second', lastCheck)
    await until(() => expect(seen.requests).toHaveLength(1))
    expect(lastCheck).not.toHaveBeenCalled()
    free.resolve()
    expect(await Promise.all([first, second])).toMatchObject([{ kind: 'response' }, { kind: 'response' }])
    expect(lastCheck).toHaveBeenCalledTimes(1)
  })

  test('that is distrusted is not used again, and the request in flight on it gets its answer', async () => {
    const { sockets, seen, url } = await scriptedServer(answerWith(ok), silence, answerWith(ok))
    const connection = connect(url, { connections: 1 })
    await connection.post('first', allow)
    const second = connection.post('second', allow)
    await until(() => expect(seen.requests).toHaveLength(2))
    const [old] = sockets
    connection.distrust()
    expect(await connection.post('third', allow)).toMatchObject({ kind: 'response' })
    old!.write(httpAnswer(ok))
    expect(await second).toMatchObject({ kind: 'response' })
    await until(() => expect(seen.open).toBe(1))
    expect(seen.connections).toBe(2)
  })

  test.each([
    ['is closed if it is idle for longer than keepAliveMs', {}],
    ['is closed even if the gateway would keep it for longer', { 'keep-alive': 'timeout=600' }],
  ])('%s', async (_, headers) => {
    const { seen, url } = await scriptedServer(answerWith(ok, { headers }))
    const connection = connect(url, { connections: 1, keepAliveMs: 50 })
    await connection.post('first', allow)
    await until(() => expect(seen.open).toBe(0))
    expect(await connection.post('second', allow)).toMatchObject({ kind: 'response' })
    expect(seen.connections).toBe(2)
  })

  test('keeps no timer after an answer, which would delay the exit', async () => {
    const { url } = await scriptedServer(answerWith(ok))
    const timers = () => process.getActiveResourcesInfo().filter(resource => resource === 'Timeout').length
    const before = timers()
    const connection = connect(url, { timeoutMs: 60_000 })
    await connection.post(body, allow)
    await connection.close()
    await until(() => expect(timers()).toBeLessThanOrEqual(before))
  })
})

test('no error message contains any part of the request or answer', async () => {
  const secret = 'text of the answer'
  const steps: Step[] = [
    socket => socket.end(`HTTP/1.1 200 ${secret}\r\n${secret}: ${secret}\u0000\r\n\r\n`),
    socket => socket.end(secret),
    socket => socket.end(httpAnswer(secret).slice(0, -2)),
    socket => socket.write(httpAnswer(secret.repeat(100))),
    socket => socket.resetAndDestroy(),
    silence,
  ]
  const { url } = await scriptedServer(...steps)
  const connection = connect(url, { timeoutMs: 500, maxResponseBytes: 1_000, connections: 1 })
  const messages: string[] = []
  for (const _ of steps) {
    const answer = await connection.post(body, allow)
    if (answer.kind !== 'response') messages.push(answer.message)
  }
  expect(messages).toHaveLength(steps.length)
  for (const hidden of [key, 'nobody may see', secret]) expect(messages.join()).not.toContain(hidden)
})

test('a name that moves to another address is followed under steady traffic, and no request is lost', async () => {
  const [before, after] = ['127.0.0.1', '127.0.0.2']
  let address = before
  type Found = (error: null, found: string | { address: string; family: number }[], family?: number) => void
  const lookup = (_host: string, { all }: { all?: boolean }, found: Found) =>
    all ? found(null, [{ address, family: 4 }]) : found(null, address, 4)
  const seen: string[] = []
  const listening = (host: string, port: number) =>
    new Promise<number>(resolve => {
      const server = createServer((_, response) => {
        seen.push(host)
        response.end(ok)
      }).listen(port, host, () => resolve((server.address() as AddressInfo).port))
      onTestFinished(() => void server.close().closeAllConnections())
    })
  const port = await listening(before, 0)
  await listening(after, port)
  const spy = vi.spyOn(dns, 'lookup').mockImplementation(lookup as never)
  onTestFinished(() => spy.mockRestore())
  const connection = connect(`http://gateway.example:${port}`, { connections: 4, keepAliveMs: 60_000, maxAgeMs: 50 })
  const asking = async () => {
    while (seen.at(-1) !== after) expect(await connection.post(body, allow)).toMatchObject({ kind: 'response' })
  }
  const traffic = Promise.all(Array.from({ length: 4 }, asking))
  await until(() => expect(seen.length).toBeGreaterThan(20))
  address = after
  await traffic
  for (let i = 0; i < 8; i++) await connection.post(body, allow)
  expect(seen.at(-1)).toBe(after)
})
