import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Worker } from 'node:worker_threads'
import { parseDocument } from 'yaml'
import { endWithThisProcess } from '../test/support/local-kafka/child.ts'
import { nodeFlags, profiling } from './programs.ts'

interface ChartValues {
  resources: { limits: { memory: string } }
  nodeOptions: string
}

/** The chart's memory limit and Node options for a role. */
function chartOf(role: 'worker' | 'callbacks'): { memory: string; nodeOptions: string } {
  const values = parseDocument(readFileSync('helm/values.yaml', 'utf8')).toJS() as Record<typeof role, ChartValues>
  const { resources, nodeOptions } = values[role]
  return { memory: resources.limits.memory, nodeOptions }
}

/** Creates a control group with this memory limit. Linux only, with the right to create one; else null. */
function controlGroup(memory: string) {
  const limit = Number.parseInt(memory, 10) * 2 ** 20
  const path = `/sys/fs/cgroup/memory/busgate-${process.pid}-${Date.now()}`
  if (!existsSync('/sys/fs/cgroup/memory/memory.limit_in_bytes')) return null
  try {
    mkdirSync(path)
    writeFileSync(`${path}/memory.limit_in_bytes`, String(limit))
  } catch {
    return null
  }
  return {
    limit,
    join: `echo $$ > ${path}/cgroup.procs;`,
    peak: () => Number(readFileSync(`${path}/memory.max_usage_in_bytes`, 'utf8')),
    remove: () => rmdirSync(path),
  }
}

/** Starts `busgate run` with the chart's Node options and, if a control group can be created, its memory limit. */
export function spawnAsCharted(role: 'worker' | 'callbacks', env: NodeJS.ProcessEnv) {
  const { memory, nodeOptions } = chartOf(role)
  const group = controlGroup(memory)
  const turns = join(mkdtempSync(join(tmpdir(), 'busgate-bench-')), 'turns')
  writeFileSync(turns, '')
  const flags = ['--import', new URL('turns.ts', import.meta.url).href, ...profiling(), ...nodeFlags]
  const child = spawn(
    'sh',
    ['-c', `${group?.join ?? ''} exec "$0" "$@"`, process.execPath, ...flags, 'dist/cli/bin.js', 'run'],
    {
      env: { ...process.env, ...env, NODE_OPTIONS: nodeOptions, BENCH_TURNS: turns },
      stdio: ['ignore', process.env.BENCH_LOG ? 'inherit' : 'ignore', 'inherit'],
    },
  )
  endWithThisProcess(child)
  return { child, group, longestTurn: (since: number) => longestTurn(turns, since) }
}

/** CPU milliseconds of the longest turn of the event loop since a time, in milliseconds since 1970; 0 if none is long. */
function longestTurn(file: string, since: number): number {
  const turns = readFileSync(file, 'utf8').trimEnd().split('\n')
  const later = turns.map(turn => turn.split(' ').map(Number)).filter(([at = 0]) => at >= since)
  return later.reduce((longest, [, ms = 0]) => Math.max(longest, ms), 0)
}

/** The time-out of the chart's liveness probe. */
export const livenessMs = 5_000

/** Polls /healthz in a thread of its own. @returns a function that ends this and tells the milliseconds of the slowest answer */
export function watchHealth(url: string): () => Promise<number> {
  const watch = new Worker(new URL('health-watch.ts', import.meta.url), { workerData: url })
  return async () => {
    watch.postMessage('stop')
    const [slowest] = await once(watch, 'message')
    return slowest
  }
}
