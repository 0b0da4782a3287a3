import { type ChildProcess, spawn } from 'node:child_process'
import { closeSync, openSync, readFileSync } from 'node:fs'
import { setTimeout } from 'node:timers/promises'
import { initProducerId } from '../../../src/bus/cluster/apis.ts'
import { Brokers } from '../../../src/bus/cluster/brokers.ts'
import { committedOffsets } from '../../../src/bus/transactions/committed-offsets.ts'
import { systemClock } from '../../../src/clock.ts'
import { Telemetry } from '../../../src/telemetry/events.ts'

export type Child = ReturnType<typeof startChild>

export interface ProcessExit {
  ok: boolean
  /** "ended with code 1", to follow the name of the program. */
  how: string
}

export interface ChildOptions {
  cwd: string
  logFile: string
  /** Default: the environment of this process. */
  env?: NodeJS.ProcessEnv
  /** A folder to remove if this process dies before it stopped the child. */
  scratch?: string | undefined
}

/**
 * Waits on a pipe that nobody writes to. The pipe closes when this process ends, even by kill -9; then the script kills the
 * child. So this process needs no exit or signal handlers.
 */
const guardScript = 'read line; kill -9 "$1"; [ -z "$2" ] || rm -rf "$2"'

/** Kills the child when this process ends. @param scratch a folder to remove with it */
export function endWithThisProcess(child: ChildProcess, scratch = ''): void {
  if (child.pid === undefined) return
  const guardArgs = ['-c', guardScript, 'guard', String(child.pid), scratch]
  const guard = spawn('/bin/sh', guardArgs, { detached: true, stdio: ['pipe', 'ignore', 'ignore'] })
  child.once('exit', () => guard.kill('SIGKILL'))
}

/** Starts a program that is killed when this process ends. Its output goes to a file. */
export function startChild(command: string, args: string[], options: ChildOptions) {
  const { cwd, env = process.env, logFile } = options
  const log = openSync(logFile, 'a')
  // Detached, so that Ctrl-C reaches this process alone and it can still use the child while it shuts down.
  const child = spawn(command, args, { cwd, env, detached: true, stdio: ['ignore', log, log] })
  closeSync(log)

  const { promise: ended, resolve } = Promise.withResolvers<ProcessExit>()
  child.once('error', error => resolve({ ok: false, how: `could not be run (${error.message})` }))
  child.once('exit', (code, signal) =>
    resolve({ ok: code === 0, how: signal ? `was ended by ${signal}` : `ended with code ${code}` }),
  )
  endWithThisProcess(child, options.scratch)

  const running = () => child.pid !== undefined && child.exitCode === null && child.signalCode === null
  return {
    ended,
    /** 0: the program could not be started. */
    pid: child.pid ?? 0,
    running,
    signal: (name: 'SIGTERM' | 'SIGKILL' | 'SIGSTOP' | 'SIGCONT') => void (running() && child.kill(name)),
    /** The last 25 lines of the child's output. */
    tail: () => readFileSync(logFile, 'utf8').trimEnd().split('\n').slice(-25).join('\n'),
  }
}

const patience = 60_000

/** Polls `ready` until it is true. @throws Error if the child ends first, or after a minute */
export async function untilReady(name: string, ready: () => Promise<boolean>, child?: Child): Promise<void> {
  const deadline = Date.now() + patience
  let cause: unknown
  const isReady = () =>
    ready().catch((error: unknown) => {
      cause = error
      return false
    })
  while (!(await isReady())) {
    if (child && !child.running()) throw notStarted(`${name} ${(await child.ended).how}`, cause, child)
    if (Date.now() > deadline) throw notStarted(`${name} did not answer within ${patience / 1000} s`, cause, child)
    await setTimeout(50)
  }
}

function notStarted(what: string, cause: unknown, child?: Child): Error {
  const advice = 'A port in use, too little memory and a JVM older than 17 are the usual reasons.'
  const log = child ? ` The last lines of its log:\n${child.tail()}` : ''
  return new Error(`${what}. ${advice}${log}`, { cause })
}

async function withBrokers<T>(seeds: readonly string[], ask: (brokers: Brokers) => Promise<T>): Promise<T> {
  const brokers = new Brokers({ clientId: 'warm-up', seeds, clock: systemClock, telemetry: new Telemetry() })
  try {
    return await ask(brokers)
  } finally {
    await brokers.close()
  }
}

/** The ids of the running nodes, as the node at this address reports them. */
export function nodesSeenFrom(address: string): Promise<readonly number[]> {
  return withBrokers([address], async brokers => {
    await brokers.refresh()
    return brokers.nodes()
  })
}

/**
 * Makes the cluster create its internal topics, so that the first transaction and the first group do not get
 * COORDINATOR_NOT_AVAILABLE, NOT_COORDINATOR or COORDINATOR_LOAD_IN_PROGRESS.
 */
export async function warmUp(seeds: string[]): Promise<void> {
  const name = 'warm-up'
  await withBrokers(seeds, async brokers => {
    await Promise.all([
      untilReady("Kafka's transaction coordinator", async () => {
        await brokers.ask({ transaction: name }, initProducerId, [name, 10_000])
        return true
      }),
      untilReady("Kafka's group coordinator", async () => {
        await committedOffsets(brokers, name, [])
        return true
      }),
    ])
  })
}
