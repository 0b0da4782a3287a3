import { freePorts } from '../src/cli/local-kafka/ports.ts'
import { Processes } from './processes.ts'
import type { Scenario } from './scenarios.ts'

/** A program that does the main job, running. */
export interface Running {
  processes: Processes
  /** Transactions that the brokers have confirmed; null: it does not tell. */
  commits(): Promise<number | null>
}

export interface StartOptions {
  scenario: Scenario
  gatewayUrl: string
  /** Brokers, registry, group and topics, as settings of busgate. */
  env: Record<string, string>
}

/** BENCH_PROFILE names a folder for CPU profiles. */
export const profiling = () =>
  process.env.BENCH_PROFILE ? ['--cpu-prof', `--cpu-prof-dir=${process.env.BENCH_PROFILE}`] : []

/** The worker as `npm run build` made it, with the settings of an ordinary installation. */
export async function startBusgate({ scenario, gatewayUrl, env }: StartOptions): Promise<Running> {
  const ports = await freePorts(Array.from({ length: scenario.processes }, () => 0))
  const processes = new Processes(
    ports.map(port => ({
      command: process.execPath,
      args: [...profiling(), 'dist/cli/bin.js', 'run'],
      env: {
        ...env,
        // the group is new on a topic that is full; one that is under way looks nothing up
        BUSGATE_KAFKA_START_FROM: 'earliest',
        BUSGATE_DELIVERY_CHECK_RESULTS: 'false',
        BUSGATE_GATEWAY_URL: gatewayUrl,
        BUSGATE_GATEWAY_API_KEY: 'a-key',
        BUSGATE_GATEWAY_BALANCE_INTERVAL_MS: '0',
        ...(scenario.concurrency && { BUSGATE_GATEWAY_CONCURRENCY: String(scenario.concurrency) }),
        ...(scenario.hooks && {
          BUSGATE_CALLBACKS_PUBLIC_URL: 'https://hooks.shop.example',
          BUSGATE_CALLBACKS_SECRET: 'k1:a-secret-of-the-benchmark-alone',
        }),
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

type Start = (options: StartOptions) => Promise<Running>

/** `--peer` takes these names. */
export const programs: Readonly<Record<string, Start>> = {
  busgate: startBusgate,
  'busgate on kafkajs': options =>
    startBusgate({ ...options, env: { ...options.env, BUSGATE_KAFKA_CLIENT: 'kafkajs' } }),
}
