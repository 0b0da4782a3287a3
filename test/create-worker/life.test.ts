import { describe, expect, onTestFinished, test, vi } from 'vitest'
import type { MemoryBus } from '../../src/bus/memory/bus.ts'
import { BusUnavailable } from '../../src/bus/port.ts'
import type { Settings } from '../../src/config/index.ts'
import { createWorker } from '../../src/create-worker.ts'
import { confluentRegistry, embeddedRegistry } from '../../src/records/registry.ts'
import { Telemetry } from '../../src/telemetry/events.ts'
import { createLogger } from '../../src/telemetry/logger.ts'
import { startRegistry } from '../records/registry-server.ts'
import { openMemoryBus, until } from '../support/bus.ts'
import { buildCommand, buildCommandOf, commandsFrom, silentPhone } from '../support/commands.ts'
import { asStable } from '../support/events.ts'
import { freePorts } from '../support/local-kafka/ports.ts'
import { ownSeries, scrape } from '../support/metrics.ts'
import { startProvingGateway, startProxy } from '../support/reverse-proxy.ts'
import { buildSettings } from '../support/settings.ts'
import { startWorld, type World } from '../support/worker.ts'

function counts(world: World): Record<string, number> {
  const counted: Record<string, number> = {}
  for (const { outcome } of world.results()) counted[outcome] = (counted[outcome] ?? 0) + 1
  return counted
}

const idsIn = (world: World) => new Set(world.results().map(({ id }) => id)).size

/** Builds an in-memory bus with the topics that a worker needs. */
function buildBus(): MemoryBus {
  const { topics, kafka } = buildSettings()
  const names = [...topics.commands, topics.results, topics.statuses, topics.deadLetters, topics.doubts, topics.later]
  return openMemoryBus(names, kafka).bus
}

describe('a worker that is stopped', () => {
  test('finishes its requests in flight, and the next worker continues without doubts', async () => {
    const world = await startWorld({
      settings: { gateway: { maxOperations: 5, concurrency: 4 } },
      sandbox: { latencyMs: 100 },
    })
    await world.send(commandsFrom(1, 60))
    await until(() => expect(world.sandbox.stats().requests).toBeGreaterThanOrEqual(4))
    await world.worker.close()
    const executed = world.sandbox.stats().executed
    expect(executed).toBeLessThan(60)

    await world.startWorker()
    await world.finished(60)
    await world.quiet()
    expect(counts(world)).toEqual({ SENT: 60 })
    expect(idsIn(world)).toBe(60)
    expect(world.sandbox.stats()).toMatchObject({ executed: 60, billedTwice: 0 })
  })

  test('waits for the gateway up to gateway.timeoutMs, longer than before a rebalance', async () => {
    const world = await startWorld({
      settings: { kafka: { sessionTimeoutMs: 25 }, gateway: { maxOperations: 5, concurrency: 1 } },
      sandbox: { latencyMs: 300 },
    })
    await world.send(commandsFrom(1, 20))
    await until(() => expect(world.sandbox.stats().requests).toBe(1))
    await world.worker.close()
    expect(counts(world)).toEqual({ SENT: 5 })
    expect(world.sandbox.stats()).toMatchObject({ requests: 1, executed: 5 })
  })

  test('while another one joins finishes its requests in flight, begins none, and leaves no doubt', async () => {
    const world = await startWorld({
      partitions: 4,
      settings: { gateway: { maxOperations: 10 } },
      sandbox: { latencyMs: 1500 },
    })
    await world.send(commandsFrom(1, 400))
    await until(() => expect(world.sandbox.stats().requests).toBeGreaterThan(0))
    const stopping = world.worker.close()
    await Promise.all([stopping, world.startWorker()])
    await world.finished(400)
    await world.quiet()
    expect(counts(world)).toEqual({ SENT: 400 })
    expect(world.sandbox.stats()).toMatchObject({ executed: 400, billedTwice: 0 })
  })

  test('stops once even if stop is called repeatedly', async () => {
    const world = await startWorld({ sandbox: { latencyMs: 100 } })
    await world.send(commandsFrom(1, 10))
    await until(() => expect(world.sandbox.stats().requests).toBe(1))
    const first = world.worker.close()
    await world.worker.close() // the second signal of an impatient operator
    await world.quiet()
    expect(counts(world)).toEqual({ SENT: 10 })
    await first
  })
})

test('a restarted worker logs where it continues, and from where it reads earlier ids again', async () => {
  const lines: Record<string, unknown>[] = []
  const world = await startWorld({ logger: createLogger('info', { write: line => lines.push(JSON.parse(line)) }) })
  await world.send(commandsFrom(1, 10))
  await world.finished(10)
  await world.worker.close()
  lines.length = 0
  await world.startWorker()
  const topic = world.settings.topics.commands.at(-1)
  await until(() =>
    expect(lines).toContainEqual(
      expect.objectContaining({
        ...{ event: 'session.opened', topic, offset: 0, committed: 10 },
        msg: `owns ${topic}/0@10, reading from offset 0 to find repeated ids`,
      }),
    ),
  )
})

describe('an aborted start', () => {
  test('while the gateway does not answer never joins the group, and does not wait for the answer', async () => {
    const gateway = await startProxy()
    gateway.answer = () => new Promise(() => {})
    const bus = buildBus()
    const join = vi.spyOn(bus, 'join')
    const { abort, failed } = await startOn(bus, gateway.url)
    await until(() => expect(gateway.requests).toHaveLength(1))
    abort.abort()
    await failed
    expect(join).not.toHaveBeenCalled()
  })

  /** Starts a worker on this bus. */
  async function startOn(bus: MemoryBus, gatewayUrl?: string) {
    const url = gatewayUrl ?? (await startProvingGateway())
    const settings = buildSettings({ gateway: { url }, telemetry: { host: '127.0.0.1', port: 0 } })
    const abort = new AbortController()
    const starting = createWorker(settings, { bus, registry: embeddedRegistry(), signal: abort.signal })
    const failed = expect(starting).rejects.toThrow('aborted')
    return { abort, failed }
  }

  test('while it waits for the bus never joins the group, even if the bus becomes available', async () => {
    const bus = buildBus()
    const partitions = vi.spyOn(bus, 'partitions').mockRejectedValueOnce(new BusUnavailable('no broker answers'))
    const join = vi.spyOn(bus, 'join')
    const { abort, failed } = await startOn(bus)
    await until(() => expect(partitions).toHaveBeenCalled())
    abort.abort()
    await failed
    expect(join).not.toHaveBeenCalled()
  })

  test("while another role joins finishes the first role's requests in flight", async () => {
    const world = await startWorld({ sandbox: { latencyMs: 300 } })
    await world.worker.close()
    const telemetry = new Telemetry()
    const begun: string[] = []
    telemetry.on('role.started', ({ role }) => begun.push(role))
    const bus = world.openMemoryBus(telemetry)
    const join = bus.join.bind(bus)
    const { promise: never, reject: giveUpJoining } = Promise.withResolvers<never>()
    vi.spyOn(bus, 'join').mockImplementation((topics, listener, options) =>
      options?.group === 'reconciler' ? never : join(topics, listener, options),
    )
    const abort = new AbortController()
    const settings: Settings = { ...world.settings, roles: ['worker', 'reconciler'] }
    const options = { bus, telemetry: asStable(telemetry), registry: world.registry, signal: abort.signal }
    const failed = expect(createWorker(settings, options)).rejects.toThrow('aborted')
    await until(() => expect(begun).toEqual(['worker']))
    const { requests } = world.sandbox.stats()
    await world.send(commandsFrom(1, 10))
    await until(() => expect(world.sandbox.stats().requests).toBeGreaterThan(requests))
    abort.abort()
    await world.finished(10)
    giveUpJoining(new Error('the bus is closed'))
    await failed
    await world.quiet()
    expect(counts(world)).toEqual({ SENT: 10 })
  })

  test('while it joins the group leaves it again', async () => {
    const bus = buildBus()
    const join = bus.join.bind(bus)
    const { promise: held, resolve: joinNow } = Promise.withResolvers<void>()
    const left = vi.fn()
    const joining = vi.spyOn(bus, 'join').mockImplementation(async (...args) => {
      await held
      const membership = await join(...args)
      const leave = membership.leave.bind(membership)
      return Object.assign(membership, {
        leave: (ms?: number) => {
          left()
          return leave(ms)
        },
      })
    })
    const { abort, failed } = await startOn(bus)
    await until(() => expect(joining).toHaveBeenCalled())
    abort.abort()
    joinNow()
    await failed
    expect(left).toHaveBeenCalledOnce()
  })
})

/** The metric ready of each role. */
async function readiness(port: number): Promise<Record<string, number>> {
  const ofRoles = [...(await scrape(port))].filter(([series]) => series.startsWith('busgate_ready{'))
  return Object.fromEntries(ofRoles.map(([series, value]) => [/role="(\w+)"/.exec(series)![1], value]))
}

describe('about the state of a process,', () => {
  const at = (port: number, path: string) => fetch(`http://127.0.0.1:${port}${path}`)

  test('/healthz says healthy and /readyz not ready while a worker waits for the registry', async () => {
    const server = await startRegistry()
    onTestFinished(() => server.stop())
    const requests: (() => void)[] = []
    server.fail(
      (_, response) => void requests.push(() => response.end('{"id":1,"compatibilityLevel":"FULL_TRANSITIVE"}')),
    )
    const [port] = await freePorts(1)
    const settings = buildSettings({
      telemetry: { host: '127.0.0.1', port },
      gateway: { url: await startProvingGateway() },
    })
    const starting = createWorker(settings, { bus: buildBus(), registry: confluentRegistry({ url: server.url }) })

    await until(() => expect(requests).not.toHaveLength(0))
    const readyz = await at(port!, '/readyz')
    expect([readyz.status, await readyz.json()]).toEqual([
      503,
      { ready: false, started: false, reasons: ['starting'], paused: [], withdrawn: [], warnings: [] },
    ])
    expect((await at(port!, '/healthz')).status).toBe(200)
    expect(await readiness(port!)).toEqual({ worker: 0 })

    server.fail((_, response) => void response.end('{"id":1,"compatibilityLevel":"FULL_TRANSITIVE"}'))
    for (const answer of requests) answer()
    const worker = await starting
    onTestFinished(() => worker.close())
    await until(async () => expect((await at(port!, '/readyz')).status).toBe(200))
    expect((await at(port!, '/healthz')).status).toBe(200)
    expect(await readiness(port!)).toEqual({ worker: 1 })
  })

  test('a registry that cannot be reached at the start is logged once, not at each attempt', async () => {
    const server = await startRegistry()
    onTestFinished(() => server.stop())
    let asked = 0
    server.fail((_, response) => {
      asked++
      response.statusCode = 503
      response.end()
    })
    const [port] = await freePorts(1)
    const settings = buildSettings({
      telemetry: { host: '127.0.0.1', port },
      gateway: { url: await startProvingGateway() },
    })
    const telemetry = new Telemetry()
    const told: string[] = []
    telemetry.on('registry.unavailable', ({ error }) => told.push(error.message))
    const abort = new AbortController()
    const options = {
      telemetry: asStable(telemetry),
      signal: abort.signal,
      registry: confluentRegistry({ url: server.url }),
    }
    const starting = createWorker(settings, { ...options, bus: buildBus() })
    const failed = expect(starting).rejects.toThrow()
    await until(() => expect(told).toHaveLength(1))
    const askedOnce = asked
    await until(() => expect(asked).toBeGreaterThan(2 * askedOnce))
    abort.abort()
    await failed
    expect(told).toHaveLength(1)
  })

  test('the role callbacks without a secret is off, and the log says so', async () => {
    const [port] = await freePorts(1)
    const settings = buildSettings({
      telemetry: { host: '127.0.0.1', port },
      gateway: { url: await startProvingGateway() },
    })
    const telemetry = new Telemetry()
    const told: string[] = []
    telemetry.on('role.off', ({ role, reason }) => told.push(`${role}: ${reason}`))
    telemetry.on('role.started', ({ role }) => told.push(role))
    const worker = await createWorker(settings, {
      telemetry: asStable(telemetry),
      bus: buildBus(),
      registry: embeddedRegistry(),
    })
    onTestFinished(() => worker.close())
    expect(told).toEqual(['callbacks: callbacks.secret (BUSGATE_CALLBACKS_SECRET) is not set', 'worker'])
  })

  test('/readyz says so while a starting worker waits for a leader of the control topic', async () => {
    const [port] = await freePorts(1)
    const settings = buildSettings({
      telemetry: { host: '127.0.0.1', port },
      gateway: { url: await startProvingGateway() },
    })
    const bus = buildBus()
    const lookAt = vi.spyOn(bus, 'lookAt').mockResolvedValue({ id: '', partitions: 1, leaderless: [0] })
    const starting = createWorker(settings, { bus, registry: embeddedRegistry() })
    const what = `1 partition of ${settings.topics.control} (0) without a leader: pauses and withdrawals are unknown until they have one`
    await until(async () => {
      expect(await (await at(port!, '/readyz')).json()).toMatchObject({ ready: false, reasons: [`starting: ${what}`] })
    })
    lookAt.mockRestore()
    const worker = await starting
    onTestFinished(() => worker.close())
    await until(async () => expect((await at(port!, '/readyz')).status).toBe(200))
  })

  test('the metrics show the roles of a process, and whether each is ready', async () => {
    const world = await startWorld({ settings: { roles: ['worker', 'callbacks', 'reconciler'] } })
    const samples = await scrape(world.worker.ports.telemetry)
    const rolesIn = ownSeries(samples).flatMap(series => /build_info\{.*role="(\w+)"/.exec(series)?.[1] ?? [])
    expect(rolesIn.sort()).toEqual(['callbacks', 'reconciler', 'worker'])
    await until(async () =>
      expect(await readiness(world.worker.ports.telemetry)).toEqual({ worker: 1, callbacks: 1, reconciler: 1 }),
    )
  })

  test('the error at start names a missing topic', async () => {
    const settings = buildSettings({ telemetry: { host: '127.0.0.1', port: 0 } })
    const { topics, kafka } = settings
    const { bus } = openMemoryBus([...topics.commands, topics.statuses, topics.deadLetters, topics.doubts], kafka)
    await expect(createWorker(settings, { bus, registry: embeddedRegistry() })).rejects.toThrow('busgate.results')
  })
})

describe('the metrics of a worker', () => {
  test('count the outcome of every command', async () => {
    const world = await startWorld({ settings: { gateway: { balanceIntervalMs: 60_000, maxOperations: 4 } } })
    const [urgent, bulk] = world.settings.topics.commands
    await world.send([
      ...commandsFrom(1, 5),
      buildCommand({ id: 6n, phone: 380501234592, tenant: 'shop' }),
      buildCommandOf('telegram', { id: 7n }, { message: 'no digits' }),
      buildCommand({ id: 8n, deadline: 1 }),
      buildCommand({ id: 1n }),
    ])
    await world.send([buildCommandOf('call/otp', { id: 9n, tenant: 'shop' })], urgent)
    await world.produceRaw(Buffer.from('no Avro'))
    await world.finished(10)
    world.sandbox.faults.next('reset-after')
    await world.send(commandsFrom(11, 2).map(command => ({ ...command, phone: silentPhone })))
    await until(() => expect([world.results().length, world.statuses().length]).toEqual([12, 5]))

    const metrics = async () => (await fetch(`http://127.0.0.1:${world.worker.ports.telemetry}/metrics`)).text()
    await until(async () => expect(await metrics()).toContain('busgate_doubts_total{cause="reset"} 2'))
    const lines = new Set((await metrics()).split('\n'))
    const labelled = (name: string, labels: object, value: number) =>
      `busgate_${name}{${Object.entries(labels)
        .map(([label, text]) => `${label}="${text}"`)
        .join()}} ${value}`
    const result = (type: string, outcome: string, error_code: string, value: number) =>
      labelled('results_published_total', { type, outcome, error_code }, value)
    for (const expected of [
      labelled('commands_consumed_total', { topic: bulk }, 12),
      labelled('commands_consumed_total', { topic: urgent }, 1),
      result('sms', 'SENT', '', 5),
      result('call/otp', 'SENT', '', 1),
      result('sms', 'REJECTED', 'INSUFFICIENT_FUNDS', 1),
      result('telegram', 'INVALID', 'VALIDATION', 1),
      result('sms', 'EXPIRED', 'DEADLINE', 1),
      result('sms', 'DUPLICATE', 'DUPLICATE_ID', 1),
      result('sms', 'IN_DOUBT', 'RESPONSE_LOST', 2),
      labelled('parts_total', { account: 'default', type: 'sms' }, 5),
      labelled('price_total', { account: 'default', type: 'call/otp' }, 1.5),
      labelled('tenant_parts_total', { tenant: 'other' }, 5),
      labelled('tenant_results_total', { tenant: 'other', outcome: 'REJECTED' }, 1),
      labelled('tenant_results_total', { tenant: 'other', outcome: 'SENT' }, 6),
      labelled('dead_letters_total', { stage: 'decode', code: 'NOT_CONFLUENT' }, 1),
      labelled('envelopes_total', { account: 'default', outcome: 'answered' }, 3),
      labelled('envelopes_total', { account: 'default', outcome: 'unknown' }, 1),
      'busgate_envelope_operations_sum 9',
      'busgate_gateway_request_duration_seconds_count 4',
      labelled('callbacks_total', { type: 'sms', state: 'DELIVERED', verified: 'true' }, 5),
      labelled('breaker_state', { account: 'default' }, 0),
      labelled('consumer_lag_records', { topic: urgent, partition: 0 }, 0),
      labelled('oldest_unsent_command_age_seconds', { topic: bulk }, 0),
      'busgate_requests_in_flight 0',
      labelled('account_balance', { account: 'default', currency: 'UAH' }, 1_000_000_000),
    ]) {
      expect(lines, expected).toContain(expected)
    }
  })
})
