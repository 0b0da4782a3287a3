import { type ChildProcess, spawn } from 'node:child_process'
import { closeSync, openSync, readFileSync } from 'node:fs'
import { setTimeout } from 'node:timers/promises'
import { initProducerId } from '../../../src/bus/cluster/apis.ts'
import { Brokers } from '../../../src/bus/cluster/brokers.ts'
import { committedOffsets } from '../../../src/bus/cluster/committed-offsets.ts'
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
  /** This process's own when left out. */
  env?: NodeJS.ProcessEnv
  /** A folder that goes when this process dies without having stopped the child. */
  scratch?: string | undefined
}

/**
 * Waits on a pipe that nobody writes to. It closes when this process is gone, however it went (kill -9 included),
 * and then the child has to go too. So no exit or signal handlers are needed here.
 */
const guardScript = 'read line; kill -9 "$1"; [ -z "$2" ] || rm -rf "$2"'

/** Has the child end when this process is gone. @param scratch a folder that goes with it */
export function endWithThisProcess(child: ChildProcess, scratch = ''): void {
  if (child.pid === undefined) return
  const guardArgs = ['-c', guardScript, 'guard', String(child.pid), scratch]
  const guard = spawn('/bin/sh', guardArgs, { detached: true, stdio: ['pipe', 'ignore', 'ignore'] })
  child.once('exit', () => guard.kill('SIGKILL'))
}

/** Starts another program in a process that ends with this one. Its output goes to a file. */
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
    /** 0: it could not be run. */
    pid: child.pid ?? 0,
    running,
    signal: (name: 'SIGTERM' | 'SIGKILL' | 'SIGSTOP' | 'SIGCONT') => void (running() && child.kill(name)),
    /** The last lines that the child has written. */
    tail: () => readFileSync(logFile, 'utf8').trimEnd().split('\n').slice(-25).join('\n'),
  }
}

const patience = 60_000

/** Asks until the answer is yes, the child has ended or a minute is over. */
export async function untilReady(name: string, ready: () => Promise<boolean>, child?: Child): Promise<void> {
  const deadline = Date.now() + patience
  let cause: unknown
  const asked = () =>
    ready().catch((error: unknown) => {
      cause = error
      return false
    })
  while (!(await asked())) {
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

async function asking<T>(seeds: readonly string[], ask: (brokers: Brokers) => Promise<T>): Promise<T> {
  const brokers = new Brokers({ clientId: 'warm-up', seeds, clock: systemClock, telemetry: new Telemetry() })
  try {
    return await ask(brokers)
  } finally {
    await brokers.close()
  }
}

/** The ids of the nodes that are up, as the node at this address sees them. */
export function nodesSeenFrom(address: string): Promise<readonly number[]> {
  return asking([address], async brokers => {
    await brokers.refresh()
    return brokers.nodes()
  })
}

/**
 * Has the cluster make its internal topics, so that the first transaction and the first group do not meet
 * COORDINATOR_NOT_AVAILABLE, NOT_COORDINATOR or COORDINATOR_LOAD_IN_PROGRESS.
 */
export async function warmUp(seeds: string[]): Promise<void> {
  const name = 'warm-up'
  await asking(seeds, async brokers => {
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
