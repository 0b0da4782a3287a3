import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, readFileSync, readlinkSync, rmSync } from 'node:fs'
import { endWithThisProcess } from '../test/support/local-kafka/child.ts'
import { GarbageCount, traceFlag } from './garbage.ts'

/** The kernel's clock counts CPU time in these. */
const tickMicros = 10_000

/** Programs under measurement, each in its own process; CPU time and memory come from the kernel. */
export class Processes {
  readonly #children: ChildProcess[]
  readonly #garbage: GarbageCount[] = []
  readonly #scratch: string | null
  readonly startedAt = performance.now()

  /** @param scratch a folder that goes when they are stopped */
  constructor(
    commands: readonly { command: string; args: readonly string[]; env?: NodeJS.ProcessEnv }[],
    scratch: string | null = null,
  ) {
    this.#scratch = scratch
    this.#children = commands.map(({ command, args, env }) => {
      const stdout = args.includes(traceFlag) ? 'pipe' : 'ignore'
      return spawn(command, args, { env: { ...process.env, ...env }, stdio: ['ignore', stdout, 'inherit'] })
    })
    for (const child of this.#children) {
      endWithThisProcess(child, scratch ?? undefined)
      if (child.stdout) this.#garbage.push(new GarbageCount(child.stdout))
    }
  }

  get pids(): readonly number[] {
    return this.#children.map(({ pid }) => pid ?? 0)
  }

  /** @throws Error when one of them has ended by itself */
  check(): void {
    const gone = this.#children.find(({ exitCode, signalCode }) => exitCode !== null || signalCode !== null)
    if (gone) throw new Error(`${gone.spawnargs.join(' ')} ended by itself with ${gone.signalCode ?? gone.exitCode}`)
  }

  cpuMicros(): number {
    return cpuMicrosOf(this.pids)
  }

  /** Bytes that they have allocated on V8's heap; 0 where they do not tell. */
  garbageBytes(): number {
    return sum(this.#garbage.map(({ bytes }) => bytes))
  }

  /** The most that was ever resident, the sum of all processes. */
  peakMemoryMiB(): number {
    return sum(this.pids.map(peakMemoryMiBOf))
  }

  sockets(): number {
    return sum(this.pids.map(socketsOf))
  }

  async stop(): Promise<void> {
    await Promise.all(
      this.#children.map(async child => {
        if (child.exitCode !== null || child.signalCode !== null) return
        child.kill()
        await once(child, 'exit')
      }),
    )
    if (this.#scratch !== null) rmSync(this.#scratch, { recursive: true })
  }
}

/** User and system time since each began. */
export const cpuMicrosOf = (pids: readonly number[]): number => sum(pids.map(cpuOf))

function cpuOf(pid: number): number {
  // the name of the program, which may hold spaces, stands in brackets before the fields that are wanted
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1)!.split(' ')
  return (Number(fields[11]) + Number(fields[12])) * tickMicros
}

/** The most that was ever resident. */
export function peakMemoryMiBOf(pid: number): number {
  const kiB = /^VmHWM:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]
  return Number(kiB) / 1024
}

function socketsOf(pid: number): number {
  const folder = `/proc/${pid}/fd`
  return readdirSync(folder).filter(fd => linkOf(`${folder}/${fd}`).startsWith('socket:')).length
}

/** A descriptor may be closed meanwhile. */
function linkOf(path: string): string {
  try {
    return readlinkSync(path)
  } catch {
    return ''
  }
}

const sum = (values: readonly number[]) => values.reduce((total, value) => total + value, 0)
