import type { Figures } from './measure.ts'
import type { Ranks } from './ranks.ts'
import type { Scenario } from './scenarios.ts'

export interface Row {
  scenario: Scenario
  program: string
  figures: Figures
}

const columns: readonly [name: string, of: (figures: Figures) => string][] = [
  ['commands/s', ({ commandsPerSecond }) => whole(commandsPerSecond)],
  ['CPU µs, steady', ({ cpuMicrosSteady }) => fixed(cpuMicrosSteady, 1)],
  ['with start', ({ cpuMicrosWithStart }) => fixed(cpuMicrosWithStart, 1)],
  ['of a core', ({ core }) => percent(core)],
  ["broker's", ({ brokerCore }) => percent(brokerCore)],
  ['commits/s', ({ commitsPerSecond }) => whole(commitsPerSecond)],
  ['append → POST, ms', ({ appendToPost }) => pair(appendToPost)],
  ['answer → readable', ({ answerToReadable }) => pair(answerToReadable)],
  ['first POST, s', ({ firstPostSeconds }) => fixed(firstPostSeconds, 2)],
  ['peak MiB', ({ peakMemoryMiB }) => whole(peakMemoryMiB)],
  ['sockets', ({ sockets }) => whole(sockets)],
  ['twice', ({ repeated }) => whole(repeated)],
]

/** Writes the rows as a table in Markdown. */
export function tableOf(rows: readonly Row[]): string {
  const programs = new Set(rows.map(({ program }) => program)).size
  const told = columns.filter(([, of]) => rows.some(({ figures }) => of(figures) !== ''))
  const nameOf = ({ scenario, program }: Row) => (programs > 1 ? `${scenario.name}: ${program}` : scenario.name)
  const lines = [
    ['', ...told.map(([name]) => name)],
    ['---', ...told.map(() => '---:')],
    ...rows.map(row => [nameOf(row), ...told.map(([, of]) => of(row.figures))]),
  ]
  return lines.map(cells => `| ${cells.join(' | ')} |`).join('\n')
}

const whole = (value?: number) => (value === undefined ? '' : Math.round(value).toLocaleString('en'))
const fixed = (value: number | undefined, digits: number) => (value === undefined ? '' : value.toFixed(digits))
const percent = (value?: number) => (value === undefined ? '' : `${(value * 100).toFixed(1)} %`)
const pair = (ranks?: Ranks) => (ranks === undefined ? '' : `${whole(ranks.p50)} / ${whole(ranks.p99)}`)
