import { type ChildProcess, spawn } from 'node:child_process'
import { closeSync, openSync, readFileSync } from 'node:fs'

/** A process of another program that ends with this one. Its output goes to a file. */
export interface Child {
  ended: Promise<ProcessExit>
  /** 0: it could not be run. */
  pid: number
  running(): boolean
  signal(name: 'SIGTERM' | 'SIGKILL' | 'SIGSTOP' | 'SIGCONT'): void
  /** The last lines that the child has written. */
  tail(): string
}

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

export function startChild(command: string, args: string[], options: ChildOptions): Child {
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
    pid: child.pid ?? 0,
    running,
    signal: name => void (running() && child.kill(name)),
    tail: () => readFileSync(logFile, 'utf8').trimEnd().split('\n').slice(-25).join('\n'),
  }
}
