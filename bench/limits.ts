import { spawn } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs'
import { setTimeout } from 'node:timers/promises'
import { parseDocument } from 'yaml'
import { endWithThisProcess } from '../test/support/local-kafka/child.ts'
import { profiling } from './programs.ts'

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
  const child = spawn(
    'sh',
    ['-c', `${group?.join ?? ''} exec "$0" "$@"`, process.execPath, ...profiling(), 'dist/cli/bin.js', 'run'],
    {
      env: { ...process.env, ...env, NODE_OPTIONS: nodeOptions },
      stdio: ['ignore', process.env.BENCH_LOG ? 'inherit' : 'ignore', 'inherit'],
    },
  )
  endWithThisProcess(child)
  return { child, group }
}

const healthEveryMs = 50
/** The time-out of the chart's liveness probe. */
export const livenessMs = 5_000

/** Polls /healthz, each time over a new connection. @returns the milliseconds of the slowest answer */
export async function watchHealth(url: string, over: () => boolean): Promise<number> {
  let slowest = 0
  const asks: Promise<void>[] = []
  while (!over()) {
    const begun = performance.now()
    const ask = fetch(url, { headers: { connection: 'close' } })
      .then(answer => answer.arrayBuffer())
      .then(
        () => {},
        () => {},
      )
      .then(() => {
        slowest = Math.max(slowest, performance.now() - begun)
      })
    asks.push(ask)
    await setTimeout(healthEveryMs)
  }
  await Promise.all(asks)
  return slowest
}
