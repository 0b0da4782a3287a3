import type { Logger } from 'pino'
import { BusUnavailable } from './bus/errors.ts'
import { openBus } from './bus/open.ts'
import type { Bus } from './bus/port.ts'
import type { Receiver } from './callbacks/receiver.ts'
import { hookForCommands, startReceiving, tokensOf } from './callbacks/role.ts'
import { sleep, systemClock } from './clock.ts'
import { type Role, requireGateway, requireRunnable, type Settings } from './config/index.ts'
import { type Sending, startSending } from './dispatch/role.ts'
import { pauseText } from './pauses/change.ts'
import { registryOf } from './records/open.ts'
import { RegistryUnavailable, type SchemaRegistry } from './records/registry.ts'
import { type Reconciling, startReconciling } from './statuses/role.ts'
import { Telemetry } from './telemetry/events.ts'
import type { GaugeSource } from './telemetry/gauges.ts'
import { startTelemetryServer, type TelemetryServer } from './telemetry/http.ts'
import { logEvents } from './telemetry/logs.ts'
import { createMetrics } from './telemetry/metrics.ts'
import { version } from './version.ts'

export interface WorkerOptions {
  /** Where log lines go; without it, nothing is logged. */
  logger?: Logger
  /** Hears what the worker's own listeners hear. */
  telemetry?: Telemetry
  /** Instead of the ones that the settings name. */
  bus?: Bus
  registry?: SchemaRegistry
  /** Gives up a start that waits for the bus or the registry: createWorker then rejects. */
  signal?: AbortSignal
}

/** A running worker: the roles that the settings name, their metrics and health. */
export interface Worker {
  telemetry: Telemetry
  /** Ports in use: where a setting is 0, the one that was free. */
  ports: { callbacks: number | null; telemetry: number }
  /** Whether this process does its work now; the reasons say why not. What operators have paused is no reason against it. */
  ready(): { ready: boolean; reasons: string[]; paused: string[] }
  /** Rejects when the worker cannot go on by itself and has to be restarted; never resolves. */
  failed: Promise<never>
  /** Stops intake, finishes what is in flight, commits, closes. */
  stop(): Promise<void>
}

interface Roles {
  sending: Sending | null
  receiver: Receiver | null
  reconciling: Reconciling | null
}

const noRoles: Readonly<Roles> = { sending: null, receiver: null, reconciling: null }
const startRetryMs = 2000

/**
 * Starts a worker as the settings say.
 * @throws SettingsError when settings are missing; Error when the bus lacks a topic, or refuses. While the bus or the
 * registry cannot be reached, the start waits for it.
 */
export async function createWorker(settings: Settings, options: WorkerOptions = {}): Promise<Worker> {
  requireRunnable(settings)
  const telemetry = options.telemetry ?? new Telemetry()
  if (options.logger) logEvents(telemetry, options.logger)
  const { promise: failed, reject: fail } = Promise.withResolvers<never>()
  failed.catch(() => {}) // whoever does not look sees it in ready()
  let failure: Error | null = null
  let starting = true
  let waitsFor: string | null = null
  let stopped: Promise<void> | null = null
  const roles: Roles = { ...noRoles }
  const tokens = tokensOf(settings)
  const running = settings.roles.filter(role => role !== 'callbacks' || tokens !== null)
  const gauges = new Set<GaugeSource>([{ read: readReadiness }])
  const ready = () => {
    const reasons = [
      ...(failure ? [failure.message] : []),
      ...(starting ? [waitsFor === null ? 'starting' : `starting: ${waitsFor}`] : []),
      ...(stopped === null ? [] : ['stopping']),
      ...running.flatMap(role => reasonsOf(role) ?? []),
    ]
    const paused = [...(roles.sending?.pauses.inForce ?? [])].map(pauseText)
    return { ready: reasons.length === 0, reasons, paused }
  }
  const server: TelemetryServer = await startTelemetryServer({
    ...settings.telemetry,
    metrics: createMetrics(telemetry, {
      version,
      roles: running,
      gauges,
      topic: settings.topics.commands,
      account: [...settings.gateway.accounts.keys()],
    }),
    ready,
    healthy: () => ({ healthy: failure === null, reasons: failure ? [failure.message] : [] }),
  })
  const bus = options.bus ?? openBus(settings, telemetry)
  const registry = options.registry ?? registryOf(settings)

  /** What keeps a role from its work; null: it has not started. */
  function reasonsOf(role: Role): string[] | null {
    if (role === 'callbacks') return roles.receiver && []
    return (role === 'worker' ? roles.sending : roles.reconciling)?.reasons() ?? null
  }

  function* readReadiness(): ReturnType<GaugeSource['read']> & Generator {
    const going = failure === null && stopped === null
    for (const role of running) {
      yield { name: 'ready', labels: { role }, value: going && reasonsOf(role)?.length === 0 ? 1 : 0 }
    }
  }

  function stop(): Promise<void> {
    stopped ??= finish()
    return stopped
  }

  async function finish(): Promise<void> {
    await stopRoles()
    await server.close()
    if (!options.bus) await bus.close()
  }

  async function stopRoles(): Promise<void> {
    const { sending, receiver, reconciling } = roles
    Object.assign(roles, noRoles)
    await Promise.all([sending?.stop(), reconciling?.stop()])
    await receiver?.close()
  }

  const giveUp = () => void stop().catch(() => {}) // the start fails with what went wrong
  options.signal?.addEventListener('abort', giveUp)
  try {
    options.signal?.throwIfAborted()
    await startRoles()
    options.signal?.throwIfAborted()
  } catch (error) {
    await stop()
    await stopRoles() // one that was about to start when the stop began
    throw error
  } finally {
    options.signal?.removeEventListener('abort', giveUp)
  }
  starting = false
  return {
    telemetry,
    ports: { callbacks: roles.receiver?.port ?? null, telemetry: server.port },
    ready,
    failed,
    stop,
  }

  async function startRoles(): Promise<void> {
    if (tokens && running.includes('callbacks')) {
      const healthy = () => failure === null && stopped === null
      roles.receiver = await whenReachable(() =>
        startReceiving({ settings, bus, registry, telemetry, tokens, healthy }),
      )
      telemetry.emit('role.started', { role: 'callbacks' })
    }
    if (!settings.roles.some(role => role !== 'callbacks')) return
    requireGateway(settings)
    const fatal = (error: Error) => {
      failure = error
      fail(error)
    }
    const common = { settings, bus, registry, telemetry, clock: systemClock, random: Math.random, fatal }
    if (settings.roles.includes('worker')) {
      const hookFor = hookForCommands(settings, tokens, telemetry)
      roles.sending = await whenReachable(() => startSending({ ...common, hookFor }))
      telemetry.emit('role.started', { role: 'worker' })
      gauges.add(roles.sending.gauges)
    }
    if (settings.roles.includes('reconciler')) {
      roles.reconciling = await whenReachable(() => startReconciling(common))
      telemetry.emit('role.started', { role: 'reconciler' })
      gauges.add(roles.reconciling.gauges)
    }
  }

  async function whenReachable<T>(start: () => Promise<T>): Promise<T> {
    for (;;) {
      options.signal?.throwIfAborted()
      try {
        const started = await start()
        if (waitsFor !== null) telemetry.emit('registry.available', { schemaId: null })
        waitsFor = null
        return started
      } catch (error) {
        options.signal?.throwIfAborted()
        if (error instanceof RegistryUnavailable) telemetry.emit('registry.unavailable', { schemaId: null, error })
        else if (error instanceof BusUnavailable) telemetry.emit('bus.unavailable', { error })
        else throw error
        waitsFor = error.message
        await sleep(systemClock, startRetryMs)
      }
    }
  }
}
