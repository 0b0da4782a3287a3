import { createServer } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { createWorker } from '../../src/create-worker.ts'
import type { SendCommand } from '../../src/records/generated.ts'
import { confluentRegistry } from '../../src/records/registry.ts'
import { startRegistry } from '../records/registry-server.ts'
import { until } from '../support/bus.ts'
import { canary, captureOutput, leaksIn } from '../support/canary.ts'
import { buildCommandOf } from '../support/commands.ts'
import { type ProxyAnswer, type ReverseProxy, startProxy } from '../support/reverse-proxy.ts'
import { portOf } from '../support/scripted-server.ts'
import { buildSettings } from '../support/settings.ts'
import { startWorld, type World } from '../support/worker.ts'

const { phone, text, code, key, secret, correlation: correlationId, tenant } = canary
/** Easy to search for, and too short to be masked like numbers of nine digits or more. */
const knownId = 48_151_623
const echo = `${text} to ${phone} with ${key} for ${tenant}`

const sms = (id: number, overrides: Partial<SendCommand> = {}) =>
  buildCommandOf('sms', { id: BigInt(id), phone, correlationId, tenant, ...overrides }, { sms_message: text })

/** Everything that the process answers over HTTP. */
async function httpOutputOf(world: World): Promise<string> {
  const base = `http://127.0.0.1:${world.worker.ports.telemetry}`
  const paths = ['/metrics', '/healthz', '/readyz', `/${text}`]
  const texts = await Promise.all(paths.map(async path => (await fetch(base + path)).text()))
  return texts.join('\n')
}

/** The hook tokens in the requests, and parts of them. */
function tokensIn(proxy: ReverseProxy): string[] {
  const tokens = proxy.requests.flatMap(({ body }) =>
    [...body.matchAll(/\/hooks\/([\w-]+)/g)].map(([, token]) => token!),
  )
  return tokens.flatMap(token => [token.slice(0, 30), token.slice(-30)])
}

const json = (body: object): ProxyAnswer => ({ body: JSON.stringify(body) })

test('no content, key or token appears in logs, metrics or errors', async () => {
  const output = captureOutput()
  const world = await startWorld({
    logger: output.logger,
    settings: { gateway: { apiKey: key }, callbacks: { secret } },
    sandbox: { keys: [key] },
  })
  await world.send([
    sms(knownId),
    sms(knownId), // a duplicate
    sms(1),
    sms(2, { phone: phone + 25 }), // refused by the gateway
    sms(3, { deadline: 1 }),
    sms(1),
    sms(4, { account: text }),
    sms(5, { phone: phone * 1000 }),
    sms(6, { extra: { note: `${text} is not JSON` } }),
    sms(7, { extra: { hook: JSON.stringify(text) } }),
    sms(8, { hook: `not an address: ${text}` }),
    buildCommandOf('viber', { id: 9n, phone }, { viber_type: text, viber_message: text }),
    buildCommandOf('telegram', { id: 10n, phone }, { message: text }),
    buildCommandOf('call/otp', { id: 11n, phone }),
    buildCommandOf('hlr', { id: 12n, phone }),
  ])
  const letters = [
    Buffer.from(`{"phone":${phone},"text":"${text}"}`),
    world.encode(sms(13)).subarray(0, 60),
    Buffer.concat([world.encode(sms(14)), Buffer.from(text)]),
    Buffer.concat([Buffer.from([0, 9, 9, 9, 9]), Buffer.from(text)]),
    null,
  ]
  for (const value of letters) {
    await world.produceRaw(value, { key: Buffer.from(String(phone)), headers: { phone: String(phone), text } })
  }
  await world.finished(15)
  await until(() => expect(world.deadLetters()).toHaveLength(letters.length))

  for (const { outcome, error } of world.results()) if (outcome !== 'REJECTED') output.add(String(error))
  for (const { headers } of world.deadLetters()) output.add(String(headers['busgate.error.message']))
  output.add(await httpOutputOf(world))
  await world.quiet()
  expect(world.results().filter(({ outcome }) => outcome === 'INVALID').length).toBeGreaterThanOrEqual(5)
  expect([...output.events()]).toEqual(
    expect.arrayContaining(['session.opened', 'results.published', 'deadLetter.published', 'envelope.finished']),
  )
  expect(leaksIn(output.all(), [String(phone + 25), String(knownId)])).toEqual([])
})

test('nothing that a gateway echoes appears in logs or metrics', async () => {
  const output = captureOutput()
  const proxy = await startProxy()
  const world = await startWorld({
    gateway: proxy,
    logger: output.logger,
    settings: {
      gateway: { apiKey: key, timeoutMs: 300, balanceIntervalMs: 10 },
      doubts: { waitMs: 15 },
      callbacks: { secret },
    },
    sandbox: { keys: [key] },
  })
  const item = (value: object) => json({ success: true, data: [value] })
  const answers: (() => ProxyAnswer)[] = [
    () => item({ success: false, error: echo }),
    () => json({ success: false, error: echo }),
    () => json({ success: false, error: 'Access denied', note: echo }),
    () => ({ status: 502, body: `<html>${echo}` }),
    () => ({ status: 429, body: echo, headers: { 'retry-after': echo } }),
    () => ({ status: 401, body: echo, headers: { location: echo.replaceAll(' ', '+') } }),
    () => ({ body: echo }),
    () => ({ body: `{"success":true,"data":[${echo}` }),
    () => json({ success: true, data: [], [text]: echo }),
    () => item({ success: true, data: { id: phone, msg_id: text, parts: text, note: echo } }),
  ]
  let good = false
  proxy.answer = ({ body }) => {
    if (body.includes('"type":"balance"')) return item({ success: true, data: { amount: 5, currency: echo } })
    if (body.includes('"type":"status"')) return item({ success: false, error: echo, data: { status: text } })
    if (body.includes('"type":"call/otp"')) return item({ success: true, data: { code, price: 1 } })
    good = !good // otherwise each pause of the account would be longer
    return good ? undefined : answers.shift()?.()
  }
  for (let id = 1; answers.length > 0; id++) {
    const { length } = proxy.requests
    await world.send([sms(id)])
    await until(() => expect(proxy.requests.length).toBeGreaterThan(length))
    output.add(await httpOutputOf(world))
  }
  await world.send([buildCommandOf('call/otp', { id: 1000n, phone })])
  for (const [i, fault] of (['stall', 'reset-after', 'reset-before', 'truncated-json'] as const).entries()) {
    world.sandbox.faults.next(fault)
    await world.send([sms(knownId + i)])
    await until(() => expect(world.results().some(({ id }) => id === BigInt(knownId + i))).toBe(true))
  }
  await until(() => {
    const wanted = ['account.paused', 'account.resumed', 'doubt.opened', 'status.polled', 'balance.read']
    expect([...output.events()]).toEqual(expect.arrayContaining(wanted))
    expect(world.resultOf(1000).code).toBe(code)
  })
  for (const { outcome, error } of world.results()) if (outcome === 'IN_DOUBT') output.add(String(error))
  output.add(await httpOutputOf(world))
  await world.quiet()
  const ids = [0, 1, 2, 3].map(i => String(knownId + i))
  expect(leaksIn(output.all(), [...tokensIn(proxy), ...ids])).toEqual([])
})

test.each([
  ['as it is', (body: string) => body],
  ['in JSON', (body: string) => JSON.stringify(body)],
  ["in PHP's JSON", (body: string) => JSON.stringify(body).replaceAll('/', '\\/').replaceAll('e', '\\u0065')],
  ['in an address', encodeURIComponent],
])('no result repeats key, phone or text if the gateway repeats the request %s', async (_, spell) => {
  const output = captureOutput()
  const proxy = await startProxy()
  const settings = { gateway: { apiKey: key, maxOperations: 1 }, commands: { maxAgeMs: 60_000 } }
  const world = await startWorld({ logger: output.logger, gateway: proxy, settings, sandbox: { keys: [key] } })
  const item = (value: object) => json({ success: true, data: [value] })
  proxy.answer = ({ body }) => {
    const told = spell(body)
    if (body.includes('"type":"balance"')) return item({ success: false, error: told })
    if (body.includes('"id":1,')) return item({ success: false, error: told })
    if (body.includes('"id":2,')) return item({ success: false, error: { code: 7, of: [told, phone] } })
    if (body.includes('"id":3,'))
      return item({ success: true, data: { msg_id: 'm3', [told]: told, to: phone, on: [text] } })
    if (body.includes('"id":4,')) return item({ success: true, data: told })
    return json({ success: false, error: told })
  }
  await world.send([sms(1), sms(2), sms(3), sms(4), buildCommandOf('hlr', { id: 5n, phone })])
  await world.finished(4)
  await until(() => expect(proxy.requests.some(({ body }) => body.includes('"type":"hlr"'))).toBe(true))
  output.add(await httpOutputOf(world))
  for (const { error, payload } of world.results()) output.add(`${error} ${payload}`)
  expect(world.resultOf(1)).toMatchObject({ outcome: 'REJECTED', errorCode: 'REJECTED' })
  expect(world.resultOf(3)).toMatchObject({ outcome: 'SENT', msgId: 'm3', payload: expect.stringContaining('***') })
  expect(leaksIn(output.all(), tokensIn(proxy))).toEqual([])
})

test('neither password nor messages appear in the log if a schema registry refuses, fails or echoes', async () => {
  const output = captureOutput()
  const server = await startRegistry()
  onTestFinished(server.stop)
  const registry = confluentRegistry({ url: server.url, username: 'busgate', password: canary.registryPassword })
  const world = await startWorld({
    ...{ logger: output.logger, registry },
    sandbox: { keys: [key] },
    settings: { gateway: { apiKey: key } },
  })
  const own = (id: number) => {
    const value = world.encode(sms(id))
    value.writeUInt32BE(100 + id, 1) // an unknown schema
    return value
  }
  for (const [id, status] of [401, 500, 503].entries()) {
    server.fail((_, response) =>
      response.writeHead(status).end(status === 500 ? 'something broke' : '{"message":"no"}'),
    )
    await world.produceRaw(own(id))
    await until(() => expect(server.requests).toContain(`GET /schemas/ids/${100 + id}`))
  }
  server.put(100, { schema: JSON.stringify({ type: 'record', name: 'SendCommand', doc: text, fields: [] }) })
  server.put(101, { schema: `{"type": ${text}` })
  server.fail()
  await until(() => expect(world.deadLetters()).toHaveLength(3))
  for (const { headers } of world.deadLetters()) output.add(String(headers['busgate.error.message']))
  output.add(await httpOutputOf(world))
  await world.quiet()
  expect([...output.events()]).toContain('registry.unavailable')
  expect(leaksIn(output.all())).toEqual([])
})

test('neither password nor key appears in the log if the brokers refuse the login', async () => {
  const output = captureOutput()
  const server = createServer(socket => socket.on('data', () => socket.destroy()).on('error', () => {}))
  const port = await portOf(server)
  const settings = buildSettings({
    kafka: {
      brokers: `127.0.0.1:${port}`,
      sasl: { mechanism: 'plain', username: 'busgate', password: canary.kafkaPassword },
    },
    registry: { url: 'http://127.0.0.1:1', username: 'busgate', password: canary.registryPassword },
    gateway: { url: 'http://127.0.0.1:1', apiKey: key },
    callbacks: { host: '127.0.0.1', port: 0, publicUrl: 'http://127.0.0.1:1', secret },
    telemetry: { host: '127.0.0.1', port: 0 },
    roles: ['worker'],
  })
  const giveUp = new AbortController()
  const starting = createWorker(settings, { logger: output.logger, signal: giveUp.signal }).then(
    () => null,
    (error: Error) => error,
  )
  await until(() => expect(output.all()).toContain('"event":"bus.unavailable"'))
  giveUp.abort()
  const error = await starting
  output.add(`${error?.stack} ${JSON.stringify(error)}`)
  expect(error).not.toBeNull()
  expect(output.all()).toContain('"event":"bus.log"')
  expect(leaksIn(output.all())).toEqual([])
})
