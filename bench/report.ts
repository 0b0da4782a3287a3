import type { CallbackFigures } from './callbacks.ts'
import type { Figures } from './measure.ts'
import type { Ranks } from './ranks.ts'
import type { Scenario } from './scenarios.ts'
import type { TakeOverFigures } from './take-over.ts'

export interface Row {
  scenario: Scenario
  program: string
  figures: Figures
}

type Column<F> = readonly [name: string, of: (figures: F) => string]

const columns: readonly Column<Figures>[] = [
  ['commands/s', ({ commandsPerSecond }) => whole(commandsPerSecond)],
  ['CPU µs, with start', ({ cpuMicrosWithStart }) => fixed(cpuMicrosWithStart, 1)],
  ['first 200,000', ({ cpuMicrosFirst }) => fixed(cpuMicrosFirst, 1)],
  ['steady', ({ cpuMicrosSteady }) => fixed(cpuMicrosSteady, 1)],
  ["broker's µs", ({ brokerMicros }) => fixed(brokerMicros, 1)],
  ['of a core', ({ core }) => percent(core)],
  ["broker's", ({ brokerCore }) => percent(brokerCore)],
  ['commits/s', ({ commitsPerSecond }) => whole(commitsPerSecond)],
  ['append → POST, ms', ({ appendToPost }) => pair(appendToPost)],
  ['answer → readable, ms', ({ answerToReadable }) => pair(answerToReadable)],
  ['first POST, s', ({ firstPostSeconds }) => fixed(firstPostSeconds, 2)],
  ['peak MiB', ({ peakMemoryMiB }) => whole(peakMemoryMiB)],
  ['sockets', ({ sockets }) => whole(sockets)],
  ['twice', ({ repeated }) => whole(repeated)],
]

const callbackColumns: readonly Column<CallbackFigures>[] = [
  ['callbacks/s', ({ callbacksPerSecond }) => whole(callbacksPerSecond)],
  ['CPU µs', ({ cpuMicrosPerCallback }) => fixed(cpuMicrosPerCallback, 1)],
  ['due → answer, ms', ({ dueToAnswer }) => pair(dueToAnswer)],
  ['peak MiB', ({ peakMemoryMiB }) => whole(peakMemoryMiB)],
  ['answered 200', ({ answered200 }) => whole(answered200)],
  ['otherwise', ({ otherAnswers }) => whole(otherAnswers)],
  ['missing', ({ missing }) => whole(missing)],
]

/** Writes the rows as a table in Markdown. */
export function tableOf(rows: readonly Row[]): string {
  const several = new Set(rows.map(({ program }) => program)).size > 1
  const told = columns.filter(([, of]) => rows.some(({ figures }) => of(figures) !== ''))
  return markdown(
    ['', ...(several ? [''] : []), ...told.map(([name]) => name)],
    rows.map(({ scenario, program, figures }) => [
      scenario.name,
      ...(several ? [program] : []),
      ...told.map(([, of]) => of(figures)),
    ]),
  )
}

/** Writes what callbacks cost as a table in Markdown. */
export const callbackTableOf = (rows: readonly CallbackFigures[]): string =>
  markdown(
    callbackColumns.map(([name]) => name),
    rows.map(figures => callbackColumns.map(([, of]) => of(figures))),
  )

/** Writes what it takes to open the sessions of a process as a table in Markdown. */
export const takeOverTableOf = (rows: readonly TakeOverFigures[]): string =>
  markdown(
    ['', 'partitions', 'requests', 'ms', 'CPU ms', 'by kind'],
    rows.map(({ how, partitions, requests, ms, cpuMs, byKind }) => [
      how,
      whole(partitions),
      whole(requests),
      whole(ms),
      whole(cpuMs),
      kindsText(byKind),
    ]),
  )

const kindsText = (byKind: TakeOverFigures['byKind']) =>
  Object.entries(byKind)
    .toSorted(([, one], [, other]) => other - one)
    .map(([kind, count]) => `${count} ${kind}`)
    .join(', ')

function markdown(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const rule = head.map(name => (name === '' ? '---' : '---:'))
  return [head, rule, ...rows].map(cells => `| ${cells.join(' | ')} |`).join('\n')
}

const whole = (value?: number) => (value === undefined ? '' : Math.round(value).toLocaleString('en'))
const fixed = (value: number | undefined, digits: number) => (value === undefined ? '' : value.toFixed(digits))
const percent = (value?: number) => (value === undefined ? '' : `${(value * 100).toFixed(1)} %`)
const pair = (ranks?: Ranks) => (ranks === undefined ? '' : `${whole(ranks.p50)} / ${whole(ranks.p99)}`)
