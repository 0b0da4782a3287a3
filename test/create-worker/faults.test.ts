import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { parseJson } from '../../src/protocol/index.ts'
import { startSandbox } from '../../src/sandbox/index.ts'
import { until } from '../support/bus.ts'
import { buildCommand, silentPhone } from '../support/commands.ts'
import { freePorts } from '../support/local-kafka/ports.ts'
import { startProxy } from '../support/reverse-proxy.ts'
import { httpAnswer, scriptedServer } from '../support/scripted-server.ts'
import { startWorld, type World } from '../support/worker.ts'

const messages = (count: number, from = 1) =>
  Array.from({ length: count }, (_, i) => buildCommand({ id: BigInt(from + i), phone: silentPhone }))

/** The results as `id outcome`, ordered by id. */
const outcomes = (world: World) =>
  world
    .results()
    .toSorted((a, b) => Number(a.id - b.id))
    .map(({ id, outcome }) => `${id} ${outcome}`)

/** Sends a command to a gateway that answers correctly, with `bytes` of padding. */
async function worldAnswered(bytes: number, maxOperations: number): Promise<World> {
  const proxy = await startProxy()
  proxy.answer = ({ body }) => {
    const [{ type, id }] = (parseJson(body) as { data: [{ type: string; id: number }] }).data
    if (type !== 'sms') return undefined
    return { body: `{"success":true,"data":[{"success":true,"data":{"id":${id},"msg_id":7}}]}${' '.repeat(bytes)}` }
  }
  const world = await startWorld({ gateway: proxy, settings: { gateway: { maxOperations } } })
  await world.send(messages(1))
  await until(() => expect(world.results()).not.toHaveLength(0))
  return world
}

test('an answer longer than 4 KiB for each of gateway.maxOperations is not read', async () => {
  expect(outcomes(await worldAnswered(500_000, 200))).toEqual(['1 SENT'])
  expect(outcomes(await worldAnswered(500_000, 100))).toContain('1 IN_DOUBT')
  expect(outcomes(await worldAnswered(250_000, 1))).toEqual(['1 SENT'])
})

describe("if an envelope's outcome is unknown", () => {
  test.each([
    ['the connection was reset before its execution', 'reset-before', 'reset'],
    ['a proxy answered 502', 'http-502', 'http_status'],
    ['the items have unknown ids', 'foreign-ids', 'items_differ'],
  ] as const)('because %s, all its commands are IN_DOUBT and not sent again', async (_, fault, cause) => {
    const opened = vi.fn()
    const world = await startWorld()
    world.worker.telemetry.on('doubt.opened', opened)
    world.sandbox.faults.next(fault)
    await world.send(messages(4).map(command => ({ ...command, correlationId: 'order-7', tenant: 'acme' })))
    await until(() => expect(world.results()).toHaveLength(4))
    await world.send(messages(1, 5))
    await world.finished(1)
    await world.quiet()

    expect(outcomes(world)).toEqual(['1 IN_DOUBT', '2 IN_DOUBT', '3 IN_DOUBT', '4 IN_DOUBT', '5 SENT'])
    expect(world.resultOf(1)).toMatchObject({
      final: false,
      errorCode: 'RESPONSE_LOST',
      msgId: null,
      attempts: 1,
      commandOffset: 0,
      correlationId: 'order-7',
      tenant: 'acme',
      sentAt: expect.any(Number),
    })
    expect(world.sandbox.stats()).toMatchObject({ requests: 2, billedTwice: 0 })
    const counts = opened.mock.calls.map(([event]) => event as { cause: string; count: number })
    expect(counts.map(({ cause }) => cause)).toContain(cause)
    expect(counts.reduce((sum, { count }) => sum + count, 0)).toBe(4)
  })

  test('three times in a row, the account pauses and probes with a single operation', async () => {
    const world = await startWorld({ settings: { gateway: { maxOperations: 3, concurrency: 1 } } })
    world.sandbox.faults.next('reset-after', 3)
    await world.send(messages(9))
    await until(() => expect(world.results()).toHaveLength(9))
    expect(world.worker.ready()).toMatchObject({
      ready: true,
      warnings: [
        expect.stringMatching(
          /^account default has been held back since .*, because the outcome of its requests is unknown/,
        ),
      ],
    })
    await world.send(messages(6, 10))
    await world.finished(6)
    expect(world.worker.ready().ready).toBe(true)
    expect(world.sandbox.log().map(({ operations }) => operations)).toEqual([3, 3, 3, 1, 3, 2])
  })
})

describe('an unusual but definite answer', () => {
  test('with items in another order never pauses the account', async () => {
    const world = await startWorld({ settings: { gateway: { maxOperations: 2, concurrency: 1 } } })
    const paused = vi.fn()
    world.worker.telemetry.on('account.paused', paused)
    world.sandbox.faults.next('items-reordered', 5)
    await world.send(messages(10))
    await world.finished(10)
    expect(paused).not.toHaveBeenCalled()
  })
})

describe('a command that was not sent', () => {
  test.each([
    ['a proxy answers 401', 'http-401', 'unreachable'],
    ['the key is refused', 'access-denied', 'denied'],
    ['the gateway throttles every item', 'throttle', 'throttled'],
  ] as const)('because %s is sent after a back-off', async (_, fault, reason) => {
    const world = await startWorld()
    const paused = vi.fn()
    world.worker.telemetry.on('account.paused', paused)
    world.sandbox.faults.next(fault)
    await world.send(messages(4))
    await world.finished(4)
    await world.quiet()
    expect(outcomes(world)).toEqual(['1 SENT', '2 SENT', '3 SENT', '4 SENT'])
    expect(paused).toHaveBeenCalledWith(expect.objectContaining({ account: 'default', reason }))
    expect(world.sandbox.stats()).toMatchObject({ executed: 4, billedTwice: 0 })
  })

  test('because of a 429 waits as long as Retry-After says', async () => {
    const world = await startWorld()
    const paused = vi.fn()
    world.worker.telemetry.on('account.paused', paused)
    world.sandbox.faults.next('http-429')
    await world.send(messages(1))
    await world.finished(1)
    expect(paused).toHaveBeenCalledWith(expect.objectContaining({ reason: 'throttled', retryInMs: 1000 }))
    const [refused, sent] = world.sandbox.log().map(({ at }) => Date.parse(at)) as [number, number]
    expect(sent - refused).toBeGreaterThanOrEqual(1000)
    expect(world.resultOf(1).attempts).toBe(1)
  })

  test('because of a 413 is sent in halves', async () => {
    const world = await startWorld()
    world.sandbox.faults.next('http-413')
    await world.send(messages(4))
    await world.finished(4)
    expect(outcomes(world)).toEqual(['1 SENT', '2 SENT', '3 SENT', '4 SENT'])
    expect(world.sandbox.log().map(({ operations }) => operations)).toEqual([0, 2, 2])
  })

  test('because of a 413 is REJECTED if it was alone in its envelope', async () => {
    const world = await startWorld()
    world.sandbox.faults.next('http-413')
    await world.send(messages(1))
    await world.finished(1)
    expect(world.resultOf(1)).toMatchObject({ outcome: 'REJECTED', errorCode: 'REJECTED', error: 'HTTP 413' })
  })

  test('because a proxy refuses the sign-in waits, and log and /readyz say so', async () => {
    const proxy = await startProxy()
    const world = await startWorld({ gateway: proxy })
    proxy.answer = () => ({ status: 401, body: '' })
    const causes: string[] = []
    world.worker.telemetry.on('account.paused', ({ error }) => causes.push(error))
    await world.send(messages(1))
    const why = 'HTTP 401: the gateway, or a proxy in front of it, refused the sign-in: check the API key and the proxy'
    await until(() =>
      expect(world.worker.ready().warnings).toEqual([
        expect.stringContaining(`because the gateway cannot be reached (${why}); 1 command waits with it. `),
      ]),
    )
    expect(causes).toContain(why)
    expect(world.results()).toEqual([])
  })

  test('because the gateway is down is sent once it is available', async () => {
    const [port] = await freePorts(1)
    const early = await startSandbox({ port: port! })
    const world = await startWorld({ settings: { gateway: { url: early.url } } })
    await early.close()
    await world.send(messages(10))
    await until(() =>
      expect(world.worker.ready().warnings).toEqual([
        expect.stringMatching(/^account default has been held back since .*, because the gateway cannot be reached/),
      ]),
    )
    expect(world.results()).toEqual([])
    const at = (path: string) => fetch(`http://127.0.0.1:${world.worker.ports.telemetry}${path}`)
    expect([(await at('/healthz')).status, (await at('/readyz')).status]).toEqual([200, 200])
    const late = await startSandbox({ port: port!, callbackDelayMs: 0 })
    onTestFinished(() => late.close())
    await world.finished(10)
    await world.quiet()
    expect(world.results()).toHaveLength(10)
    expect(world.results().every(({ outcome, attempts }) => outcome === 'SENT' && attempts === 1)).toBe(true)
    expect(late.stats()).toMatchObject({ executed: 10, billedTwice: 0 })
  })
})

describe('an envelope that the gateway refuses', () => {
  test('because it has too many operations is halved until it fits', async () => {
    const world = await startWorld({ sandbox: { maxOperations: 8 } })
    await world.send(messages(30))
    await world.finished(30)
    await world.quiet()
    expect(world.results().every(({ outcome }) => outcome === 'SENT')).toBe(true)
    expect(world.sandbox.stats()).toMatchObject({ executed: 30, billedTwice: 0 })
  })
})

test('accounts whose balance is never answered do not hold up commands of others', async () => {
  const gateway = await scriptedServer((socket, { body }) => {
    const { auth, data } = parseJson(body) as { auth: string; data: [{ type: string; id: number }] }
    const [{ type, id }] = data
    const told = type === 'sms' ? `{"id":${id},"msg_id":7}` : '{"amount":1,"currency":"UAH"}'
    if (auth === 'sandbox-key') socket.write(httpAnswer(`{"success":true,"data":[{"success":true,"data":${told}}]}`))
  })
  const accounts = { second: { apiKey: 'two' }, third: { apiKey: 'three' } }
  const world = await startWorld({
    settings: { gateway: { url: gateway.url, accounts, concurrency: 1, balanceIntervalMs: 60_000 } },
  })
  await until(() => expect(gateway.seen.requests).toHaveLength(3))
  await world.send(messages(1))
  await until(() => expect(outcomes(world)).toEqual(['1 SENT']))
})
