import { readFileSync } from 'node:fs'
import { freePorts } from '../test/support/local-kafka/ports.ts'
import { traceFlag } from './garbage.ts'
import { findBento } from './peers/bento.ts'
import { jobOf } from './peers/job.ts'
import { Processes } from './processes.ts'
import type { Program, Running, StartOptions } from './program.ts'
import { sealingKeys } from './sealing.ts'

/** The Node flags of `busgate`, wherever it runs: those in the first line of bin/busgate.js. */
export const nodeFlags = /^#!.* node (.+)$/m.exec(readFileSync('bin/busgate.js', 'utf8'))![1]!.split(' ')

/** Flags that write CPU profiles to the folder BENCH_PROFILE, if it is set. */
export const profiling = () =>
  process.env.BENCH_PROFILE ? ['--cpu-prof', `--cpu-prof-dir=${process.env.BENCH_PROFILE}`] : []

/** Starts the built worker with the settings of an ordinary installation. */
async function startBusgate({ scenario, gatewayUrl, env }: StartOptions): Promise<Running> {
  const ports = await freePorts(scenario.processes)
  const processes = new Processes(
    ports.map(port => ({
      command: process.execPath,
      args: [...profiling(), ...nodeFlags, traceFlag, 'dist/cli/bin.js', 'run'],
      env: {
        ...env,
        BUSGATE_KAFKA_START_FROM: 'earliest',
        BUSGATE_GATEWAY_URL: gatewayUrl,
        BUSGATE_GATEWAY_API_KEY: 'a-key',
        BUSGATE_GATEWAY_BALANCE_INTERVAL_MS: '0',
        ...(scenario.concurrency && { BUSGATE_GATEWAY_CONCURRENCY: String(scenario.concurrency) }),
        ...(scenario.hooks && {
          BUSGATE_CALLBACKS_PUBLIC_URL: 'https://hooks.shop.example',
          BUSGATE_CALLBACKS_SECRET: 'k1:a-secret-of-the-benchmark-alone',
        }),
        ...(scenario.kinds === 'sealed' && { BUSGATE_SEALING_KEYS: sealingKeys }),
        BUSGATE_TELEMETRY_PORT: String(port),
        BUSGATE_TELEMETRY_HOST: '127.0.0.1',
        BUSGATE_ROLES: 'worker',
      },
    })),
  )
  const commits = async () => {
    const counts = await Promise.all(ports.map(port => commitsOf(`http://127.0.0.1:${port}/metrics`)))
    return counts.reduce((sum, count) => sum + count, 0)
  }
  return { processes, commits }
}

async function commitsOf(metricsUrl: string): Promise<number> {
  const text = await (await fetch(metricsUrl)).text()
  return Number(/^busgate_commit_duration_seconds_count (.+)$/m.exec(text)?.[1] ?? 0)
}

const busgate = (name: string, env: Record<string, string> = {}): Program => ({
  name,
  does: () => true,
  start: options => startBusgate({ ...options, env: { ...options.env, ...env } }),
})

export const floor: Program = {
  name: 'bare loop',
  does: ({ kinds, hooks }) => kinds === 'sms' && !hooks,
  start: async options => ({
    processes: new Processes(
      Array.from({ length: options.scenario.processes }, () => ({
        command: process.execPath,
        args: [...profiling(), traceFlag, 'bench/floor.ts', JSON.stringify(jobOf(options))],
      })),
    ),
    commits: async () => null,
  }),
}

/** The names for `--peer`. Each function looks for what its program needs, and throws an Error that says what is missing. */
export const programs: Readonly<Record<string, () => Promise<Program>>> = {
  busgate: async () => busgate('busgate'),
  bento: findBento,
  floor: async () => floor,
}
