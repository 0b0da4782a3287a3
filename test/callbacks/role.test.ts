import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test, vi } from 'vitest'
import { type BusRecord, BusUnavailable } from '../../src/bus/port.ts'
import { tokensOf } from '../../src/callbacks/role.ts'
import { createWorker, type Worker } from '../../src/create-worker.ts'
import { createLogger } from '../../src/telemetry/logger.ts'
import { openMemoryBus } from '../support/bus.ts'
import { callback, eventually, hookSubject, post, postHead, rawConnection } from '../support/callbacks.ts'
import { busgate } from '../support/cli.ts'
import { asStable } from '../support/events.ts'
import { buildSettings } from '../support/settings.ts'

const secret = 'k1:a-secret-of-the-tests'

/** Prepares a process with only the role `callbacks`, on its own bus. */
async function startReceiving(callbacks: object) {
  const settings = buildSettings({
    roles: ['callbacks'],
    callbacks: { host: '127.0.0.1', port: 0, ...callbacks },
    telemetry: { host: '127.0.0.1', port: 0 },
  })
  const { kafka, topics } = settings
  const { bus, telemetry } = openMemoryBus([topics.statuses, topics.deadLetters], kafka)
  const published: BusRecord[] = []
  const deadLetters: BusRecord[] = []
  const reader = await bus.read([topics.statuses, topics.deadLetters], 'earliest', ({ topic }, records) => {
    ;(topic === topics.statuses ? published : deadLetters).push(...records)
  })
  onTestFinished(() => reader.close())
  const logged: string[] = []
  const logger = createLogger('trace', { write: line => logged.push(line) })
  const start = async () => {
    const worker = await createWorker(settings, { bus, telemetry: asStable(telemetry), logger })
    onTestFinished(() => worker.close())
    const origin = `http://127.0.0.1:${worker.ports.callbacks}`
    const at = (path: string) => fetch(`http://127.0.0.1:${worker.ports.telemetry}${path}`)
    const metric = async (name: string) => {
      const line = (await (await at('/metrics')).text()).split('\n').find(one => one.startsWith(`busgate_${name} `))
      return line === undefined ? 0 : Number(line.split(' ')[1])
    }
    return { worker, origin, at, metric }
  }
  return { settings, bus, published, deadLetters, logged, start, tokens: tokensOf(settings)! }
}

/** Writes a secret to a file, which is removed at the end of the test. */
function secretFile(text: string) {
  const folder = mkdtempSync(join(tmpdir(), 'busgate-hooks-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const path = join(folder, 'secret')
  writeFileSync(path, text)
  return { path, rewrite: (next: string) => writeFileSync(path, next) }
}

const addressOf = (kid: string) => {
  const tokens = tokensOf(buildSettings({ callbacks: { secret: `${kid}:secret-of-${kid}-for-tests` } }))!
  return `/hooks/${tokens.issue(hookSubject())}`
}

test('keys can rotate without a restart: after the file changes, old and new addresses are valid', async () => {
  const file = secretFile('old:secret-of-old-for-tests')
  const { tokens, start } = await startReceiving({ secretFile: file.path })
  const { origin, metric, at } = await start()
  const statusAt = async (path: string) => (await post(origin + path)).status
  const [old, fresh] = [addressOf('old'), addressOf('new')]
  const early = await post(origin + fresh)
  expect([await statusAt(old), early.status, early.headers.get('retry-after')]).toEqual([200, 503, '30'])
  expect(await metric('callback_rejections_total{reason="unknown_key"}')).toBe(1)

  file.rewrite('new:secret-of-new-for-tests\nold:secret-of-old-for-tests\n')
  await vi.waitFor(async () => expect(await statusAt(fresh)).toBe(200), { timeout: 60_000, interval: 50 })
  expect(await statusAt(old)).toBe(200)
  expect(Buffer.from(tokens.issue(hookSubject()), 'base64url').toString('latin1', 2, 5)).toBe('new')

  file.rewrite('not a key at all')
  const warned = async () => {
    expect(await statusAt(old)).toBe(200)
    const { warnings } = (await (await at('/readyz')).json()) as { warnings: string[] }
    expect(warnings).toEqual([
      expect.stringContaining('callbacks.secretFile has no valid value now (item 1: expected kid:secret'),
    ])
  }
  await vi.waitFor(warned, { timeout: 60_000, interval: 50 })
  expect([await statusAt(old), await statusAt(fresh)]).toEqual([200, 200])

  file.rewrite('new:secret-of-new-for-tests\n')
  await vi.waitFor(async () => expect(await statusAt(old)).toBe(503), { timeout: 60_000, interval: 50 })
  expect(await statusAt(fresh)).toBe(200)
})

test('a receiver that stops is not ready, answers callbacks in flight, and closes its port', async () => {
  const { bus, published, tokens, start } = await startReceiving({ secret })
  const publisher = await bus.publisher()
  const { promise: confirmed, resolve: confirm } = Promise.withResolvers<void>()
  let isClosed = false
  bus.publisher = async () => ({
    ...publisher,
    async publish(records) {
      await confirmed
      if (isClosed) throw new Error('the publisher is closed')
      await publisher.publish(records)
    },
    async close() {
      isClosed = true
    },
  })
  const { worker, origin, at } = await start()
  const url = `${origin}/hooks/${tokens.issue(hookSubject())}`
  const body = JSON.stringify(callback())
  const inFlight = rawConnection(worker.ports.callbacks!)
  inFlight.write(postHead(url, `Content-Length: ${body.length}`) + body)
  const slow = rawConnection(worker.ports.callbacks!)
  slow.write(postHead(url, `Content-Length: ${body.length}`) + body.slice(0, 9))
  await eventually(async () => expect((await fetch(origin)).status).toBe(405))

  const stopping = worker.close()
  const readyz = await at('/readyz')
  expect([readyz.status, await readyz.json()]).toEqual([
    503,
    { ready: false, started: true, reasons: ['stopping'], paused: [], withdrawn: [], warnings: [] },
  ])
  await eventually(async () => {
    const [error] = await once(connect(worker.ports.callbacks!, '127.0.0.1'), 'error')
    expect(error.code).toBe('ECONNREFUSED')
  })
  expect((await at('/readyz')).status).toBe(503)
  slow.write(body.slice(9))
  confirm()
  await eventually(() => expect([inFlight.closed, slow.closed]).toEqual([true, true]))
  for (const { received } of [inFlight, slow]) expect(received).toMatch(/^HTTP\/1\.1 200 OK\r\n.*connection: close/is)
  await stopping
  await eventually(() => expect(published).toHaveLength(2))
})

test('a receiver is not ready while the bus confirms nothing', async () => {
  const { bus, tokens, start } = await startReceiving({ secret })
  const publisher = await bus.publisher()
  let isAway = false
  const publish: typeof publisher.publish = async records => {
    if (isAway) throw new Error('no broker answers')
    await publisher.publish(records)
  }
  bus.publisher = async () => ({ ...publisher, publish })
  const { origin, at, metric } = await start()
  const send = async () => (await post(`${origin}/hooks/${tokens.issue(hookSubject())}`, callback())).status
  const readiness = async () => {
    const { ready, started, reasons } = (await (await at('/readyz')).json()) as ReturnType<Worker['ready']>
    return [ready, started, reasons, await metric('ready{role="callbacks"}')]
  }
  expect([await send(), ...(await readiness())]).toEqual([200, true, true, [], 1])
  isAway = true
  const reasons = ['callbacks cannot be published: no broker answers']
  expect([await send(), ...(await readiness())]).toEqual([503, false, true, reasons, 0])
  isAway = false
  expect([await send(), ...(await readiness())]).toEqual([200, true, true, [], 1])
})

test('a receiver without traffic notices when the bus becomes unavailable, and when it is back', async () => {
  const { bus, start } = await startReceiving({ secret })
  const { at } = await start()
  const readiness = async () => (await (await at('/readyz')).json()) as ReturnType<Worker['ready']>
  const lookAt = vi.spyOn(bus, 'lookAt').mockRejectedValue(new BusUnavailable('no broker answers'))
  const reasons = ['callbacks cannot be published: no broker answers']
  await vi.waitFor(async () => expect(await readiness()).toMatchObject({ ready: false, reasons }), 60_000)
  lookAt.mockResolvedValue({ id: '', partitions: 1, leaderless: [0] })
  const leaderless = expect.stringContaining('has partitions without a leader')
  await vi.waitFor(async () => expect((await readiness()).reasons).toEqual([leaderless]), 60_000)
  lookAt.mockRestore()
  await vi.waitFor(async () => expect(await readiness()).toMatchObject({ ready: true }), 60_000)
})

test('a receiver whose topics are missing does not start, and names them', async () => {
  const { bus, settings, start } = await startReceiving({ secret })
  bus.partitions = async () => new Map([[settings.topics.deadLetters, 1]])
  await expect(start()).rejects.toThrow(`missing on the bus: ${settings.topics.statuses}`)
})

test("a status event repeats neither the account's key nor a phone that its callback names", async () => {
  const { published, tokens, start } = await startReceiving({ secret })
  const { origin } = await start()
  const error = 'test-key may not send to +380 67 111-22-33'
  const body = callback({ status: 'UNDELIVERABLE', error, phone: 380671112233, note: { 'test-key': [error] } })
  expect((await post(`${origin}/hooks/${tokens.issue(hookSubject())}`, body)).status).toBe(200)
  await eventually(() => expect(published).toHaveLength(1))
  const event = published[0]!.value!.toString()
  expect(event).toContain('*** may not send to +***')
  expect(event).toContain('{"phone":"***","note":{"***":["*** may not send to +***"]}}')
})

test('no part of an address, key or body gets into logs, metrics or answers', async () => {
  const { settings, bus, logged, deadLetters, start } = await startReceiving({ secret })
  const { origin, at } = await start()
  const tokens = tokensOf(settings)!
  const words = { correlationId: 'zebra-correlation', tenant: 'zebra-tenant' }
  const token = tokens.issue(hookSubject({ id: 380671230067n, ...words }))
  const accountToken = tokens.issueAccount('default')
  const url = `${origin}/hooks/${token}`
  const body = callback({ id: '380671230067', error: 'zebra-error', reply: 'zebra-reply', type: 'zebra-type' })
  const responses: string[] = []
  const send = async (...[to, what, headers]: Parameters<typeof post>) => {
    const answer = await post(to, what ?? body, headers)
    responses.push([...answer.headers].join() + (await answer.text()))
    return answer.status
  }
  const statuses = [
    await send(url),
    await send(`${url.slice(0, -1)}${url.endsWith('A') ? 'B' : 'A'}`),
    await send(url.slice(0, -4)),
    await send(url, callback({ id: '1', error: 'zebra-error' })),
    await send(url, '{"zebra'),
    await send(url, { zebra: '380671230067' }),
    await send(`${origin}/hooks/account/default/${accountToken}`),
    await send(`${origin}/hooks/account/default/${accountToken}`, callback({ id: 'zebra-380671230067' })),
    await send(`${origin}/hooks/account/zebra/${accountToken}`),
    await send(origin + addressOf('other')),
  ]
  expect(statuses).toEqual([200, 404, 404, 404, 400, 400, 200, 200, 404, 503])
  const publisher = await bus.publisher()
  bus.publisher = async () => ({ ...publisher, publish: async () => Promise.reject(new Error(`zebra ${token}`)) })
  const broken = await start()
  expect(await send(`${broken.origin}/hooks/${token}`)).toBe(503)

  const metrics = await (await at('/metrics')).text()
  expect(metrics).toContain('busgate_callbacks_total{type="other",state="DELIVERED",verified="true"} 1')
  for (const [reason, count] of Object.entries({ forged: 3, other_id: 1, bad_json: 1, bad_body: 1 })) {
    expect(metrics).toContain(`busgate_callback_rejections_total{reason="${reason}"} ${count}`)
  }
  expect(logged.join('')).toContain('"event":"callback.refused"')
  await eventually(() => expect(logged.join('')).toContain('"event":"callbacks.refused","counts":{"not_published":1}'))
  const key = secret.slice(3)
  for (const hidden of ['zebra', token, token.slice(0, 40), accountToken, key, '380671230067', 'order-7', 'acme']) {
    for (const text of [metrics, logged.join(''), responses.join()]) expect(text).not.toContain(hidden)
  }
  await eventually(() => expect(deadLetters).toHaveLength(1))
  expect(String(deadLetters[0]!.headers['busgate.error.message'])).not.toContain('zebra')
})

test("a callback about another system's message becomes a dead letter of the stage callback", async () => {
  const { tokens, deadLetters, start } = await startReceiving({ secret })
  const { origin, metric } = await start()
  const body = '{ "success": true, "id": "invoice-17", "type": "whatsapp" }'
  const answer = await post(`${origin}/hooks/account/default/${tokens.issueAccount('default')}`, body)
  expect(answer.status).toBe(200)
  await eventually(() => expect(deadLetters).toHaveLength(1))
  const { value, headers } = deadLetters[0]!
  expect(String(value)).toBe(body)
  expect(Object.fromEntries(Object.entries(headers).map(([name, text]) => [name, String(text)]))).toEqual({
    'busgate.error.stage': 'callback',
    'busgate.error.code': 'NO_NUMERIC_ID',
    'busgate.error.message': expect.stringContaining('account default'),
    'busgate.error.timestamp': expect.stringMatching(/^\d{13}$/),
  })
  expect(await metric('dead_letters_total{stage="callback",code="NO_NUMERIC_ID"}')).toBe(1)
})

test('busgate hooks url prints an address that receivers with the same secret accept, for its account only', async () => {
  const { start } = await startReceiving({ secret })
  const { origin } = await start()
  const env = {
    BUSGATE_CALLBACKS_PUBLIC_URL: origin,
    BUSGATE_CALLBACKS_SECRET: secret,
    BUSGATE_GATEWAY_ACCOUNTS_SHOP_API_KEY: 'key-of-shop',
  }
  const { code, stdout } = await busgate(['hooks', 'url', '--account', 'shop'], { env })
  expect(code).toBe(0)
  const url = stdout.trim()
  expect((await post(url, callback({ id: 7 }))).status).toBe(200)
  expect((await post(url.replace('/shop/', '/bank/'), callback({ id: 7 }))).status).toBe(404)
})
