import { describe, expect, test, vi } from 'vitest'
import { callback, eventually, post, postHead, rawConnection, receiverBench, wholePost } from '../support/callbacks.ts'

describe('if the bus', () => {
  test('refuses one publish, the callbacks in it are answered 503 and no others', async () => {
    const bench = await receiverBench()
    bench.bus.held = true
    const first = post(bench.url())
    await eventually(() => expect(bench.bus.calls).toHaveLength(1))
    const others = [post(bench.url()), post(bench.url())]
    await eventually(() => expect(bench.opened()).toBe(3))
    bench.bus.held = false
    bench.bus.calls[0]!.reject(new Error('no'))
    expect((await first).status).toBe(503)
    expect((await Promise.all(others)).map(({ status }) => status)).toEqual([200, 200])
  })

  test('does not answer in time, callbacks in flight, in the queue and newly received are answered 503', async () => {
    const bench = await receiverBench({ publishMs: 100 })
    bench.bus.held = true
    const first = post(bench.url())
    await eventually(() => expect(bench.bus.calls).toHaveLength(1))
    const second = post(bench.url())
    expect((await first).status).toBe(503)
    expect((await second).status).toBe(503)
    expect((await post(bench.url())).status).toBe(503)
    expect(bench.bus.calls).toHaveLength(1)

    bench.bus.held = false
    bench.bus.calls[0]!.resolve()
    expect((await post(bench.url())).status).toBe(200)
    expect(bench.bus.calls).toHaveLength(2)
  })

  test('is busy while 300 callbacks arrive, a few publishes carry all of them, each once', async () => {
    const bench = await receiverBench()
    bench.bus.held = true
    const ids = Array.from({ length: 300 }, (_, n) => n + 1)
    const answers = ids.map(id => post(bench.url({ id: BigInt(id) }), callback({ id })))
    await eventually(() => expect(bench.opened()).toBe(300))
    bench.bus.held = false
    bench.bus.calls[0]!.resolve()
    expect((await Promise.all(answers)).every(({ status }) => status === 200)).toBe(true)
    const published = bench.events().map(({ id }) => Number(id))
    expect(published.sort((a, b) => a - b)).toEqual(ids)
    expect(bench.bus.calls.length).toBeLessThan(20)
  })
})

describe('the receiver', () => {
  test('gives up a slow body and closes its connection', async () => {
    const bench = await receiverBench({ headersMs: 500, requestMs: 1000 })
    const raw = rawConnection(bench.receiver.port)
    raw.write(`${postHead(bench.url(), 'Content-Length: 100')}{"success"`)
    await eventually(() => expect(raw.closed).toBe(true))
    expect(raw.received).toMatch(/^HTTP\/1\.1 408 /)
    expect(bench.refused).toEqual(['aborted'])
  })

  test('frees the memory of a body whose sender disconnects', async () => {
    const bench = await receiverBench({ inFlightBytes: 3000 })
    for (let round = 0; round < 5; round++) {
      const raw = rawConnection(bench.receiver.port)
      raw.write(`${postHead(bench.url(), 'Content-Length: 1900')}${' '.repeat(1800)}`)
      await eventually(() => expect(bench.opened()).toBe(round + 1))
      raw.socket.destroy()
      await eventually(() => expect(bench.refused).toHaveLength(round + 1))
    }
    expect(bench.refused).toEqual(Array(5).fill('aborted'))
    expect((await post(bench.url())).status).toBe(200)
  })

  test('answers 503 while more bytes than allowed are in flight', async () => {
    const bench = await receiverBench({ inFlightBytes: 2500 })
    bench.bus.held = true
    const large = callback({ error: 'x'.repeat(1500) })
    const first = post(bench.url(), large)
    await eventually(() => expect(bench.bus.calls).toHaveLength(1))
    const second = await post(bench.url())
    expect(second.status).toBe(503)
    expect(second.headers.get('retry-after')).toBe('5')
    bench.bus.held = false
    bench.bus.calls[0]!.resolve()
    expect((await first).status).toBe(200)
    expect((await post(bench.url(), large)).status).toBe(200)
    expect(bench.refused).toEqual(['overloaded'])
  })

  test('drops unfinished bodies, the oldest first, in favour of new ones', async () => {
    const bench = await receiverBench({ inFlightBytes: 10_000 })
    const slow: ReturnType<typeof rawConnection>[] = []
    for (let i = 1; i <= 12; i++) {
      const raw = rawConnection(bench.receiver.port)
      raw.write(`${postHead(bench.url(), 'Content-Length: 3000')}${' '.repeat(2000)}`)
      await eventually(() => expect(bench.opened()).toBe(2 * i - 1))
      slow.push(raw)
      const answer = await post(bench.url(), callback({ error: 'x'.repeat(1500) }))
      expect(answer.status).toBe(200)
    }
    await eventually(() => expect(slow.slice(0, 8).map(({ closed }) => closed)).toEqual(Array(8).fill(true)))
    expect(slow.at(-1)!.closed).toBe(false)
    expect(new Set(bench.refused)).toEqual(new Set(['aborted']))
  })

  test('closes a connection that is idle for too long', async () => {
    const bench = await receiverBench({}, { keepAliveMs: 50 })
    const raw = rawConnection(bench.receiver.port)
    raw.write(wholePost(bench.url()))
    await eventually(() => expect(raw.received).toMatch(/^HTTP\/1\.1 200 .*Keep-Alive: timeout=/s))
    await vi.waitFor(() => expect(raw.closed).toBe(true), { timeout: 60_000 })
  })
})

describe('closing the receiver', () => {
  test('does not wait for ever for an unfinished body', async () => {
    const bench = await receiverBench({ drainMs: 50 })
    const raw = rawConnection(bench.receiver.port)
    raw.write(postHead(bench.url(), 'Content-Length: 100'))
    await eventually(() => expect(bench.opened()).toBe(1))
    await bench.receiver.close()
    await eventually(() => expect(raw.closed).toBe(true))
  })
})

test('a port in use is an error at start', async () => {
  const { port } = (await receiverBench()).receiver
  await expect(receiverBench({}, { port })).rejects.toThrow(
    `cannot serve callbacks on 127.0.0.1:${port} (EADDRINUSE): set callbacks.host and callbacks.port`,
  )
})
