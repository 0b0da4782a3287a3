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
  ['in the slowest and fastest tenth', ({ tenths }) => extremes(tenths)],
  ['CPU µs, with start', ({ cpuMicrosWithStart }) => fixed(cpuMicrosWithStart, 1)],
  ['first 200,000', ({ cpuMicrosFirst }) => fixed(cpuMicrosFirst, 1)],
  ['steady', ({ cpuMicrosSteady }) => fixed(cpuMicrosSteady, 1)],
  ['garbage, KB', ({ garbageSteady }) => fixed(garbageSteady && garbageSteady / 1000, 1)],
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

/** A Markdown table of the rows. */
export function tableOf(rows: readonly Row[]): string {
  const several = new Set(rows.map(({ program }) => program)).size > 1
  const shown = columns.filter(([, of]) => rows.some(({ figures }) => of(figures) !== ''))
  return markdown(
    ['', ...(several ? [''] : []), ...shown.map(([name]) => name)],
    rows.map(({ scenario, program, figures }) => [
      scenario.name,
      ...(several ? [program] : []),
      ...shown.map(([, of]) => of(figures)),
    ]),
  )
}

/** The figures of busgate in one scenario, and the costs of each program. */
interface Compared {
  own: Figures
  /** The CPU time of busgate and its peers, as multiples of the bare loop's. */
  ratio: (of: (figures: Figures) => number | undefined, program?: string) => string
  figuresOf: (program: string) => Figures | undefined
}

const comparedColumns = (peers: readonly string[]): readonly Column<Compared>[] => [
  ['commands/s', ({ own }) => whole(own.commandsPerSecond)],
  ...peers.map(peer => [peer, ({ figuresOf }: Compared) => whole(figuresOf(peer)?.commandsPerSecond)] as const),
  ['CPU µs, first 200,000', ({ own }) => fixed(own.cpuMicrosFirst, 1)],
  ['steady', ({ own }) => fixed(own.cpuMicrosSteady, 1)],
  ['garbage, KB', ({ own }) => fixed(own.garbageSteady && own.garbageSteady / 1000, 1)],
  ['of a core', ({ own }) => percent(own.core)],
  ["broker's", ({ own }) => percent(own.brokerCore)],
  ['× bare loop', ({ ratio }) => ratio(costIn)],
  ...peers.map(peer => [`${peer} ×`, ({ ratio }: Compared) => ratio(costIn, peer)] as const),
  ['append → POST, ms', ({ own }) => pair(own.appendToPost)],
  ['peak MiB', ({ own }) => whole(own.peakMemoryMiB)],
]

const costIn = ({ cpuMicrosFirst, core }: Figures) => cpuMicrosFirst ?? core

/** A Markdown table of busgate's figures and its cost relative to a bare loop, which is comparable between machines. */
export function comparedTableOf(rows: readonly Row[], loop: string): string {
  const peers = [...new Set(rows.map(({ program }) => program))].slice(1).filter(name => name !== loop)
  const lines = [...Map.groupBy(rows, ({ scenario }) => scenario.name)].map(([name, runs]) => {
    const figuresOf = (program: string) => runs.find(run => run.program === program)?.figures
    const own = runs[0]!.figures
    const ratio: Compared['ratio'] = (of, program) => {
      const [cost, least] = [program === undefined ? own : figuresOf(program), figuresOf(loop)].map(
        one => one && of(one),
      )
      return cost && least ? (cost / least).toFixed(1) : ''
    }
    return { name, own, ratio, figuresOf }
  })
  const shown = comparedColumns(peers).filter(([, of]) => lines.some(line => of(line) !== ''))
  return markdown(
    ['', ...shown.map(([name]) => name)],
    lines.map(line => [line.name, ...shown.map(([, of]) => of(line))]),
  )
}

/** A Markdown table of the cost of callbacks. */
export const callbackTableOf = (rows: readonly CallbackFigures[]): string =>
  markdown(
    callbackColumns.map(([name]) => name),
    rows.map(figures => callbackColumns.map(([, of]) => of(figures))),
  )

/** A Markdown table of the cost of opening a process's sessions. */
export const takeOverTableOf = (rows: readonly TakeOverFigures[]): string =>
  markdown(
    ['', 'partitions', 'requests', 'ms', 'CPU ms'],
    rows.map(({ how, partitions, requests, ms, cpuMs }) => [
      how,
      whole(partitions),
      whole(requests),
      whole(ms),
      whole(cpuMs),
    ]),
  )

function markdown(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const rule = head.map(name => (name === '' ? '---' : '---:'))
  return [head, rule, ...rows].map(cells => `| ${cells.join(' | ')} |`).join('\n')
}

const whole = (value?: number) => (value === undefined ? '' : Math.round(value).toLocaleString('en'))
const fixed = (value: number | undefined, digits: number) => (value === undefined ? '' : value.toFixed(digits))
const percent = (value?: number) => (value === undefined ? '' : `${(value * 100).toFixed(1)} %`)
const extremes = (values: readonly number[] = []) =>
  values.length === 0 ? '' : `${whole(Math.min(...values))} to ${whole(Math.max(...values))}`
const pair = (ranks?: Ranks) => (ranks === undefined ? '' : `${whole(ranks.p50)} / ${whole(ranks.p99)}`)
