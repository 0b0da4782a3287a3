import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { startChild } from '../support/local-kafka/child.ts'

export interface Member {
  name: string
  /** Resolves when it says that it is ready. @throws Error when it ends before, or takes longer than a minute */
  ready(): Promise<void>
  /** Resolves when it has opened a partition. @throws Error when it ends before, or takes longer than a minute */
  works(): Promise<void>
  /** Ends the process as kill -9 does. */
  kill(): Promise<void>
  /** SIGTERM; resolves when it has left. @throws Error when it did not exit with 0 */
  leave(): Promise<void>
  freeze(): void
  thaw(): void
  isReady(): Promise<boolean>
  /** What it has logged so far. */
  log(): string
}

export interface FleetOptions {
  env: Record<string, string>
  /** The command line, from the checkout's folder. */
  program: string
  /** The folder of their logs. */
  folder: string
  /** Gives each of them its own wrong clocks. Default: right clocks. */
  clockSeed?: number
  say: (line: string) => void
}

const startTimeoutMs = 60_000

/** The busgate processes under test. One that exits by itself is restarted, as a supervisor does. */
export class Fleet {
  readonly members = new Set<Member>()
  /** Settings of the processes that start from now on, beside those of all. */
  readonly settings: Record<string, string> = {}
  /** The number of unexpected exits. */
  restarts = 0
  readonly #options: FleetOptions
  #count = 0
  readonly #beside = new Set<Member>()
  #closing = false

  constructor(options: FleetOptions) {
    this.#options = options
  }

  start(): Member {
    const { say } = this.#options
    const { member, child, isExpected } = this.#spawn(`worker-${++this.#count}`, this.settings)
    this.members.add(member)
    void child.ended.then(({ how }) => {
      this.members.delete(member)
      if (isExpected() || this.#closing) return
      const lines = child.tail().split('\n')
      const why = lines.findLast(line => line.includes('"level":"fatal"')) ?? lines.at(-1)
      say(`${member.name} ${how} by itself: ${why?.slice(0, 300)}`)
      this.restarts++
      this.start()
    })
    return member
  }

  /** Starts a process that is not one of the workers: nobody restarts or kills it. */
  startBeside(name: string, settings: Record<string, string>): Member {
    const { member } = this.#spawn(`${name}-${++this.#count}`, { ...this.settings, ...settings })
    this.#beside.add(member)
    return member
  }

  #spawn(name: string, settings: Record<string, string>) {
    const { env, program, folder, clockSeed } = this.#options
    const logFile = join(folder, `${name}.log`)
    const clocks = clockSeed === undefined ? [] : ['--import', './test/chaos/wrong-clocks.ts']
    const child = startChild(process.execPath, [...clocks, program, 'run'], {
      cwd: process.cwd(),
      env: { ...process.env, ...env, ...settings, CHAOS_CLOCK_SEED: String((clockSeed ?? 0) + this.#count) },
      logFile,
    })
    let isExpected = false
    const until = async (state: string, reached: () => Promise<boolean>) => {
      const deadline = performance.now() + startTimeoutMs
      while (!(await reached())) {
        if (!child.running() || performance.now() > deadline)
          throw new Error(`${name} is not ${state}:\n${child.tail()}`)
        await pause(50)
      }
    }
    const log = () => readFileSync(logFile, 'utf8')
    const member: Member = {
      name,
      ready: () => until('ready', () => isReady(logFile)),
      works: () => until('at work', async () => log().includes('"session.opened"')),
      kill: async () => {
        isExpected = true
        child.signal('SIGKILL')
        await child.ended
      },
      leave: async () => {
        isExpected = true
        child.signal('SIGTERM')
        const { ok, how } = await child.ended
        const hadNoHandler = how === 'was ended by SIGTERM' // it had hardly started
        if (!ok && !hadNoHandler) throw new Error(`${name} ${how} when it was told to leave:\n${child.tail()}`)
      },
      freeze: () => child.signal('SIGSTOP'),
      thaw: () => child.signal('SIGCONT'),
      isReady: () => isReady(logFile),
      log,
    }
    return { member, child, isExpected: () => isExpected }
  }

  /** Starts processes until there are `count`, and waits until all are ready. */
  async fill(count: number): Promise<void> {
    while (this.members.size < count) this.start()
    await Promise.all([...this.members].map(member => member.ready()))
  }

  async close(): Promise<void> {
    this.#closing = true
    await Promise.all([...this.members, ...this.#beside].map(member => member.kill()))
  }
}

/** Asks /readyz at the port that the process has logged at its start. */
async function isReady(logFile: string): Promise<boolean> {
  const line = readFileSync(logFile, 'utf8').match(/^.*"worker\.started".*$/m)
  if (!line) return false
  const { telemetry } = JSON.parse(line[0]) as { telemetry: number }
  const response = await fetch(`http://127.0.0.1:${telemetry}/readyz`)
  await response.arrayBuffer()
  return response.ok
}
