import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import type { IncomingMessage, Server } from 'node:http'
import fc from 'fast-check'
import { beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { callback, eventually, head, hookSubject, post, rawConnection, receiverBench } from '../support/callbacks.ts'
import { ManualClock } from '../support/clock.ts'
import { collectGarbage } from '../support/garbage.ts'

type Bench = Awaited<ReturnType<typeof receiverBench>>

const stranger = '127.0.0.66'

// macOS has one loopback address, where others have millions.
beforeEach(({ skip }) => skip(process.platform === 'darwin'))
const patiently = (holds: () => unknown) => vi.waitFor(holds, { timeout: 10_000, interval: 20 })

const whole = (url: string, body: unknown = callback(), ...headers: string[]) => {
  const text = JSON.stringify(body)
  return head(url, `Content-Length: ${text.length}`, ...headers) + text
}

const codesOf = ({ heard }: { heard: string }) =>
  [...heard.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, code]) => Number(code))

/** Connections of a stranger that are all open or closed again. */
async function connections(bench: Bench, count: number) {
  const all = Array.from({ length: count }, () => rawConnection(bench.receiver.port, stranger))
  await patiently(() => expect(all.filter(({ socket }) => socket.connecting)).toHaveLength(0))
  return all
}

describe('a flood from one address leaves room for others:', () => {
  test('of connections that say nothing', async () => {
    const bench = await receiverBench({ connections: 40, addressShare: 0.25 })
    const silent = await connections(bench, 60)
    await eventually(() => expect(silent.filter(({ closed }) => !closed)).toHaveLength(10))
    expect((await post(bench.url())).status).toBe(200)
    expect(new Set(bench.refused)).toEqual(new Set(['overloaded']))
  })

  test('of callbacks that wait for the bus', async () => {
    const bench = await receiverBench({ inFlightBytes: 372_000, addressShare: 0.25 })
    bench.bus.held = true
    const flood = await connections(bench, 30)
    for (const raw of flood) raw.say(whole(bench.url()))
    const codes = () => flood.flatMap(codesOf)
    await eventually(() => expect(codes().length + bench.opened()).toBe(30))
    expect(new Set(codes())).toEqual(new Set([503]))
    expect(bench.opened()).toBeLessThan(12)
    const honest = post(bench.url())
    await eventually(() => expect(bench.opened() + codes().length).toBe(31))
    bench.bus.held = false
    bench.bus.calls[0]!.resolve()
    expect((await honest).status).toBe(200)
  })

  test('of callbacks beyond what it may have in flight, whose refusals come at a pace', async () => {
    const bench = await receiverBench({ inFlightBytes: 400_000, addressShare: 0.25, addressRefusals: 20 })
    bench.bus.held = true
    const flood = await connections(bench, 20)
    const begun = performance.now()
    for (const raw of flood) {
      const say = () => raw.say(whole(bench.url()))
      raw.socket.on('data', say)
      say()
    }
    const refused = () => flood.flatMap(codesOf).length
    await patiently(() => expect(refused()).toBeGreaterThan(30))
    expect(refused()).toBeLessThan(25 + 20 + ((performance.now() - begun) / 1000) * 20)
  })

  test('of bytes behind requests that wait', async () => {
    const bench = await receiverBench({ inFlightBytes: 1_000_000, addressShare: 0.25 })
    bench.bus.held = true
    const flood = await connections(bench, 10)
    for (const raw of flood) raw.say(whole(bench.url()) + whole(bench.url()).repeat(200))
    await patiently(() => expect(flood.filter(({ closed }) => closed).length).toBeGreaterThan(3))
    const honest = post(bench.url())
    await eventually(() => expect(bench.opened()).toBeGreaterThan(1))
    for (const { socket } of flood) socket.destroy()
    bench.bus.held = false
    bench.bus.calls[0]!.resolve()
    expect((await honest).status).toBe(200)
  })

  test('of heads that never end', async () => {
    const bench = await receiverBench({ inFlightBytes: 400_000, addressShare: 0.25 })
    const flood = await connections(bench, 20)
    for (const raw of flood) raw.say(`POST /hooks/x HTTP/1.1\r\nHost: b\r\nX-Slow: ${'x'.repeat(15_000)}`)
    await patiently(() => expect(flood.filter(({ closed }) => !closed)).toHaveLength(3))
    const honest = rawConnection(bench.receiver.port)
    const text = whole(bench.url())
    const middle = text.indexOf('Host') // its head comes in two pieces
    honest.say(text.slice(0, middle))
    honest.say(text.slice(middle))
    await eventually(() => expect(codesOf(honest)).toEqual([200]))
    for (const { socket } of flood) socket.destroy()
    const late = rawConnection(bench.receiver.port, stranger)
    await eventually(() => expect(late.socket.readyState).toBe('open'))
    late.say(`POST /hooks/x HTTP/1.1\r\nHost: b\r\nX-Slow: ${'x'.repeat(15_000)}`)
    late.say('\r\n\r\n')
    await eventually(() => expect(codesOf(late)).toEqual([404]))
  })

  test('of forged requests, whose answers come at a pace', async () => {
    const bench = await receiverBench({ addressRefusals: 20 })
    const flood = await connections(bench, 20)
    const begun = performance.now()
    const forged = whole(`${bench.origin}/hooks/nobody`)
    for (const raw of flood) raw.say(forged.repeat(5))
    const answered = () => flood.flatMap(codesOf).length
    await eventually(() => expect(answered()).toBeGreaterThan(0))
    const honest = [await post(bench.url()), await post(bench.url())]
    expect(honest.map(({ status }) => status)).toEqual([200, 200])
    await patiently(() => expect(answered()).toBeGreaterThan(40))
    expect(answered()).toBeLessThan(25 + 20 + ((performance.now() - begun) / 1000) * 20)
  })

  test('of forged requests on connections that are cut at once, so that they need not wait', async () => {
    const bench = await receiverBench({ connections: 40, addressShare: 0.25, addressRefusals: 5 })
    let cut = 0
    while (cut < 100) {
      const raw = rawConnection(bench.receiver.port, stranger)
      raw.socket.on('connect', () =>
        raw.socket.write(whole(`${bench.origin}/hooks/nobody`), () => raw.socket.resetAndDestroy()),
      )
      await eventually(() => expect(raw.closed).toBe(true))
      cut++
    }
    const looked = bench.refused.filter(reason => reason === 'malformed').length
    expect(looked).toBeLessThan(30)
    expect((await post(bench.url())).status).toBe(200)
  })
})

describe('beside a flood of valid callbacks', () => {
  const many = 300
  const own = (bench: Bench, id: number, ...headers: string[]) =>
    whole(bench.url({ id: BigInt(id) }), callback({ id }), ...headers)
  /** Connections that the receiver has accepted, which takes it a turn of the event loop each. */
  const accepted = async (bench: Bench, count: number, from: string) => {
    const all = Array.from({ length: count }, () => rawConnection(bench.receiver.port, from))
    for (const raw of all) raw.say('GET /healthz HTTP/1.1\r\nHost: b\r\n\r\n')
    await eventually(() => expect(all.flatMap(codesOf)).toHaveLength(count))
    return all
  }
  /** How many of the flood's were published before each of the others, which have ids of their own. */
  const placesOf = (bench: Bench) => bench.events().flatMap(({ id }, place) => (id === 42n ? [] : [place]))

  test('one of another address is taken soon, though it came last', async () => {
    const bench = await receiverBench()
    const flood = await accepted(bench, many, stranger)
    const [honest] = await accepted(bench, 1, '127.0.0.1')
    for (const raw of flood) raw.say(whole(bench.url()))
    honest!.say(own(bench, 7))
    await eventually(() => expect(bench.events()).toHaveLength(many + 1))
    expect(placesOf(bench)[0]).toBeLessThan(100)
  })

  test('one of another client of the same proxy is taken soon, though it came last', async () => {
    const bench = await receiverBench({}, { trustedProxies: [stranger] })
    const proxied = await accepted(bench, many + 1, stranger)
    for (const raw of proxied.slice(1)) raw.say(whole(bench.url(), callback(), 'X-Forwarded-For: 203.0.113.9'))
    proxied[0]!.say(own(bench, 7, 'X-Forwarded-For: 198.51.100.7'))
    await eventually(() => expect(bench.events()).toHaveLength(many + 1))
    expect(placesOf(bench)[0]).toBeLessThan(100)
  })

  test('one of another address is answered soon, though all are on the bus at one time', async () => {
    const bench = await receiverBench()
    bench.bus.held = true
    const flood = await accepted(bench, many, stranger)
    const answered: (string | undefined)[] = []
    const finish = (message: unknown) =>
      void answered.push((message as { request: IncomingMessage }).request.socket.remoteAddress)
    subscribe('http.server.response.finish', finish)
    onTestFinished(() => void unsubscribe('http.server.response.finish', finish))
    for (const raw of flood) raw.say(whole(bench.url()))
    await eventually(() => expect(bench.opened()).toBe(many))
    const honest = rawConnection(bench.receiver.port)
    honest.say(whole(bench.url()))
    await eventually(() => expect(bench.opened()).toBe(many + 1))
    bench.bus.held = false
    bench.bus.calls[0]!.resolve()
    await eventually(() => expect(answered).toHaveLength(many + 1))
    expect(answered.indexOf('127.0.0.1')).toBeLessThan(100)
  })

  test('those whose sender has gone before their turn came are counted as not arrived', async () => {
    const bench = await receiverBench({ addressRefusals: 1e6 })
    for (const raw of await accepted(bench, many, stranger)) {
      raw.say(head(bench.url(), 'Content-Length: 100'))
      raw.socket.resetAndDestroy()
    }
    await eventually(() => expect(bench.refused).toEqual(Array(many).fill('aborted')))
  })

  test('new connections of another address are accepted in the meantime', async () => {
    const bench = await receiverBench()
    const flood = await accepted(bench, many, stranger)
    for (const raw of flood) raw.say(whole(bench.url()))
    for (let id = 1; id <= 10; id++) rawConnection(bench.receiver.port).say(own(bench, id))
    await eventually(() => expect(bench.events()).toHaveLength(many + 10))
    expect(placesOf(bench).at(-1)).toBeLessThan(200)
  })
})

test('beside many addresses that take all they may, there is room for the next one', async () => {
  const bench = await receiverBench({ connections: 64, addressShare: 0.25 })
  for (let i = 1; i <= 10; i++) {
    for (let count = 0; count < 20; count++) rawConnection(bench.receiver.port, `127.0.66.${i}`)
    const last = rawConnection(bench.receiver.port, '127.0.67.1')
    last.say('GET /healthz HTTP/1.1\r\nHost: b\r\nConnection: close\r\n\r\n')
    await patiently(() => expect([last.closed, codesOf(last)]).toEqual([true, [200]]))
  }
  expect(bench.refused.length).toBeGreaterThan(130)
  expect((await post(bench.url())).status).toBe(200)
})

test('valid callbacks of an address that is also refused a lot do not wait', async () => {
  const bench = await receiverBench({ addressRefusals: 0.1 })
  for (const raw of await connections(bench, 10)) raw.say(whole(`${bench.origin}/hooks/nobody`))
  await eventually(() => expect(bench.refused).toHaveLength(10))
  const begun = performance.now()
  const raw = rawConnection(bench.receiver.port, stranger)
  raw.say(whole(bench.url()))
  await eventually(() => expect(codesOf(raw)).toEqual([200]))
  expect(performance.now() - begun).toBeLessThan(900)
})

describe('behind a proxy', () => {
  const proxied = (bench: Bench, client: string, url = bench.url()) =>
    whole(url, callback(), `X-Forwarded-For: ${client}`)

  test('that is trusted, each of its clients is counted alone', async () => {
    const bench = await receiverBench(
      { connections: 40, addressShare: 0.25, addressRefusals: 1e6 },
      { trustedProxies: ['127.0.0.64/29'] },
    )
    bench.bus.held = true
    const all = await connections(bench, 30)
    expect(all.filter(({ closed }) => closed)).toHaveLength(0)
    for (const raw of all.slice(0, 20)) raw.say(proxied(bench, '203.0.113.9, 198.51.100.7, 127.0.0.65'))
    for (const raw of all.slice(20)) raw.say(proxied(bench, '198.51.100.7, 203.0.113.9'))
    const codes = (from: number, to: number) => all.slice(from, to).flatMap(codesOf)
    await eventually(() => expect(codes(0, 20)).toEqual(Array(10).fill(503)))
    await eventually(() => expect(bench.opened()).toBe(20))
    expect(codes(20, 30)).toEqual([])
    bench.bus.held = false
    bench.bus.calls[0]!.resolve()
    await eventually(() => expect(codes(20, 30)).toEqual(Array(10).fill(200)))
  })

  test('that is not trusted, all count as its own, whatever they claim', async () => {
    const limits = { connections: 40, addressShare: 0.25, addressRefusals: 0.1 }
    const bench = await receiverBench(limits, { trustedProxies: ['10.0.0.0/8'] })
    const all = await connections(bench, 30)
    await eventually(() => expect(all.filter(({ closed }) => closed)).toHaveLength(20))
    for (const [i, raw] of all.entries()) if (!raw.closed) raw.say(proxied(bench, `10.0.0.1, 203.0.113.${i}`))
    await eventually(() => expect(all.flatMap(codesOf)).toEqual(Array(10).fill(200)))
    for (const [i, raw] of all.entries()) {
      if (!raw.closed) raw.say(proxied(bench, `10.0.0.1, 203.0.113.${i}`, `${bench.origin}/hooks/nobody`))
    }
    await eventually(() => expect(bench.refused.filter(reason => reason === 'malformed')).toHaveLength(10))
    await eventually(() => expect(all.flatMap(codesOf).filter(code => code === 404)).toHaveLength(1))
  })
})

test.each([
  ['in one piece', 200_000],
  ['byte by byte', 1],
  ['cut in the middle of heads and bodies', 97],
])('requests that are sent %s without waiting are all answered, in their order', async (_, size) => {
  const bench = await receiverBench({ addressShare: 1, addressRefusals: 1e6 })
  const raw = rawConnection(bench.receiver.port)
  raw.socket.setNoDelay(true)
  const chunked = `${head(bench.url(), 'Transfer-Encoding: chunked')}10\r\n{"success":true,\r\n9\r\n"id":"42"\r\n1\r\n}\r\n0\r\n\r\n`
  const round =
    whole(bench.url()) +
    'GET /healthz HTTP/1.1\r\nHost: b\r\n\r\n' +
    whole(`${bench.origin}/hooks/nobody`, callback({ error: '\r\n\r\n'.repeat(100) })) +
    chunked +
    whole(bench.url(), callback({ error: 'x'.repeat(9000) }))
  const all = Buffer.from(round.repeat(size === 1 ? 1 : 20))
  for (let at = 0; at < all.length; at += size) {
    raw.say(all.toString('latin1', at, at + size))
    if (size < 1000) await new Promise(resolve => setImmediate(resolve))
  }
  const expected = Array(size === 1 ? 1 : 20)
    .fill([200, 200, 404, 200, 200])
    .flat()
  await patiently(() => expect(codesOf(raw)).toEqual(expected))
})

test('requests of all kinds are answered in their order, wherever a network cuts them', async () => {
  const bench = await receiverBench({ addressShare: 1, addressRefusals: 1e6 })
  const kinds: Record<string, [request: string, code: number]> = {
    valid: [whole(bench.url()), 200],
    large: [whole(bench.url(), callback({ error: 'x'.repeat(20_000) })), 200],
    chunked: [
      `${head(bench.url(), 'Transfer-Encoding: chunked')}1\r\n{\r\n12\r\n\r\n\r\n"success":true\r\n1\r\n}\r\n0\r\n\r\n`,
      200,
    ],
    forged: [whole(`${bench.origin}/hooks/nobody`, callback({ error: 'GET /healthz HTTP/1.1\r\n\r\n' })), 404],
    health: ['GET /healthz HTTP/1.1\r\nHost: b\r\n\r\n', 200],
    empty: [head(bench.url(), 'Content-Length: 0'), 400],
    'led by lines': [`\r\n\r\n${whole(bench.url())}`, 200],
  }
  const story = fc.tuple(
    fc.array(fc.constantFrom(...Object.keys(kinds)), { minLength: 1, maxLength: 12 }),
    fc.infiniteStream(fc.oneof(fc.integer({ min: 1, max: 9 }), fc.integer({ min: 10, max: 5000 }))),
  )
  await fc.assert(
    fc.asyncProperty(story, async ([names, sizes]) => {
      const raw = rawConnection(bench.receiver.port)
      raw.socket.setNoDelay(true)
      let text = names.map(name => kinds[name]![0]).join('')
      while (text !== '') {
        const size = Math.max(sizes.next().value, text.length / 200)
        raw.say(text.slice(0, size))
        text = text.slice(size)
        await new Promise(resolve => setImmediate(resolve))
      }
      await patiently(() => expect(codesOf(raw)).toEqual(names.map(name => kinds[name]![1])))
      raw.socket.destroy()
    }),
    { numRuns: 40 },
  )
})

test('bodies that stop after a few bytes keep little memory, whatever the process does in between', async () => {
  const bench = await receiverBench({ addressShare: 1, requestMs: 60_000 })
  const count = 300 // Node and the tests before this one move a megabyte or two of their own
  collectGarbage()
  const before = process.memoryUsage().arrayBuffers
  let closed = 0
  for (let i = 1; i <= count; i++) {
    const raw = rawConnection(bench.receiver.port)
    raw.socket.on('close', () => closed++)
    raw.say(`${head(bench.url(), 'Content-Length: 100')}{`)
    await eventually(() => expect(bench.opened()).toBe(i))
    raw.say('"')
    for (let left = Buffer.poolSize; left > 0; left -= 1000) Buffer.allocUnsafe(1000) // takes what is left of Node's pool
  }
  await eventually(() => {
    collectGarbage()
    expect((process.memoryUsage().arrayBuffers - before) / count).toBeLessThan(20_000)
  })
  expect(closed).toBe(0)
})

test('of thousands of requests that are sent without waiting no more are begun than there are connections', async () => {
  const bench = await receiverBench({ addressShare: 1 })
  let inFlight = 0
  let most = 0
  const begin = () => {
    most = Math.max(most, ++inFlight)
  }
  const finish = () => {
    inFlight--
  }
  subscribe('http.server.request.start', begin)
  subscribe('http.server.response.finish', finish)
  onTestFinished(() => {
    unsubscribe('http.server.request.start', begin)
    unsubscribe('http.server.response.finish', finish)
  })
  const all = await connections(bench, 20)
  for (const raw of all) raw.say(whole(bench.url()).repeat(200))
  await patiently(() => expect(all.flatMap(codesOf)).toEqual(Array(4000).fill(200)))
  expect(most).toBe(20)
})

test('requests that the HTTP server answers by itself are begun one at a time, too', async () => {
  const bench = await receiverBench()
  let begun = 0
  const count = () => {
    begun++
  }
  subscribe('http.server.request.start', count)
  onTestFinished(() => void unsubscribe('http.server.request.start', count))
  const raw = rawConnection(bench.receiver.port)
  raw.say('POST /hooks/nobody HTTP/1.1\r\n\r\n'.repeat(1000))
  await eventually(() => expect(raw.closed).toBe(true))
  expect(codesOf(raw)).toEqual([400])
  expect(begun).toBeLessThan(5)
})

test('a connection that the system cannot give to the receiver ends nothing else', async () => {
  const bench = await receiverBench()
  const servers = new Set<Server>()
  const find = (message: unknown) => void servers.add((message as { server: Server }).server)
  subscribe('http.server.request.start', find)
  onTestFinished(() => void unsubscribe('http.server.request.start', find))
  expect((await post(bench.url())).status).toBe(200)
  const [server] = servers
  // What Node tells when accept(2) fails, which no test can bring about at will.
  server!.emit('error', Object.assign(new Error('accept ENOBUFS'), { code: 'ENOBUFS', syscall: 'accept' }))
  expect(bench.refused).toEqual(['overloaded'])
  expect((await post(bench.url())).status).toBe(200)
})

describe('GET /healthz', () => {
  const healthOf = async (bench: Bench, method = 'GET') => (await fetch(`${bench.origin}/healthz`, { method })).status

  test('says whether callbacks are to be sent here, and is no callback', async () => {
    let healthy = true
    const bench = await receiverBench({}, { healthy: () => healthy })
    expect([await healthOf(bench), await healthOf(bench, 'HEAD')]).toEqual([200, 200])
    healthy = false
    expect(await healthOf(bench)).toBe(503)
    expect(await healthOf(bench, 'POST')).toBe(404)
    expect(bench.refused).toEqual(['path'])
  })
})

describe('what was refused', () => {
  test('is reported at once, then once a minute with its reasons and counts, and at the end', async () => {
    const clock = new ManualClock()
    const bench = await receiverBench({ addressRefusals: 1e6 }, { clock })
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

  test('because the bus failed names the error by its code and place, without what it says', async () => {
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
