import type { MemoryBroker } from '../../src/bus/memory/broker.ts'
import { MemoryBus } from '../../src/bus/memory/bus.ts'
import type { Clock } from '../../src/clock.ts'
import type { Settings } from '../../src/config/index.ts'
import { Telemetry } from '../../src/telemetry/events.ts'
import { type Sending, startSending } from '../../src/worker/role.ts'
import type { Plan } from './plan.ts'
import type { Ports } from './ports.ts'
import type { Random } from './random.ts'
import type { Owner, Scheduler } from './scheduler.ts'

/** The time at virtual millisecond 0: 2026-03-14, noon UTC. */
export const epoch = Date.UTC(2026, 2, 14, 12)

/** True time, which no process knows. */
export function virtualClock(scheduler: Scheduler): Clock {
  return {
    now: () => epoch + scheduler.now,
    monotonic: () => scheduler.now,
    uptime: () => scheduler.now,
    after: (ms, callback) => scheduler.add('world', null, 'timer', ms, callback),
  }
}

/** The clocks of the machine that a process runs on. */
export class MachineClock implements Clock {
  readonly #scheduler: Scheduler
  readonly #owner: Owner
  /** Milliseconds by which the wall clock is ahead. */
  ahead = 0
  readonly #suspends: { from: number; until: number }[] = []

  constructor(scheduler: Scheduler, owner: Owner) {
    this.#scheduler = scheduler
    this.#owner = owner
  }

  now(): number {
    return epoch + this.#scheduler.now + this.ahead
  }

  monotonic(): number {
    const { now } = this.#scheduler
    return this.#suspends.reduce((ms, { from, until }) => ms - (Math.min(now, until) - from), now)
  }

  uptime(): number {
    return this.#scheduler.now
  }

  after(ms: number, callback: () => void): () => void {
    return this.#scheduler.add('timer', this.#owner, 'timer', ms, callback)
  }

  suspend(from: number, until: number): void {
    const last = this.#suspends.at(-1)
    if (last && last.until > from) last.until = Math.max(last.until, until)
    else this.#suspends.push({ from, until })
  }

  resume(): void {
    const last = this.#suspends.at(-1)
    if (last) last.until = Math.min(last.until, this.#scheduler.now)
  }
}

export interface SimProcessOptions {
  scheduler: Scheduler
  broker: MemoryBroker
  ports: Ports
  random: Random
  settings: Settings & { gateway: { url: string } }
  plan: Plan
  fatal: (error: Error) => void
}

/** A worker process: the real code, with ports that the scheduler controls. */
export class SimProcess implements Owner {
  readonly name: string
  dead = false
  frozenUntil = 0
  cutUntil = 0
  /** Whether it was told to stop. */
  leaving = false
  /** When it was started, in virtual milliseconds. */
  readonly startedAt: number
  readonly telemetry = new Telemetry()
  readonly bus: MemoryBus
  readonly #clock: MachineClock
  readonly #scheduler: Scheduler
  #sending: Sending | null = null
  #hasJoined = false

  constructor(name: string, options: SimProcessOptions) {
    const { scheduler, broker, ports, settings, plan } = options
    const { groupId, drainMs, startFrom, sessionTimeoutMs } = settings.kafka
    this.name = name
    this.startedAt = scheduler.now
    this.#scheduler = scheduler
    this.#clock = new MachineClock(scheduler, this)
    if (plan.skewMs > 0) this.stepClock(options)
    this.bus = new MemoryBus({
      broker,
      groupId,
      drainMs,
      startFrom,
      sessionTimeoutMs,
      fetchRecords: plan.fetchRecords,
      backlog: plan.backlog,
      clock: this.#clock,
      telemetry: this.telemetry,
      hop: ports.hop(this),
    })
  }

  /** Whether it has joined the group, lives, and was not told to stop. */
  get working(): boolean {
    return !this.dead && !this.leaving && this.#hasJoined
  }

  /** Unfinished work, by its own metrics. */
  leftovers(): string[] {
    const atRest = ['doubts_open', 'requests_in_flight', 'consumer_lag_records', 'window_used_ratio']
    return [...(this.#sending?.gauges.read() ?? [])]
      .filter(({ name, value }) => atRest.includes(name) && value !== 0)
      .map(({ name, labels, value }) => `${name} ${Object.values(labels).join('/')} is ${value}`)
  }

  async start({ settings, ports, plan, random, fatal }: SimProcessOptions): Promise<void> {
    this.#sending = await startSending({
      settings,
      bus: this.bus,
      registry: ports.registry(this),
      telemetry: this.telemetry,
      clock: this.#clock,
      hookFor: () => (plan.hooks ? 'https://hooks.example' : null),
      random: () => random.next(),
      connection: ports.connection(this),
      fatal,
    })
    await this.#sending.join().catch(error => {
      if (!this.leaving) throw error
    })
    this.#hasJoined = true
  }

  /** Sets its wall clock to a wrong time. */
  stepClock({ plan: { skewMs }, random }: Pick<SimProcessOptions, 'plan' | 'random'>): void {
    this.#clock.ahead = random.int(-skewMs, skewMs)
  }

  /** Suspends its machine until then. */
  suspend(until: number): void {
    this.#clock.suspend(this.#scheduler.now, until)
    this.#scheduler.suspend(this, until)
  }

  /** Ends its freeze, suspend and cut-off. */
  heal(): void {
    const { now } = this.#scheduler
    this.frozenUntil = Math.min(this.frozenUntil, now)
    this.cutUntil = Math.min(this.cutUntil, now)
    this.#clock.resume()
  }

  /** A planned stop; resolves when the process has ended. */
  async stop(): Promise<void> {
    this.leaving = true
    await this.#sending?.stop()
    await this.bus.close()
    this.dead = true
  }
}
