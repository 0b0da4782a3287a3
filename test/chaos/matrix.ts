import { kafkaVersions } from '../support/local-kafka/maven.ts'
import type { Outcome } from './run.ts'

/** The share of the commands for runs with faults of all kinds; the others are for single scenarios. */
const shareOfFaults = 0.8
const outageMs = 300_000
/** Low enough for the load to last longer than the faults. */
const scenarioRate = 200
const scenarios = [
  ['--outage', String(outageMs)],
  ['--cut-off', '40000'],
  ['--rights', '3000,10000'],
  ['--suspends', '10'],
  ['--hand-back', '5'],
  ['--brokers', '3', '--rolling'],
  ['--brokers', '3', '--coordinator', '5'],
  ['--brokers', '3', '--ending', '3'],
  ['--brokers', '3', '--answers', '5'],
]

/** The arguments of each run of the first section of docs/evidence.md: both versions, half of the commands with Zstd. */
export function matrixOf(commands: number): string[][] {
  const clusters = kafkaVersions.flatMap(kafka => ['1', '3'].map(brokers => ['--kafka', kafka, '--brokers', brokers]))
  const mixed = clusters.flatMap(cluster => [cluster, [...cluster, '--codec', 'zstd']])
  const single = kafkaVersions.flatMap((kafka, i) =>
    scenarios.map(scenario => ['--kafka', kafka, ...scenario, ...(i % 2 === 0 ? [] : ['--codec', 'zstd'])]),
  )
  const share = (part: number, runs: string[][]) => String(Math.round((part * commands) / runs.length))
  return [
    ...mixed.map((args, i) => [...args, '--seed', String(i + 1), '--commands', share(shareOfFaults, mixed)]),
    ...single.map((args, i) => [
      ...args,
      ...['--seed', String(i + 1), '--commands', share(1 - shareOfFaults, single), '--rate', String(scenarioRate)],
    ]),
  ]
}

/** The row of one run in the table. @param outcome null if the run failed */
export function rowOf(args: readonly string[], outcome: Outcome | null): object {
  const run = args.join(' ')
  if (!outcome) return { run, broken: 'the run failed' }
  const { faults, broken, verdict } = outcome
  const { outcomes, ...counts } = verdict
  return { run, faults, ...counts, ...outcomes, broken: broken.join(', ') }
}
