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
}

export interface FleetOptions {
  env: Record<string, string>
  /** The command line, from the checkout's folder. */
  program: string
  /** Their logs are written there. */
  folder: string
  /** Gives each its own wrong clocks. */
  clockSeed?: number
  say: (line: string) => void
}

const patienceMs = 60_000

/** Processes of busgate that come and go. One that ends by itself is started again, as its supervisor would. */
export class Fleet {
  readonly members = new Set<Member>()
  /** Unexpected exits. */
  restarts = 0
  readonly #options: FleetOptions
  #count = 0
  #closing = false

  constructor(options: FleetOptions) {
    this.#options = options
  }

  start(): Member {
    const { env, program, folder, clockSeed, say } = this.#options
    const name = `worker-${++this.#count}`
    const logFile = join(folder, `${name}.log`)
    const clocks = clockSeed === undefined ? [] : ['--import', './test/chaos/wrong-clocks.ts']
    const child = startChild(process.execPath, [...clocks, program, 'run'], {
      cwd: process.cwd(),
      env: { ...process.env, ...env, CHAOS_CLOCK_SEED: String((clockSeed ?? 0) + this.#count) },
      logFile,
    })
    let asked = false
    const until = async (state: string, reached: () => Promise<boolean>) => {
      const patience = performance.now() + patienceMs
      while (!(await reached())) {
        if (!child.running() || performance.now() > patience)
          throw new Error(`${name} is not ${state}:\n${child.tail()}`)
        await pause(50)
      }
    }
    const member: Member = {
      name,
      ready: () => until('ready', () => isReady(logFile)),
      works: () => until('at work', async () => readFileSync(logFile, 'utf8').includes('"session.opened"')),
      kill: async () => {
        asked = true
        child.signal('SIGKILL')
        await child.ended
      },
      leave: async () => {
        asked = true
        child.signal('SIGTERM')
        const { ok, how } = await child.ended
        const beforeItsHandlers = how === 'was ended by SIGTERM' // it had hardly begun
        if (!ok && !beforeItsHandlers) throw new Error(`${name} ${how} when it was told to leave:\n${child.tail()}`)
      },
      freeze: () => child.signal('SIGSTOP'),
      thaw: () => child.signal('SIGCONT'),
    }
    this.members.add(member)
    void child.ended.then(({ how }) => {
      this.members.delete(member)
      if (asked || this.#closing) return
      const said = child.tail().split('\n')
      const why = said.findLast(line => line.includes('"level":"fatal"')) ?? said.at(-1)
      say(`${name} ${how} by itself: ${why?.slice(0, 300)}`)
      this.restarts++
      this.start()
    })
    return member
  }

  /** So many in all, each of them ready. */
  async fill(count: number): Promise<void> {
    while (this.members.size < count) this.start()
    await Promise.all([...this.members].map(member => member.ready()))
  }

  async close(): Promise<void> {
    this.#closing = true
    await Promise.all([...this.members].map(member => member.kill()))
  }
}

/** A process tells its port when it has started. */
async function isReady(logFile: string): Promise<boolean> {
  const line = readFileSync(logFile, 'utf8').match(/^.*"worker\.started".*$/m)
  if (!line) return false
  const { telemetry } = JSON.parse(line[0]) as { telemetry: number }
  const response = await fetch(`http://127.0.0.1:${telemetry}/readyz`)
  await response.arrayBuffer()
  return response.ok
}
