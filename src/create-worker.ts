import { busOf } from './bus/open.ts'
import type { Bus } from './bus/opened.ts'
import { type Bus as BusPort, BusUnavailable } from './bus/port.ts'
import { hookForCommands, type Receiving, startReceiving, tokensOf } from './callbacks/role.ts'
import { sleep, systemClock } from './clock.ts'
import {
  requireGateway,
  requireRunnable,
  runningRoles,
  type Settings,
  secretsIn,
  secretTroubleText,
  whyRoleIsOff,
} from './config/index.ts'
import { type Change, changeText } from './control/change.ts'
import type { Report } from './fleet/report.ts'
import { Reporter } from './fleet/reporter.ts'
import { version } from './package.ts'
import { type Reconciling, startReconciling } from './reconciler/role.ts'
import { RegistryUnavailable } from './records/errors.ts'
import { registryOf, type SchemaRegistry } from './records/registry.ts'
import type { GaugeSource } from './telemetry/definitions.ts'
import { Telemetry } from './telemetry/events.ts'
import { startTelemetryServer, type TelemetryServer } from './telemetry/http.ts'
import type { Logger } from './telemetry/logger.ts'
import { logEvents } from './telemetry/logs.ts'
import { createMetrics } from './telemetry/metrics.ts'
import type { Telemetry as StableTelemetry } from './telemetry/stable-events.ts'
import { Told } from './told.ts'
import type { Role } from './vocabulary/lists.ts'
import { type Sending, type SendingState, startSending } from './worker/role.ts'

/** Optional parts of a worker. Default: created from the settings. */
export interface WorkerOptions {
  /** Where log lines go. Default: nothing is logged. */
  logger?: Logger
  /** Emits the worker's events. Default: a new one, in `worker.telemetry`. */
  telemetry?: StableTelemetry
  /** The bus to use. Default: the one in the settings. */
  bus?: Bus
  /** The schema registry to use. Default: the one in the settings. */
  registry?: SchemaRegistry
  /** Aborts a start that waits for the bus, the registry or the gateway: createWorker then rejects. Default: waits as long as it takes. */
  signal?: AbortSignal
}

/** A running worker: the roles in the settings, with their metrics and health. */
export interface Worker extends AsyncDisposable {
  /** Emits the worker's events. */
  telemetry: StableTelemetry
  /** The ports in use; if a setting is 0, the free port that was taken. `callbacks` is null without that role. */
  ports: { callbacks: number | null; telemetry: number }
  /**
   * Returns whether this process works now, and the reasons if not. `started` is true once every role has reached the
   * bus and the registry, and stays true; until the gateway has accepted a key, the process is not ready and holds no
   * partition. Pauses, withdrawals and warnings (something outside of this process needs repair, such as an account that is
   * held back) do not make it unready.
   */
  ready(): {
    ready: boolean
    started: boolean
    reasons: string[]
    paused: string[]
    withdrawn: string[]
    warnings: string[]
  }
  /** Rejects when the worker cannot continue and must be restarted; never resolves. */
  failed: Promise<never>
  /** Stops reading, finishes requests in flight (up to `gateway.timeoutMs`), commits, and closes all connections. */
  close(): Promise<void>
}

interface Roles {
  sending: Sending | null
  receiver: Receiving | null
  reconciling: Reconciling | null
}

/** The state of a process that sends nothing. */
const idle: SendingState = { accounts: 0, held: [], polls: [], learnt: new Map(), stuck: [], owned: [] }
const noRoles: Readonly<Roles> = { sending: null, receiver: null, reconciling: null }
const startRetryMs = 2000
/** Interval between log lines about an outage at the start. */
const tellMs = 60_000

/** Starts a worker, as described in index.ts. */
export async function createWorker(settings: Settings, options: WorkerOptions = {}): Promise<Worker> {
  requireRunnable(settings)
  const worker = new WorkerProcess(settings, options)
  await worker.start()
  return worker
}

/** Bounds the lists in `ready`: there may be thousands of withdrawals and of paused tenants. */
const mostListed = 100

function listed(changes: readonly Change[]): string[] {
  const others = changes.length - mostListed
  return [
    ...changes.slice(0, mostListed).map(changeText),
    ...(others > 0 ? [`and ${others} more: busgate status`] : []),
  ]
}

class WorkerProcess implements Worker {
  readonly telemetry: StableTelemetry
  readonly failed: Promise<never>
  ports: Worker['ports'] = { callbacks: null, telemetry: 0 }
  readonly #telemetry: Telemetry
  readonly #fail: (error: Error) => void
  readonly #settings: Settings
  readonly #options: WorkerOptions
  readonly #tokens: ReturnType<typeof tokensOf>
  readonly #secrets: ReturnType<typeof secretsIn>
  readonly #names: readonly Role[]
  readonly #roles: Roles = { ...noRoles }
  readonly #gauges = new Set<GaugeSource>([{ read: () => this.#readReadiness() }])
  #server: TelemetryServer | null = null
  #bus!: BusPort
  #registry!: SchemaRegistry
  #failure: Error | null = null
  #starting = true
  /** Why a role has to wait for the bus or the registry. */
  readonly #outages = new Map<Role, Told>()
  #closed: Promise<void> | null = null
  #unwatchSecrets: () => void
  readonly #startedAt = Date.now()
  #reporter: Reporter | null = null

  constructor(settings: Settings, options: WorkerOptions) {
    this.#settings = settings
    this.#options = options
    this.#telemetry = (options.telemetry as Telemetry | undefined) ?? new Telemetry()
    this.telemetry = this.#telemetry as StableTelemetry
    if (options.logger) logEvents(this.#telemetry, options.logger)
    const { promise, reject } = Promise.withResolvers<never>()
    this.failed = promise
    this.#fail = reject
    promise.catch(() => {}) // callers who ignore it see the failure in ready()
    this.#tokens = tokensOf(settings)
    this.#secrets = secretsIn(settings)
    this.#unwatchSecrets = this.#watchSecrets()
    this.#names = runningRoles(settings)
  }

  /** Why this process does not work now; empty if it does. */
  get #reasons(): string[] {
    return [
      ...(this.#failure ? [this.#failure.message] : []),
      ...(this.#starting && this.#outages.size === 0 ? ['starting'] : []),
      ...Array.from(this.#outages.values(), ({ latest }) => `starting: ${latest}`),
      ...(this.#closed === null ? [] : ['stopping']),
      ...this.#names.flatMap(role => this.#reasonsOf(role) ?? []),
    ]
  }

  readonly ready: Worker['ready'] = () => {
    const reasons = this.#reasons
    const inForce = this.#roles.sending?.controls.inForce ?? []
    const told = (effect: Change['effect']) => listed(inForce.filter(one => one.effect === effect))
    const blocked = this.#starting ? [] : this.#bus.blocked()
    const troubles = this.#secrets.flatMap(secret => secret.trouble() ?? [])
    const warnings = [
      ...troubles.map(({ setting, reason }) => secretTroubleText(setting, reason)),
      ...blocked.map(({ text }) => text),
      ...new Set([...(this.#roles.sending?.warnings() ?? []), ...(this.#roles.reconciling?.warnings() ?? [])]),
    ]
    return {
      ready: reasons.length === 0,
      started: !this.#starting,
      reasons,
      paused: told('paused'),
      withdrawn: told('withdrawn'),
      warnings,
    }
  }

  readonly close: Worker['close'] = () => {
    this.#closed ??= this.#finish()
    return this.#closed
  }

  async start(): Promise<void> {
    const { signal } = this.#options
    const giveUp = () => void this.close().catch(() => {}) // start() rejects with the reason
    try {
      await this.#open()
      signal?.addEventListener('abort', giveUp)
      signal?.throwIfAborted()
      await this.#startRoles()
      signal?.throwIfAborted()
    } catch (error) {
      await this.close()
      await this.#stopRoles() // stops a role that was just starting when the stop began
      throw error
    } finally {
      signal?.removeEventListener('abort', giveUp)
    }
    this.ports = { callbacks: this.#roles.receiver?.port ?? null, telemetry: this.#server!.port }
  }

  async #open(): Promise<void> {
    const { bus, registry } = this.#options
    this.#server = await this.#serveTelemetry()
    this.#bus = await busOf(this.#settings, bus, this.#telemetry)
    this.#registry = registry ?? registryOf(this.#settings)
    const { clock } = this.#asking
    const reporting = { bus: this.#bus, topic: this.#settings.topics.workers, report: () => this.#report(), clock }
    this.#reporter = new Reporter({ ...reporting, telemetry: this.#telemetry })
  }

  #watchSecrets(): () => void {
    const unwatch = this.#secrets.map(secret =>
      secret.watch((setting, reason) => {
        if (reason === null) this.#telemetry.emit('secret.usable', { setting })
        else this.#telemetry.emit('secret.unusable', { setting, reason })
      }),
    )
    return () => unwatch.forEach(end => void end())
  }

  #serveTelemetry(): Promise<TelemetryServer> {
    const { telemetry, topics, gateway } = this.#settings
    const metrics = createMetrics(this.#telemetry, {
      version,
      roles: this.#names,
      gauges: this.#gauges,
      topic: topics.commands,
      account: [...gateway.accounts.keys()],
      tenant: Object.keys(gateway.tenantWeights),
    })
    const healthy = () => ({ healthy: this.#failure === null, reasons: this.#failure ? [this.#failure.message] : [] })
    return startTelemetryServer({ ...telemetry, metrics, ready: this.ready, healthy })
  }

  async #startRoles(): Promise<void> {
    for (const role of this.#settings.roles) {
      if (!this.#names.includes(role)) this.#telemetry.emit('role.off', { role, reason: whyRoleIsOff })
    }
    if (this.#names.includes('callbacks')) await this.#startReceiving()
    if (this.#names.includes('worker')) await this.#startSending()
    if (this.#names.includes('reconciler')) await this.#startReconciling()
    this.#starting = false
    await Promise.all([this.#join('worker', this.#roles.sending), this.#join('reconciler', this.#roles.reconciling)])
  }

  async #startReceiving(): Promise<void> {
    const tokens = this.#tokens!
    const healthy = () => this.#failure === null && this.#closed === null
    const options = { ...this.#common, tokens, healthy }
    this.#roles.receiver = await this.#whenReachable('callbacks', () => startReceiving(options))
    this.#telemetry.emit('role.started', { role: 'callbacks' })
  }

  async #startSending(): Promise<void> {
    const { settings, telemetry } = this.#common
    requireGateway(settings)
    const hookFor = hookForCommands(settings, this.#tokens, telemetry)
    const options = { ...this.#common, ...this.#asking, settings, hookFor }
    this.#roles.sending = await this.#whenReachable('worker', () => startSending(options))
    this.#gauges.add(this.#roles.sending.gauges)
  }

  async #startReconciling(): Promise<void> {
    const { settings } = this.#common
    requireGateway(settings)
    const options = { ...this.#common, ...this.#asking, settings }
    this.#roles.reconciling = await this.#whenReachable('reconciler', () => startReconciling(options))
    this.#gauges.add(this.#roles.reconciling.gauges)
  }

  async #join(role: Role, started: Sending | Reconciling | null): Promise<void> {
    if (started === null) return
    await this.#whenReachable(role, () => started.join())
    this.#telemetry.emit('role.started', { role })
  }

  get #common() {
    return { settings: this.#settings, bus: this.#bus, registry: this.#registry, telemetry: this.#telemetry }
  }

  /** Parts for roles that send requests to the gateway. */
  get #asking() {
    const fatal = (error: Error) => {
      this.#failure = error
      this.#fail(error)
    }
    return { clock: systemClock, random: Math.random, fatal }
  }

  #report(): Report {
    const state = this.#roles.sending?.state() ?? idle
    const owned: Report['owned'] = {}
    for (const { topic, partition, perSecond } of state.owned) {
      owned[topic] ??= {}
      owned[topic][partition] = perSecond && Math.round(perSecond * 10) / 10
    }
    return {
      group: this.#settings.kafka.groupId,
      version,
      roles: [...this.#names],
      startedAt: this.#startedAt,
      reasons: this.#reasons,
      ...state,
      learnt: Object.fromEntries(Array.from(state.learnt, ([account, rate]) => [account, Math.round(rate)])),
      owned,
    }
  }

  /** What keeps a role from working; null if it has not started. */
  #reasonsOf(role: Role): string[] | null {
    const { sending, receiver, reconciling } = this.#roles
    const running = { worker: sending, callbacks: receiver, reconciler: reconciling }
    return running[role]?.reasons() ?? null
  }

  *#readReadiness(): ReturnType<GaugeSource['read']> & Generator {
    const going = this.#failure === null && this.#closed === null
    for (const role of this.#names) {
      yield { name: 'ready', labels: { role }, value: going && this.#reasonsOf(role)?.length === 0 ? 1 : 0 }
    }
  }

  /** Calls `close`; for `await using`. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  async #finish(): Promise<void> {
    await this.#stopRoles()
    await this.#reporter?.stop()
    await this.#server?.close()
    this.#unwatchSecrets()
    if (!this.#options.bus) await (this.#bus as BusPort | undefined)?.close()
  }

  async #stopRoles(): Promise<void> {
    const { sending, receiver, reconciling } = this.#roles
    Object.assign(this.#roles, noRoles)
    await Promise.all([sending?.stop(), reconciling?.stop()])
    await receiver?.close()
  }

  /** Reports each cause once a minute. */
  #tellOutage(role: Role, error: Error): void {
    const told = this.#outages.get(role) ?? new Told(tellMs)
    this.#outages.set(role, told)
    if (!told.isNew(error.message, systemClock.monotonic())) return
    if (error instanceof RegistryUnavailable)
      this.#telemetry.emit('registry.unavailable', { schemaId: null, count: 0, place: null, error })
    else this.#telemetry.emit('bus.unavailable', { error })
  }

  async #whenReachable<T>(role: Role, start: () => Promise<T>): Promise<T> {
    const { signal } = this.#options
    for (;;) {
      signal?.throwIfAborted()
      try {
        const started = await start()
        if (this.#outages.delete(role)) this.#telemetry.emit('registry.available', {})
        return started
      } catch (error) {
        signal?.throwIfAborted()
        this.#bus.closing.throwIfAborted()
        if (!(error instanceof RegistryUnavailable || error instanceof BusUnavailable)) throw error
        this.#tellOutage(role, error)
        await sleep(systemClock, startRetryMs)
      }
    }
  }
}
