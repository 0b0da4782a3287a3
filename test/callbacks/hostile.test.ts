import { describe, expect, test, vi } from 'vitest'
import { callback, eventually, post, postHead, rawConnection, receiverBench, wholePost } from '../support/callbacks.ts'

type Bench = Awaited<ReturnType<typeof receiverBench>>
type Raw = ReturnType<typeof rawConnection>

const patiently = (holds: () => unknown) => vi.waitFor(holds, { timeout: 60_000, interval: 20 })

/** Opens connections and waits until all are accepted. */
async function connections(bench: Bench, count: number): Promise<Raw[]> {
  const all = Array.from({ length: count }, () => rawConnection(bench.receiver.port))
  await patiently(() => expect(all.filter(({ socket }) => socket.readyState !== 'open')).toHaveLength(0))
  return all
}

/** Expects an honest callback to be answered during the attack. */
async function expectHonestAnswers(bench: Bench, attack: () => Promise<unknown>): Promise<void> {
  await attack()
  for (let sent = 0; sent < 20; sent++) expect((await post(bench.url())).status).toBe(200)
}

describe('honest callbacks are answered', () => {
  test.each([
    ['an unknown address', (bench: Bench) => `${bench.origin}/hooks/nobody`, 404],
    ['a valid address', (bench: Bench) => bench.url(), 413],
  ])('while attackers send gigabytes to %s, which are hardly read', async (_, target, status) => {
    const bench = await receiverBench()
    let pouring: Raw[] = []
    await expectHonestAnswers(bench, async () => {
      pouring = await connections(bench, 8)
      for (const raw of pouring) pour(raw, postHead(target(bench), 'Content-Length: 10000000000'))
    })
    await patiently(() => expect(pouring.filter(({ closed }) => !closed)).toHaveLength(0))
    expect(pouring.every(({ received }) => received.startsWith(`HTTP/1.1 ${status} `))).toBe(true)
    // The rest stays in the operating system's buffers.
    for (const { socket } of pouring) expect(socket.bytesWritten).toBeLessThan(20_000_000)
  })
})

/** Writes without end, as fast as the receiver reads. */
function pour(raw: Raw, start: string): void {
  const piece = Buffer.alloc(65_536, ' ')
  const more = () => {
    while (raw.socket.writable && raw.socket.write(piece));
  }
  raw.socket.on('drain', more)
  raw.write(start)
  more()
}

describe('a connection', () => {
  test('whose sender offers an upgrade to HTTP/2 is served by HTTP/1.1', async () => {
    const bench = await receiverBench()
    const raw = rawConnection(bench.receiver.port)
    raw.write(wholePost(bench.url(), 'Connection: Upgrade, HTTP2-Settings', 'Upgrade: h2c', 'HTTP2-Settings: AAMAAABk'))
    await eventually(() => expect(raw.received).toMatch(/^HTTP\/1\.1 200 /))
  })

  test('whose sender expects 100-continue gets 100, or the refusal', async () => {
    const bench = await receiverBench()
    const asks = (url: string, length: number) => {
      const raw = rawConnection(bench.receiver.port)
      raw.write(postHead(url, `Content-Length: ${length}`, 'Expect: 100-continue'))
      return raw
    }
    const body = JSON.stringify(callback())
    const good = asks(bench.url(), body.length)
    await eventually(() => expect(good.received).toBe('HTTP/1.1 100 Continue\r\n\r\n'))
    good.write(body)
    await eventually(() => expect(good.received).toContain('HTTP/1.1 200 OK'))
    const large = asks(bench.url(), 10_000_000)
    const forged = asks(`${bench.origin}/hooks/nobody`, body.length)
    await eventually(() => expect(large.received).toMatch(/^HTTP\/1\.1 413 /))
    await eventually(() => expect(forged.received).toMatch(/^HTTP\/1\.1 404 /))
    await eventually(() => expect([large.closed, forged.closed]).toEqual([true, true]))
  })
})

describe('a body', () => {
  test('with a byte order mark is read', async () => {
    const bench = await receiverBench()
    expect((await post(bench.url(), `\ufeff${JSON.stringify(callback())}`)).status).toBe(200)
  })

  test.each([200_000, 1_000_000])(
    'of %i bytes is answered 413, also if its sender reads only after it has sent everything',
    async length => {
      const bench = await receiverBench()
      const raw = rawConnection(bench.receiver.port)
      raw.socket.pause()
      raw.write(postHead(bench.url(), `Content-Length: ${length}`))
      for (let sent = 0; sent < length; sent += 50_000) raw.write(' '.repeat(50_000))
      await patiently(() => expect(raw.socket.writableLength).toBe(0))
      raw.socket.resume()
      await eventually(() =>
        expect([raw.received, raw.closed]).toEqual([expect.stringMatching(/^HTTP\/1\.1 413 /), true]),
      )
    },
  )

  test('that is refused early is read to its end, since a reset would cost its sender the answer', async () => {
    const bench = await receiverBench()
    const raw = rawConnection(bench.receiver.port)
    raw.write(postHead(bench.url(), 'Content-Length: 200000'))
    for (let sent = 0; sent < 3; sent++) {
      raw.write(' '.repeat(50_000))
      await expectHonestAnswers(bench, async () => {}) // the receiver has read the piece since
      expect([raw.received, raw.closed]).toEqual([expect.stringMatching(/^HTTP\/1\.1 413 /), false])
    }
    raw.write(' '.repeat(50_000))
    await eventually(() => expect(raw.closed).toBe(true))
  })

  test("cannot claim another message's id by repeated or inherited JSON fields", async () => {
    const bench = await receiverBench()
    expect((await post(bench.url(), '{"success":true,"id":"42","id":"43"}')).status).toBe(404)
    expect((await post(bench.url(), '{"success":true,"__proto__":{"id":"43"},"id":"43"}')).status).toBe(404)
    expect((await post(bench.url(), '{"success":true,"__proto__":{"status":"READ"}}')).status).toBe(200)
    expect(bench.events()).toMatchObject([{ id: 42n, status: '', state: 'DELIVERED' }])
  })
})

describe('a request target', () => {
  test('that begins with the path of the public address is accepted, as proxies may keep it', async () => {
    const bench = await receiverBench()
    const below = (url: string) => url.replace('/hooks/', '/gate/way/hooks/')
    expect((await post(below(bench.url()))).status).toBe(200)
    expect((await post(below(bench.accountUrl('hooks')), callback({ id: 7 }))).status).toBe(200)
  })

  test('in absolute form, with the host, is accepted, as proxies send it', async () => {
    const bench = await receiverBench()
    const raw = rawConnection(bench.receiver.port)
    const path = new URL(bench.url()).pathname
    raw.write(wholePost(bench.url()).replace(path, `http://hooks.example${path}`))
    await eventually(() => expect(raw.received).toMatch(/^HTTP\/1\.1 200 /))
  })

  test.each(['//', '///', '*', 'http://[::1', '/hooks/%', '/hooks//'])('such as %s is answered 404', async path => {
    const bench = await receiverBench()
    const raw = rawConnection(bench.receiver.port)
    raw.write(`POST ${path} HTTP/1.1\r\nHost: b\r\nContent-Length: 2\r\n\r\n{}`)
    await eventually(() => expect(raw.received).toMatch(/^HTTP\/1\.1 404 /))
  })

  test('of 15 KB that looks like many addresses is answered 404', async () => {
    const bench = await receiverBench()
    for (const part of ['/hooks/', '/hooks/account/']) {
      const path = part.repeat(15_000 / part.length)
      expect((await post(`${bench.origin}${path}x/y/z?/hooks/abc`)).status).toBe(404)
    }
    expect(new Set(bench.refused)).toEqual(new Set(['path']))
  })
})
