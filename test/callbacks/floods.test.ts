import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import type { Server } from 'node:http'
import { describe, expect, onTestFinished, test } from 'vitest'
import {
  eventually,
  hookSubject,
  post,
  postHead,
  rawConnection,
  receiverBench,
  wholePost,
} from '../support/callbacks.ts'
import { ManualClock } from '../support/clock.ts'
import { collectGarbage } from '../support/garbage.ts'

type Bench = Awaited<ReturnType<typeof receiverBench>>

const codesOf = ({ received }: { received: string }) =>
  [...received.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, code]) => Number(code))

const openOf = (all: readonly { closed: boolean }[]) => all.filter(({ closed }) => !closed)

/** Opens connections one after the other; each sends the same text. */
async function connections(bench: Bench, count: number, text: string) {
  const all = []
  for (let i = 0; i < count; i++) {
    const raw = rawConnection(bench.receiver.port)
    await eventually(() => expect(raw.socket.connecting).toBe(false))
    raw.write(text)
    all.push(raw)
  }
  return all
}

describe('honest callbacks are answered in spite of slow senders', () => {
  test.each<[string, (bench: Bench) => string]>([
    ['that send nothing', () => ''],
    ['that never end their headers', () => `POST /hooks/x HTTP/1.1\r\nHost: b\r\nX-Slow: ${'x'.repeat(15_000)}`],
    ['that never end their bodies', bench => `${postHead(bench.url(), 'Content-Length: 60000')}${' '.repeat(50_000)}`],
  ])('%s', async (_, text) => {
    const bench = await receiverBench({ connections: 10 })
    const slow = await connections(bench, 40, text(bench))
    await eventually(() => expect(openOf(slow)).toHaveLength(10))
    for (let i = 0; i < 5; i++) expect((await post(bench.url())).status).toBe(200)
    expect((await fetch(`${bench.origin}/healthz`)).status).toBe(200)
    expect(new Set(bench.refused)).toEqual(new Set(['overloaded', ...bench.refused.filter(one => one === 'aborted')]))
  })

  test('and connections that have carried a callback are closed last to make room', async () => {
    const bench = await receiverBench({ connections: 5 })
    const honest = rawConnection(bench.receiver.port)
    honest.write(wholePost(bench.url()))
    await eventually(() => expect(codesOf(honest)).toEqual([200]))
    const slow = await connections(bench, 20, '')
    await eventually(() => expect(openOf(slow)).toHaveLength(4))
    honest.write(wholePost(bench.url()))
    await eventually(() => expect(codesOf(honest)).toEqual([200, 200]))
  })

  test('and a callback that waits for the bus is not closed in favour of a new connection', async () => {
    const bench = await receiverBench({ connections: 3 })
    bench.bus.held = true
    const waiting = await connections(bench, 3, wholePost(bench.url()))
    await eventually(() => expect(bench.opened()).toBe(3))
    const late = await connections(bench, 2, wholePost(bench.url()))
    await eventually(() => expect(openOf(late)).toHaveLength(0))
    expect(bench.refused).toEqual(['overloaded', 'overloaded'])
    bench.bus.held = false
    bench.bus.calls[0]!.resolve()
    await eventually(() => expect(waiting.map(codesOf)).toEqual([[200], [200], [200]]))
    expect((await post(bench.url())).status).toBe(200)
  })
})

describe('a connection', () => {
  test.each([
    ['a request without a host', 'POST /hooks/nobody HTTP/1.1\r\n\r\n'],
    ['a request with a forged token', 'POST /hooks/nobody HTTP/1.1\r\nHost: b\r\n\r\n'],
    ['a health check', 'GET /healthz HTTP/1.1\r\nHost: b\r\n\r\n'],
  ])('that sends thousands of requests at once is closed after a few: %s', async (_, text) => {
    const bench = await receiverBench()
    let begun = 0
    const count = () => {
      begun++
    }
    subscribe('http.server.request.start', count)
    onTestFinished(() => void unsubscribe('http.server.request.start', count))
    const raw = rawConnection(bench.receiver.port)
    raw.write(text.repeat(2000))
    await eventually(() => expect(raw.closed).toBe(true))
    expect(begun).toBeLessThan(60)
    expect((await post(bench.url())).status).toBe(200)
  })

  test('that sends a second callback before the first is answered is closed; the first is kept', async () => {
    const bench = await receiverBench()
    bench.bus.held = true
    const raw = rawConnection(bench.receiver.port)
    raw.write(wholePost(bench.url()))
    await eventually(() => expect(bench.bus.calls).toHaveLength(1))
    raw.write(wholePost(bench.url()))
    await eventually(() => expect(raw.closed).toBe(true))
    expect([bench.opened(), bench.events().length]).toEqual([1, 1])
  })

  test('that carries callbacks stays open; one without a valid callback, or answered 503, is closed', async () => {
    const bench = await receiverBench()
    for (const request of [wholePost(`${bench.origin}/hooks/nobody`), 'GET /healthz HTTP/1.1\r\nHost: b\r\n\r\n']) {
      const stranger = rawConnection(bench.receiver.port)
      stranger.write(request)
      await eventually(() => expect(stranger.closed).toBe(true))
      expect(codesOf(stranger)).toHaveLength(1)
    }
    const honest = rawConnection(bench.receiver.port)
    for (const codes of [[200], [200, 200]]) {
      honest.write(wholePost(bench.url()))
      await eventually(() => expect(codesOf(honest)).toEqual(codes))
    }
    bench.bus.fail = new Error('away')
    honest.write(wholePost(bench.url()))
    await eventually(() => expect(codesOf(honest)).toEqual([200, 200, 503]))
    expect(honest.received).toMatch(/503 .*connection: close/is)
    await eventually(() => expect(honest.closed).toBe(true))
  })
})

test('bodies that stop after a few bytes take little memory', async () => {
  const bench = await receiverBench({ requestMs: 60_000 })
  const count = 300 // enough to stand out from the few megabytes of Node and earlier tests
  collectGarbage()
  const before = process.memoryUsage().arrayBuffers
  let closed = 0
  for (let i = 1; i <= count; i++) {
    const raw = rawConnection(bench.receiver.port)
    raw.socket.on('close', () => closed++)
    raw.write(`${postHead(bench.url(), 'Content-Length: 100')}{`)
    await eventually(() => expect(bench.opened()).toBe(i))
    raw.write('"')
    for (let left = Buffer.poolSize; left > 0; left -= 1000) Buffer.allocUnsafe(1000) // uses up Node's buffer pool
  }
  await eventually(() => {
    collectGarbage()
    expect((process.memoryUsage().arrayBuffers - before) / count).toBeLessThan(20_000)
  })
  expect(closed).toBe(0)
})

test('a connection that the operating system cannot accept affects no other', async () => {
  const bench = await receiverBench()
  const servers = new Set<Server>()
  const find = (message: unknown) => void servers.add((message as { server: Server }).server)
  subscribe('http.server.request.start', find)
  onTestFinished(() => void unsubscribe('http.server.request.start', find))
  expect((await post(bench.url())).status).toBe(200)
  const [server] = servers
  // The event that Node emits when accept(2) fails; a test cannot cause the failure itself.
  server!.emit('error', Object.assign(new Error('accept ENOBUFS'), { code: 'ENOBUFS', syscall: 'accept' }))
  expect(bench.refused).toEqual(['overloaded'])
  expect((await post(bench.url())).status).toBe(200)
})

describe('GET /healthz', () => {
  const healthOf = async (bench: Bench, method = 'GET') => (await fetch(`${bench.origin}/healthz`, { method })).status

  test('says whether this receiver accepts callbacks', async () => {
    let healthy = true
    const bench = await receiverBench({}, { healthy: () => healthy })
    expect([await healthOf(bench), await healthOf(bench, 'HEAD')]).toEqual([200, 200])
    healthy = false
    expect(await healthOf(bench)).toBe(503)
    expect(await healthOf(bench, 'POST')).toBe(404)
    expect(bench.refused).toEqual(['path'])
  })
})

describe('refused callbacks', () => {
  test('are reported at once, then once a minute with reasons and counts, and at the end', async () => {
    const clock = new ManualClock()
    const bench = await receiverBench({}, { clock })
    await post(`${bench.origin}/hooks/nobody`)
    await clock.pass(1)
    expect(bench.reported).toEqual([{ counts: { malformed: 1 }, error: null, isOurs: false }])
    for (let i = 0; i < 5; i++) await post(`${bench.origin}/hooks/nobody`)
    await post(bench.url(), 'no JSON')
    await clock.pass(59_000)
    expect(bench.reported).toHaveLength(1)
    await clock.pass(1000)
    expect(bench.reported[1]).toEqual({ counts: { malformed: 5, bad_json: 1 }, error: null, isOurs: false })
    await clock.pass(120_000)
    expect(bench.reported).toHaveLength(2)
    await post(bench.url(), 'no JSON')
    await clock.pass(1)
    await post(bench.url(), 'no JSON')
    await bench.receiver.close()
    expect(bench.reported.slice(2).map(({ counts }) => counts)).toEqual([{ bad_json: 1 }, { bad_json: 1 }])
  })

  test("after a failure of the bus are reported with the error's code and place, without its message", async () => {
    const clock = new ManualClock()
    const bench = await receiverBench({}, { clock })
    bench.bus.fail = Object.assign(new Error('380671230067'), { code: 'NOT_ENOUGH_REPLICAS' })
    await post(bench.url({ ...hookSubject() }))
    await clock.pass(1)
    const at = expect.arrayContaining([expect.stringContaining('floods.test.ts')])
    expect(bench.reported).toEqual([
      { counts: { not_published: 1 }, error: { name: 'Error', code: 'NOT_ENOUGH_REPLICAS', at }, isOurs: true },
    ])
    expect(JSON.stringify(bench.reported)).not.toContain('380671230067')
  })
})
