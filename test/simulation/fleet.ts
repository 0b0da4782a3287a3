import type { Judge } from './judge/judge.ts'
import { SimProcess, type SimProcessOptions } from './process.ts'
import type { Scheduler } from './scheduler.ts'
import type { Trace } from './trace.ts'

export interface FleetOptions extends Omit<SimProcessOptions, 'fatal'> {
  scheduler: Scheduler
  judge: Judge
  trace: Trace
}

/** The worker processes that come and go. */
export class Fleet {
  readonly #options: FleetOptions
  readonly #processes: SimProcess[] = []

  constructor(options: FleetOptions) {
    this.#options = options
  }

  get alive(): SimProcess[] {
    return this.#processes.filter(({ dead }) => !dead)
  }

  /** The processes that are there to stay. */
  get staying(): SimProcess[] {
    return this.alive.filter(({ leaving }) => !leaving)
  }

  start(): void {
    const { judge, trace } = this.#options
    const name = `w${this.#processes.length + 1}`
    const accuse = (what: string) => (error: Error) =>
      judge.accuse('the worker goes on', `${name} ${what}: ${textOf(error)}`)
    const options = { ...this.#options, fatal: accuse('gives up') }
    const started = new SimProcess(name, options)
    this.#processes.push(started)
    trace(name, 'starts')
    narrate(started, trace)
    started.start(options).catch(accuse('cannot start'))
  }

  /** A planned stop. */
  async stop(process: SimProcess): Promise<void> {
    const { judge, trace } = this.#options
    trace(process.name, 'is asked to stop')
    judge.posts.stopping(process)
    try {
      await process.stop()
      trace(process.name, 'has stopped')
    } catch (error) {
      judge.accuse('the worker goes on', `${process.name} cannot stop: ${textOf(error)}`)
    }
  }

  /** Frozen processes go on, and those cut off reach the bus again. */
  heal(): void {
    for (const process of this.#processes) process.heal()
  }
}

function narrate({ name, telemetry }: SimProcess, trace: Trace): void {
  telemetry.on('session.opened', ({ topic, partition, offset, inDoubt }) =>
    trace(name, `opens ${topic}/${partition} at ${offset}${inDoubt ? `, ${inDoubt} in doubt` : ''}`),
  )
  telemetry.on('session.lost', ({ topic, partition, error }) =>
    trace(name, `loses its session of ${topic}/${partition}: ${error.message}`),
  )
  telemetry.on('log.cut', ({ topic, partition, unsent, perhapsSent }) =>
    trace(name, `tells that ${unsent} + ${perhapsSent} of ${topic}/${partition} are gone`),
  )
  telemetry.on('session.closed', ({ topic, partition }) => trace(name, `closes ${topic}/${partition}`))
  telemetry.on('account.paused', ({ account, reason, retryInMs }) =>
    trace(name, `account ${account} pauses for ${Math.round(retryInMs)} ms: ${reason}`),
  )
}

export const textOf = (error: unknown): string =>
  error instanceof Error ? (error.stack ?? error.message) : String(error)
