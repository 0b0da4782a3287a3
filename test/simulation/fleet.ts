import type { Judge } from './judge/judge.ts'
import { SimProcess, type SimProcessOptions } from './process.ts'
import type { Scheduler } from './scheduler.ts'
import { keysLagMs } from './sealing.ts'
import { settingsOfProcess } from './settings.ts'
import type { Trace } from './trace.ts'

export interface FleetOptions extends Omit<SimProcessOptions, 'fatal'> {
  scheduler: Scheduler
  judge: Judge
  trace: Trace
}

/** The worker processes of a world. */
export class Fleet {
  readonly #options: FleetOptions
  readonly #processes: SimProcess[] = []

  constructor(options: FleetOptions) {
    this.#options = options
  }

  get alive(): SimProcess[] {
    return this.#processes.filter(({ dead }) => !dead)
  }

  /** The processes that live and were not asked to stop. */
  get staying(): SimProcess[] {
    return this.alive.filter(({ leaving }) => !leaving)
  }

  start(): void {
    const { judge, trace, plan, scheduler, random } = this.#options
    const name = `w${this.#processes.length + 1}`
    const report = (what: string) => (error: Error) =>
      judge.report('the worker keeps running', `${name} ${what}: ${textOf(error)}`)
    const own = { now: () => scheduler.now, lagMs: plan.keys.length > 0 ? random.int(0, keysLagMs) : 0 }
    const settings = settingsOfProcess(this.#options.settings, plan, own)
    const options = { ...this.#options, settings, fatal: report('gives up') }
    const started = new SimProcess(name, options)
    this.#processes.push(started)
    trace(name, 'starts')
    traceEvents(started, trace)
    started.start(options).catch(report('cannot start'))
  }

  /** A planned stop. */
  async stop(process: SimProcess): Promise<void> {
    const { judge, trace } = this.#options
    trace(process.name, 'is told to stop')
    judge.posts.stopping(process)
    try {
      await process.stop()
      trace(process.name, 'has stopped')
    } catch (error) {
      judge.report('the worker keeps running', `${process.name} cannot stop: ${textOf(error)}`)
    }
  }

  /** Ends all freezes and cut-offs. */
  heal(): void {
    for (const process of this.#processes) process.heal()
  }
}

function traceEvents({ name, telemetry }: SimProcess, trace: Trace): void {
  telemetry.on('session.opened', ({ topic, partition, offset, inDoubt }) =>
    trace(name, `opens ${topic}/${partition} at ${offset}${inDoubt ? `, ${inDoubt} in doubt` : ''}`),
  )
  telemetry.on('session.lost', ({ topic, partition, error }) =>
    trace(name, `loses its session of ${topic}/${partition}: ${error.message}`),
  )
  telemetry.on('log.cut', ({ topic, partition, unsent, perhapsSent }) =>
    trace(name, `reports ${unsent} unsent and ${perhapsSent} perhaps sent records of ${topic}/${partition} as lost`),
  )
  telemetry.on('session.closed', ({ topic, partition }) => trace(name, `closes ${topic}/${partition}`))
  telemetry.on('account.paused', ({ account, reason, retryInMs }) =>
    trace(name, `account ${account} pauses for ${Math.round(retryInMs)} ms: ${reason}`),
  )
}

export const textOf = (error: unknown): string =>
  error instanceof Error ? (error.stack ?? error.message) : String(error)
