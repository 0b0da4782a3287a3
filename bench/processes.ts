import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, readFileSync, readlinkSync, rmSync } from 'node:fs'
import { endWithThisProcess } from '../test/support/local-kafka/child.ts'
import { GarbageCount, traceFlag } from './garbage.ts'

/** The kernel counts CPU time in ticks of this length. */
const tickMicros = 10_000

/** Programs under measurement, each in its own process; CPU time and memory come from the kernel. */
export class Processes {
  readonly #children: ChildProcess[]
  readonly #garbage: GarbageCount[] = []
  readonly #scratch: string | null
  readonly startedAt = performance.now()

  /** @param scratch a folder to remove after they are stopped */
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

  /** @throws Error if one of them has ended by itself */
  check(): void {
    const gone = this.#children.find(({ exitCode, signalCode }) => exitCode !== null || signalCode !== null)
    if (gone) throw new Error(`${gone.spawnargs.join(' ')} ended by itself with ${gone.signalCode ?? gone.exitCode}`)
  }

  cpuMicros(): number {
    return cpuMicrosOf(this.pids)
  }

  /** Bytes allocated on V8's heap; 0 if unknown. */
  garbageBytes(): number {
    return sum(this.#garbage.map(({ bytes }) => bytes))
  }

  /** Peak resident memory, as a sum over all processes. */
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

/** User and system time of processes since their start. */
export const cpuMicrosOf = (pids: readonly number[]): number => sum(pids.map(cpuOf))

function cpuOf(pid: number): number {
  // the program's name, which may contain spaces, is in brackets in front of the needed fields
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1)!.split(' ')
  return (Number(fields[11]) + Number(fields[12])) * tickMicros
}

/** Peak resident memory. */
export function peakMemoryMiBOf(pid: number): number {
  const kiB = /^VmHWM:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]
  return Number(kiB) / 1024
}

function socketsOf(pid: number): number {
  const folder = `/proc/${pid}/fd`
  return readdirSync(folder).filter(fd => linkOf(`${folder}/${fd}`).startsWith('socket:')).length
}

/** The target of a link; empty if the descriptor was closed in the meantime. */
function linkOf(path: string): string {
  try {
    return readlinkSync(path)
  } catch {
    return ''
  }
}

const sum = (values: readonly number[]) => values.reduce((total, value) => total + value, 0)
