import { execFile } from 'node:child_process'
import { promisify } from 'node:util'

const run = promisify(execFile)
const runs = 7

const entries = ['kafkajs', 'busgate', 'busgate/producer', 'busgate/consumer', 'busgate/gateway', 'busgate/protocol']
const commands = ['message', 'run']

interface Cost {
  cpuMs: number
  mib: number
}

/** Runs code in a process of its own. */
async function costOf(code: string): Promise<Cost> {
  const report = `
    const { user, system } = process.cpuUsage(before)
    process.stderr.write(JSON.stringify({ cpuMs: (user + system) / 1000, mib: process.memoryUsage.rss() / 2 ** 20 }))`
  const script = `const before = process.cpuUsage(); ${code}; ${report}`
  const { stderr } = await run(process.execPath, ['--input-type=module', '--eval', script])
  return JSON.parse(stderr)
}

/** What it costs to import each entry point of the built package, and to load a command: the least of several runs. */
export async function measureImports(): Promise<Record<string, string | number>[]> {
  const codes = new Map([
    ...entries.map(entry => [entry, `await import('${entry}')`] as const),
    ...commands.map(name => {
      const load = `process.argv = ['node', 'busgate', '${name}', '--help']; await import('./dist/cli/bin.js')`
      return [`busgate ${name} --help`, load] as const
    }),
  ])
  const least = new Map<string, Cost>()
  for (let i = 0; i < runs; i++) {
    for (const [what, code] of codes) {
      const cost = await costOf(code)
      const { cpuMs, mib } = least.get(what) ?? cost
      least.set(what, { cpuMs: Math.min(cpuMs, cost.cpuMs), mib: Math.min(mib, cost.mib) })
    }
  }
  const kafkajs = least.get('kafkajs')!
  return [...least].map(([what, { cpuMs, mib }]) => ({
    what,
    'CPU, ms': Math.round(cpuMs),
    'of kafkajs': (cpuMs / kafkajs.cpuMs).toFixed(1),
    'memory, MiB': Math.round(mib),
    "of kafkajs'": (mib / kafkajs.mib).toFixed(2),
  }))
}
