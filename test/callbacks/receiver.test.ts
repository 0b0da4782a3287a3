import { gzipSync } from 'node:zlib'
import { describe, expect, test } from 'vitest'
import { callback, dayMs, eventually, post, postHead, rawConnection, receiverBench } from '../support/callbacks.ts'

describe('a callback of one message', () => {
  test('is answered 200 and becomes a status event', async () => {
    const bench = await receiverBench()
    const response = await post(bench.url())
    expect([response.status, await response.text()]).toEqual([200, ''])
    expect(bench.events()).toMatchObject([{ id: 42n, state: 'DELIVERED', verified: true, receivedAt: bench.now }])
    expect(bench.accepted).toEqual([
      { type: 'sms', state: 'DELIVERED', verified: true, contradicts: false, commandType: 'sms', country: 'UA' },
    ])
  })

  test('whose status contradicts its success is counted, and kept unchanged', async () => {
    const bench = await receiverBench()
    await post(bench.url(), callback({ status: 'DELIVERED', success: false }))
    await post(bench.url(), callback({ status: 'SEEN', success: false }))
    const failed = { type: 'sms', state: 'FAILED', verified: true, commandType: 'sms', country: 'UA' }
    expect(bench.accepted).toEqual([
      { ...failed, contradicts: true },
      { ...failed, contradicts: false },
    ])
    expect(bench.events()[0]).toMatchObject({ status: 'DELIVERED', success: false, state: 'FAILED', final: true })
  })

  test('is answered only after the bus has confirmed its event', async () => {
    const bench = await receiverBench()
    bench.bus.held = true
    let answered = false
    const response = post(bench.url()).then(({ status }) => {
      answered = true
      return status
    })
    await eventually(() => expect(bench.bus.calls).toHaveLength(1))
    expect((await fetch(bench.origin)).status).toBe(405)
    expect(answered).toBe(false)
    bench.bus.calls[0]!.resolve()
    expect(await response).toBe(200)
  })

  test('measures the delivery latency since its address was made', async () => {
    const bench = await receiverBench()
    const url = bench.url()
    bench.now += 90_000
    await post(url)
    await post(url, callback({ status: 'EXPIRED', success: false }))
    expect(bench.latencies).toEqual([{ type: 'sms', country: 'UA', seconds: 90 }])
    bench.now -= 95_000 // by the clock of another process
    await post(url)
    expect(bench.latencies[1]).toMatchObject({ seconds: 0 })
  })

  test('of a channel that is not known is counted under one name, whatever its sender calls it', async () => {
    const bench = await receiverBench()
    await post(bench.url(), callback({ type: 'carrier pigeon' }))
    expect(bench.accepted).toMatchObject([{ type: 'other', commandType: 'sms' }])
    expect(bench.events()).toMatchObject([{ type: 'carrier pigeon' }])
  })

  test('that busgate doctor tries is answered like any other, and not counted', async () => {
    const bench = await receiverBench()
    expect((await post(bench.url({ id: 0n }), 'no JSON')).status).toBe(400)
    expect(bench.refused).toEqual([])
    expect((await post(bench.url({ id: 1n }), 'no JSON')).status).toBe(400)
    expect((await post(bench.accountUrl('shop'), 'no JSON')).status).toBe(400)
    expect(bench.refused).toEqual(['bad_json', 'bad_json'])
  })

  test('has the same event id when it is repeated, and a different one from any other callback', async () => {
    const bench = await receiverBench()
    const callbacks = [
      ...[callback(), callback(), callback({ status: 'READ' }), callback({ updated: '2026-03-14T12:00:00Z' })],
      ...[callback({ reply: '5' }), callback({ price: 0.05 }), callback({ success: false })],
    ]
    for (const body of callbacks) await post(bench.url({ trace: null }), body)
    bench.now += 1000
    await post(bench.url({ correlationId: null }), callback())
    await post(bench.url({ id: 43n }), callback({ id: '43' }))
    await post(bench.accountUrl('default'), callback())
    const [first, again, ...others] = bench.events().map(({ eventId }) => eventId)
    const later = others.splice(5, 1)
    expect([again, ...later]).toEqual([first, first])
    expect(new Set([first, ...others]).size).toBe(1 + others.length)
  })

  test('is accepted with a query behind its address', async () => {
    const bench = await receiverBench()
    expect((await post(`${bench.url()}?attempt=2`)).status).toBe(200)
  })

  test.each([
    'application/x-www-form-urlencoded',
    'text/plain',
    'text/json; charset=utf-8',
    'application/jsonp',
    '*/*',
    '',
  ])('is accepted with the content type %s', async type => {
    const bench = await receiverBench()
    expect((await post(bench.url(), callback(), { 'content-type': type })).status).toBe(200)
    expect(bench.events()).toMatchObject([{ id: 42n, state: 'DELIVERED' }])
  })
})

test('a callback on which busgate itself fails is answered 503, and the next one is accepted', async () => {
  const bench = await receiverBench()
  const [url, { keys }] = [bench.url(), bench]
  Object.defineProperty(bench, 'keys', {
    configurable: true,
    get() {
      throw new TypeError('a bug')
    },
  })
  const response = await post(url)
  expect([response.status, response.headers.get('retry-after')]).toEqual([503, '5'])
  expect(bench.refused).toEqual(['failed'])
  Object.defineProperty(bench, 'keys', { value: keys })
  expect((await post(url)).status).toBe(200)
  expect(bench.events()).toHaveLength(1)
})

describe("a callback to an account's address", () => {
  test('is answered 503 if the dead letter could not be written', async () => {
    const bench = await receiverBench({ publishMs: 30 })
    bench.bus.fail = new Error('not enough replicas')
    const told: unknown[] = []
    bench.telemetry.on('deadLetter.published', event => told.push(event))
    const response = await post(bench.accountUrl('shop'), { success: true })
    expect([response.status, told]).toEqual([503, []])
    expect(response.headers.get('retry-after')).toBe('5')
    Object.assign(bench.bus, { fail: null, held: true })
    expect((await post(bench.accountUrl('shop'), { success: true })).status).toBe(503)
  })

  test('without a command of ours is published as a dead letter, unchanged, and counted once', async () => {
    const bench = await receiverBench()
    const told: unknown[] = []
    bench.telemetry.on('deadLetter.published', event => told.push(event))
    expect((await post(bench.accountUrl('shop'), '{ "success": true }')).status).toBe(200)
    const letters = bench.bus.recordsOf('dead-letters')
    expect(letters.map(({ value, headers }) => [String(value), headers?.code])).toEqual([
      ['{ "success": true }', 'NO_NUMERIC_ID'],
    ])
    expect(told).toEqual([{ stage: 'callback', code: 'NO_NUMERIC_ID', count: 1, first: null }])
    expect(bench.accepted).toEqual([])
  })
})

describe('an address', () => {
  test('that has expired is not found', async () => {
    const bench = await receiverBench()
    const url = bench.url()
    bench.now += 31 * dayMs
    expect((await post(url)).status).toBe(404)
    expect(bench.refused).toEqual(['expired'])
  })

  test.each(['GET', 'PUT', 'DELETE', 'HEAD', 'OPTIONS'])('answers 405 to %s', async method => {
    const bench = await receiverBench()
    const response = await fetch(bench.url(), { method })
    expect(response.status).toBe(405)
    expect(response.headers.get('allow')).toBe('POST')
    expect(bench.refused).toEqual(['method'])
  })
})

describe('a body', () => {
  test.each([
    ['text', 'DELIVERED', 'bad_json'],
    ['the fields of a form', 'success=true&id=42', 'bad_json'],
    ['nothing', '', 'bad_json'],
    ['cut JSON', '{"success":true', 'bad_json'],
    ['a list', '[]', 'bad_body'],
    ['null', 'null', 'bad_body'],
    ['an object without success', '{"id":"42"}', 'bad_body'],
    ['success as text', '{"success":"true"}', 'bad_body'],
    ['two objects', '{"success":true}{"success":true}', 'bad_json'],
    ['a number that JSON does not have', '{"success":true,"x":NaN}', 'bad_json'],
    ['an object behind two byte order marks', '\ufeff\ufeff{"success":true}', 'bad_json'],
  ])('that can never become an event is answered 400: %s', async (_, body, reason) => {
    const bench = await receiverBench()
    expect((await post(bench.url(), body)).status).toBe(400)
    expect(bench.refused).toEqual([reason])
    expect(bench.bus.calls).toHaveLength(0)
  })

  test('that is compressed is answered 400', async () => {
    const bench = await receiverBench()
    const answer = await fetch(bench.url(), {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'content-encoding': 'gzip' },
      body: gzipSync(JSON.stringify(callback())),
    })
    expect([answer.status, await answer.text()]).toEqual([400, 'the body is not UTF-8, or is compressed\n'])
    expect(bench.refused).toEqual(['not_utf8'])
  })

  test('of 10 MB is answered 413', async () => {
    const bench = await receiverBench()
    expect((await post(bench.url(), 'x'.repeat(10_000_000))).status).toBe(413)
    expect(bench.refused).toEqual(['too_large'])
  })

  test('with a Content-Length of 10 MB is answered 413 before it arrives', async () => {
    const bench = await receiverBench({ headersMs: 500, requestMs: 1000 })
    const raw = rawConnection(bench.receiver.port)
    raw.write(postHead(bench.url(), 'Content-Length: 10000000'))
    await eventually(() => expect(raw.received).toMatch(/^HTTP\/1\.1 413 /))
    await eventually(() => expect(raw.closed).toBe(true))
  })

  test('in chunks is answered 413 once it is too large', async () => {
    const bench = await receiverBench()
    const raw = rawConnection(bench.receiver.port)
    raw.write(postHead(bench.url(), 'Transfer-Encoding: chunked'))
    raw.write(`11000\r\n${'x'.repeat(0x11000)}\r\n`)
    await eventually(() => expect(raw.received).toMatch(/^HTTP\/1\.1 413 /))
  })

  test('of exactly 64 KiB is accepted', async () => {
    const bench = await receiverBench()
    const frame = JSON.stringify(callback({ error: '' })).length
    const body = JSON.stringify(callback({ error: 'x'.repeat(65_536 - frame) }))
    expect((await post(bench.url(), body)).status).toBe(200)
    expect((await post(bench.url(), `${body} `)).status).toBe(413)
  })
})
