import { type ChildProcess, spawn } from 'node:child_process'
import { cpSync, globSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { coveringTests, distancesFrom } from './imports.ts'
import { type Mutant, plant } from './mutator.ts'

/** Number of simulated worlds for each mutant. */
const worlds = 80
/** Number of test files that run before the worlds. */
const nearest = 6
/** Most CPU time of a process; a mutant that loops for ever uses it up. */
const cpuSeconds = 300
/** Most time of a command; a mutant that waits for ever uses it up. */
const limitMs = 900_000

const copied = ['src', 'test', 'scripts']
const simulation = 'scripts/simulate.ts'

/** A copy of the project in which mutants are planted, one at a time. */
export class Trial {
  readonly #folder = mkdtempSync(join(tmpdir(), 'busgate-mutants-'))
  readonly #milliseconds = durations()
  readonly #simulated = distancesFrom(simulation)
  readonly #killers = new Set<string>()
  #running: ChildProcess | null = null

  constructor() {
    process.on('exit', () => this.#remove())
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => process.exit(1))
    for (const name of readdirSync('.')) {
      if (name === '.git') continue
      if (copied.includes(name)) cpSync(name, join(this.#folder, name), { recursive: true })
      else symlinkSync(resolve(name), join(this.#folder, name))
    }
  }

  /** @returns what noticed the mutant; null if nothing did */
  async killerOf(mutant: Mutant): Promise<string | null> {
    const place = join(this.#folder, mutant.file)
    const text = readFileSync(place, 'utf8')
    writeFileSync(place, plant(text, mutant))
    try {
      return await this.#judge(mutant.file)
    } finally {
      writeFileSync(place, text)
    }
  }

  /** Runs what killed mutants against the unchanged code. @returns what fails there, and so proves nothing */
  async falseKillers(): Promise<string[]> {
    const red: string[] = []
    if ((await this.#worlds()) !== null) red.push(simulation)
    if ((await this.#types()) !== null) red.push('types')
    for (const tests = new Set(this.#killers); tests.size > 0; ) {
      const test = await this.#tests([...tests])
      if (test === null) break
      red.push(test)
      if (!tests.delete(test)) break
    }
    return red
  }

  #remove(): void {
    if (this.#running) process.kill(-this.#running.pid!, 'SIGKILL')
    rmSync(this.#folder, { recursive: true, force: true })
  }

  async #judge(file: string): Promise<string | null> {
    const tests = coveringTests(file, this.#milliseconds)
    const steps = [
      () => this.#tests(tests.slice(0, nearest)),
      () => (this.#simulated.has(file) ? this.#worlds() : null),
      () => this.#types(),
      () => this.#tests(tests.slice(nearest)),
    ]
    for (const step of steps) {
      const killer = await step()
      if (killer !== null) return killer
    }
    return null
  }

  async #types(): Promise<string | null> {
    return (await this.#run(['node_modules/.bin/tsc', '-p', '.'])) === null ? null : 'types'
  }

  async #worlds(): Promise<string | null> {
    const output = await this.#run([process.execPath, simulation, '--seeds', String(worlds)])
    return output && (/^seed .*/m.exec(output)?.[0].slice(0, 80) ?? 'the simulation failed')
  }

  async #tests(tests: readonly string[]): Promise<string | null> {
    if (tests.length === 0) return null
    const vitest = [
      process.execPath,
      'node_modules/vitest/vitest.mjs',
      'run',
      '--config',
      'test/mutants/vitest.config.ts',
    ]
    const output = await this.#run([...vitest, '--root', '.', '--reporter', 'default'], {
      MUTANT_TESTS: JSON.stringify(tests),
    })
    if (output === null) return null
    const test = /FAIL +.*?(test\/\S+\.test\.ts)/.exec(output)?.[1]
    if (test) this.#killers.add(test)
    return test ?? 'the tests did not end'
  }

  /** @returns the output of a command that failed; null if it succeeded */
  #run(command: readonly string[], env: Record<string, string> = {}): Promise<string | null> {
    const child = spawn('sh', ['-c', `ulimit -t ${cpuSeconds}; exec "$@"`, 'sh', ...command], {
      cwd: this.#folder,
      env: { ...process.env, NO_COLOR: '1', ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
      detached: true,
    })
    this.#running = child
    let output = ''
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', text => {
        output = (output + text).slice(-200_000)
      })
    }
    const late = setTimeout(() => process.kill(-child.pid!, 'SIGKILL'), limitMs)
    return new Promise((done, failed) => {
      child.on('error', failed).on('close', code => {
        clearTimeout(late)
        this.#running = null
        done(code === 0 ? null : output || 'no output')
      })
    })
  }
}

/** How long each test file took last time, as far as Vitest's cache knows. */
function durations(): Map<string, number> {
  const found = new Map<string, number>()
  for (const file of globSync('node_modules/.vite/vitest/*/results.json')) {
    const { projects = {} } = JSON.parse(readFileSync(file, 'utf8')) as {
      projects?: Record<string, { files: Record<string, { duration: number }> }>
    }
    for (const { files } of Object.values(projects))
      for (const [test, { duration }] of Object.entries(files)) found.set(test, duration)
  }
  return found
}
