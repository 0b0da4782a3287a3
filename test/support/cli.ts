import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { onTestFinished, vi } from 'vitest'
import { runLine } from '../../src/cli/run-line.ts'

export interface CliResult {
  code: number | null
  stdout: string
  stderr: string
}

export interface CliOptions {
  /** Variables in addition to this process's, whose BUSGATE_ variables are left out. */
  env?: Record<string, string>
  input?: string | Buffer
  /** `bin` is what `npx busgate` runs. Default `main`. */
  entry?: 'main' | 'bin'
}

const entries = {
  main: join(import.meta.dirname, '../../src/cli/main.ts'),
  bin: join(import.meta.dirname, '../../bin/busgate.js'),
}
/** Halves the time that a command line takes to start. */
const compileCache = join(import.meta.dirname, '../../.cache/compiled')

/** Runs a command line to its end. */
export function busgate(args: string[], options?: CliOptions): Promise<CliResult> {
  return startBusgate(args, options).ended
}

const signals = ['SIGINT', 'SIGTERM'] as const

/** Runs a command line in this process, which is faster. Only one may run at a time. */
export async function busgateHere(
  args: string[],
  { env = {}, input = '' }: Omit<CliOptions, 'entry'> = {},
): Promise<CliResult> {
  const written = { stdout: '', stderr: '' }
  const spies = (['stdout', 'stderr'] as const).map(name =>
    vi.spyOn(process[name], 'write').mockImplementation(text => {
      written[name] += text
      return true
    }),
  )
  const given: Readable = Readable.from([Buffer.from(input)])
  const stdin = vi.spyOn(process, 'stdin', 'get').mockReturnValue(given as typeof process.stdin)
  for (const [name, value] of Object.entries(env)) vi.stubEnv(name, value)
  const before = signals.map(signal => process.listeners(signal))
  try {
    return { code: await runLine(args), ...written }
  } finally {
    vi.unstubAllEnvs()
    for (const spy of [...spies, stdin]) spy.mockRestore()
    // a command listens until its process ends
    for (const [i, signal] of signals.entries()) {
      for (const listener of process.listeners(signal)) {
        if (!before[i]!.includes(listener)) process.off(signal, listener)
      }
    }
  }
}

/** Parses standard output as one JSON object a line. */
export const jsonOf = ({ stdout }: CliResult) =>
  stdout
    .split('\n')
    .filter(Boolean)
    .map(line => JSON.parse(line))

/** Starts a command line. It is killed at the end of the test. */
export function startBusgate(args: string[], { env = {}, input = '', entry = 'main' }: CliOptions = {}) {
  const own = Object.entries(process.env).filter(([name]) => !name.startsWith('BUSGATE_'))
  const child = spawn(process.execPath, [entries[entry], ...args], {
    env: { ...Object.fromEntries(own), NO_COLOR: '1', NODE_COMPILE_CACHE: compileCache, ...env },
  })
  const stdout = textOf(child.stdout)
  const stderr = textOf(child.stderr)
  child.stdin.on('error', () => {}) // it may end before it reads its input
  child.stdin.end(input)
  const ended: Promise<CliResult> = endOf(child).then(code => ({ code, stdout: stdout(), stderr: stderr() }))
  onTestFinished(async () => {
    child.kill('SIGKILL')
    await ended
  })
  return {
    /** What it has written so far. */
    stdout,
    stderr,
    signal: (name: NodeJS.Signals) => child.kill(name),
    /** Waits until a line of standard output contains this text. @returns the line */
    line: (text: string) => vi.waitFor(() => lineWith(text, stdout(), stderr()), { timeout: 60_000, interval: 20 }),
    ended,
  }
}

async function endOf(child: ChildProcess): Promise<number | null> {
  const [code] = await once(child, 'close')
  return code
}

function textOf(stream: NodeJS.ReadableStream): () => string {
  let text = ''
  stream.setEncoding('utf8').on('data', chunk => {
    text += chunk
  })
  return () => text
}

function lineWith(text: string, stdout: string, stderr: string): string {
  const line = stdout.split('\n').find(one => one.includes(text))
  if (line === undefined) throw new Error(`no line with ${text}; standard error: ${stderr}`)
  return line
}
