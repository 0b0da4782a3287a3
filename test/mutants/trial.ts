import { type ChildProcess, spawn } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join, resolve } from 'node:path'
import { Executions } from './executions.ts'
import { distancesFrom, testsThatImport } from './imports.ts'
import { type Mutant, plant } from './mutator.ts'

/** Number of simulated worlds for each mutant. */
const worlds = 80
/** Test files that take this much CPU time run before the worlds, and as many as take the longer time in all: the nearest. */
const nearMs = 6_000
const mostMs = 60_000
/** What commands take without a mutant. A command may take some times of it, and a while to start. */
const worldsMs = 8_000
const typesMs = 10_000
const unknownTestMs = 3_000
const patience = 5
const startMs = 15_000
/** A command gets a part of the CPU only, so it may take this many times as long by the clock. */
const busy = 10
/** Time-out of tests without a mutant: they must not fail for lack of CPU. */
const patiently = { MUTANT_TIMEOUT: '300000' }

const copied = ['src', 'test', 'scripts']
const simulation = 'scripts/simulate.ts'
const vitest = ['node_modules/vitest/vitest.mjs', 'run', '--config', 'test/mutants/vitest.config.ts', '--root', '.']

const compiler = [
  ...['node_modules/.bin/tsc', '-p', 'tsconfig.build.json', '--incremental', '--tsBuildInfoFile', 'types.json'],
  ...['--emitDeclarationOnly', '--sourceMap', 'false', '--inlineSources', 'false', '--outDir', 'types'],
]

/** Whether it is the test of this file: `worker/health.test.ts` of `worker/health.ts`. */
const isNamedAfter = (test: string, file: string): boolean => basename(test, '.test.ts') === basename(file, '.ts')

interface Command {
  run: readonly string[]
  /** What it takes without a mutant. */
  milliseconds: number
  env?: Record<string, string>
}

/** A copy of the project in which mutants are planted, one at a time. */
export class Trial {
  readonly #folder = mkdtempSync(join(tmpdir(), 'busgate-mutants-'))
  readonly #simulated = distancesFrom(simulation)
  readonly #killers = new Set<string>()
  readonly #executions = new Executions()
  /** The compiler's notes of the unchanged code, declarations included, which spare it most files. */
  #notes: Buffer | null = null
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

  /** Runs the tests that import one of the files and have changed, and notes which places each of them executes. */
  async measure(files: readonly string[]): Promise<void> {
    const notes = join(this.#folder, 'executions')
    mkdirSync(notes)
    const tests = new Set(files.flatMap(file => testsThatImport(file).map(({ test }) => test)))
    const changed = [...tests].filter(test => !this.#executions.isMeasured(test))
    const failed = await this.#tests(changed, { MUTANT_EXECUTIONS: notes, ...patiently })
    if (failed !== null) console.error(`${failed} fails without a mutant`)
    this.#executions.keep(notes, this.#folder)
  }

  /** @returns what noticed the mutant; null if nothing did */
  async killerOf(mutant: Mutant): Promise<string | null> {
    const place = join(this.#folder, mutant.file)
    const text = readFileSync(place, 'utf8')
    const steps = this.#stepsFor(mutant)
    this.#notes ??= await this.#compile().then(() => readFileSync(this.#notesFile))
    writeFileSync(place, plant(text, mutant))
    try {
      for (const step of steps) {
        const killer = await step()
        if (killer !== null) return killer
      }
      return null
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
      const test = await this.#tests([...tests], patiently)
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

  /** What finds most for its time comes first. */
  #stepsFor({ file, start, end }: Mutant): (() => Promise<string | null> | null)[] {
    const tests = testsThatImport(file)
      .filter(({ test }) => this.#executions.has(test, file, [start, end]))
      .map(({ test, distance }) => ({ test, cost: this.#costOf(test, file, distance) }))
      .sort((a, b) => a.cost - b.cost)
      .map(({ test }) => test)
    const [near, most] = [this.#within(nearMs, tests), this.#within(mostMs, tests)]
    return [
      () => this.#types(),
      () => this.#tests(tests.slice(0, near)),
      () => (this.#simulated.has(file) ? this.#worlds() : null),
      () => this.#tests(tests.slice(near, most)),
    ]
  }

  /** CPU time, more for tests that are less about the file: far from it, or executing little of it. */
  #costOf(test: string, file: string, distance: number): number {
    const share = this.#executions.shareOf(test, file)
    return (this.#millisecondsOf(test) * 2 ** (isNamedAfter(test, file) ? 0 : distance)) / share ** 16
  }

  /** @returns how many of the first tests take that time together */
  #within(milliseconds: number, tests: readonly string[]): number {
    let [count, sum] = [0, 0]
    while (count < tests.length && sum < milliseconds) sum += this.#millisecondsOf(tests[count++]!)
    return count
  }

  #millisecondsOf(test: string): number {
    return this.#executions.millisecondsOf(test) ?? unknownTestMs
  }

  async #types(): Promise<string | null> {
    if (this.#notes) writeFileSync(this.#notesFile, this.#notes)
    return (await this.#compile()) === null ? null : 'types'
  }

  get #notesFile(): string {
    return join(this.#folder, 'types.json')
  }

  #compile(): Promise<string | null> {
    return this.#run({ run: compiler, milliseconds: typesMs })
  }

  async #worlds(): Promise<string | null> {
    const run = [process.execPath, simulation, '--seeds', String(worlds)]
    const output = await this.#run({ run, milliseconds: worldsMs })
    return output && (/^seed .*/m.exec(output)?.[0].slice(0, 80) ?? 'the simulation failed')
  }

  async #tests(tests: readonly string[], env: Record<string, string> = {}): Promise<string | null> {
    if (tests.length === 0) return null
    const each = tests.map(test => this.#millisecondsOf(test))
    const output = await this.#run({
      run: [process.execPath, ...vitest, '--reporter', 'default'],
      milliseconds: each.reduce((sum, one) => sum + one),
      env: {
        MUTANT_TESTS: JSON.stringify(tests),
        MUTANT_TIMEOUT: String(startMs + patience * Math.max(...each)),
        ...env,
      },
    })
    if (output === null) return null
    const test = /FAIL +.*?(test\/\S+\.test\.ts)/.exec(output)?.[1]
    if (test) this.#killers.add(test)
    return test ?? 'the tests did not end'
  }

  /** @returns the output of a command that failed; null if it succeeded */
  #run({ run, milliseconds, env }: Command): Promise<string | null> {
    const limitMs = startMs + patience * milliseconds
    const child = spawn('sh', ['-c', `ulimit -t ${Math.ceil(limitMs / 1000)}; exec "$@"`, 'sh', ...run], {
      cwd: this.#folder,
      env: { ...process.env, NO_COLOR: '1', NODE_COMPILE_CACHE: join(this.#folder, 'compiled'), ...env },
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
    const late = setTimeout(() => process.kill(-child.pid!, 'SIGKILL'), busy * limitMs)
    return new Promise((done, failed) => {
      child.on('error', failed).on('close', code => {
        clearTimeout(late)
        this.#running = null
        done(code === 0 ? null : output || 'no output')
      })
    })
  }
}
