import { kafkaVersions } from '../support/local-kafka/maven.ts'
import type { Outcome } from './run.ts'

/** The share of the commands that run into every sort of trouble; the others are for scenarios. */
const shareOfFaults = 0.8
const outageMs = 300_000
/** So that the load lasts longer than the trouble. */
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
  const places = kafkaVersions.flatMap(kafka => ['1', '3'].map(brokers => ['--kafka', kafka, '--brokers', brokers]))
  const ofEverySort = places.flatMap(place => [place, [...place, '--codec', 'zstd']])
  const single = kafkaVersions.flatMap((kafka, i) =>
    scenarios.map(scenario => ['--kafka', kafka, ...scenario, ...(i % 2 === 0 ? [] : ['--codec', 'zstd'])]),
  )
  const share = (part: number, runs: string[][]) => String(Math.round((part * commands) / runs.length))
  return [
    ...ofEverySort.map((args, i) => [
      ...args,
      '--seed',
      String(i + 1),
      '--commands',
      share(shareOfFaults, ofEverySort),
    ]),
    ...single.map((args, i) => [
      ...args,
      ...['--seed', String(i + 1), '--commands', share(1 - shareOfFaults, single), '--rate', String(scenarioRate)],
    ]),
  ]
}

export interface Row {
  args: string[]
  /** Null: the run failed. */
  outcome: Outcome | null
}

/** Writes the rows as a table of Markdown. */
export function tableOf(rows: readonly Row[]): string {
  const head = ['run', 'commands', 'faults', 'without a final result', 'with two', 'executed twice', 'ever in doubt']
  const all = [[...head, 'then SENT', 'then UNRESOLVED', 'broken'], Array(10).fill('---'), ...rows.map(cells)]
  return all.map(line => `| ${line.join(' | ')} |`).join('\n')
}

function cells({ args, outcome }: Row): (string | number)[] {
  const name = `\`${args.join(' ')}\``
  if (!outcome) return [name, ...Array(8).fill(''), 'the run failed']
  const { verdict, faults, broken } = outcome
  return [
    name,
    ...[verdict.commands, faults, verdict.withoutFinalResult, verdict.withTwoFinalResults],
    verdict.executedTwiceUnderAtMostOnce + verdict.executedTwiceUnderAtLeastOnce,
    verdict.everInDoubt,
    ...['SENT', 'UNRESOLVED'].map(outcome => verdict.outcomes[`${outcome} after doubt`] ?? 0),
    broken.join(', '),
  ].map(cell => (typeof cell === 'number' ? cell.toLocaleString('en') : cell))
}
