import { writeFile } from 'node:fs/promises'
import { availableParallelism, cpus, totalmem } from 'node:os'
import type { CallbackFigures } from './callbacks.ts'
import { floor } from './programs.ts'
import { callbackTableOf, comparedTableOf, type Row, takeOverTableOf } from './report.ts'
import type { TakeOverFigures } from './take-over.ts'

/** The figures that a full run gave. */
export interface Performance {
  rows: readonly Row[]
  callbacks: CallbackFigures
  takeOvers: readonly TakeOverFigures[]
  /** Of so many runs of each the cheapest is shown. */
  repeat: number
}

/** What the columns mean, and how the figures came about. */
function pageOf({ rows, callbacks, takeOvers, repeat }: Performance): string {
  const [{ model = 'unknown' } = {}] = cpus()
  const machine = `${availableParallelism()} cores (${model.trim()}), ${Math.round(totalmem() / 2 ** 30)} GiB`
  const peers = programsOf(rows)
    .slice(1)
    .filter(name => name !== floor.name)
  const isDrained = ({ scenario: { load } }: Row) => 'commands' in load
  return `# Performance

For operators and architects: see what a command costs in CPU, memory and time, and measure it yourself.

\`npm run bench\` writes this page. Measured on ${new Date().toISOString().slice(0, 10)}, Node ${process.versions.node}, ${machine}: worker, one broker, registry,
gateway (20 ms, envelopes of up to 100), producer and reader shared them.${repeat > 1 ? ` Each figure is from the cheapest of ${repeat} runs.` : ''} Four partitions,
one process and the default settings, unless the name says otherwise.

**× bare loop**: the CPU time divided by that of a loop in Node (\`bench/floor.ts\`) that decodes each command, POSTs envelopes with 64
in flight and writes four fields as JSON. It validates nothing, remembers no id, has no rate limit, and loses what is in flight when it
ends. The ratio is comparable between machines; microseconds are not.${peers.length > 0 ? ` ${peers.join(', ')} does the loop's job, at least once (\`bench/peers\`).` : ''} **peak MiB**: resident.

![CPU time of a command](performance.svg)

## A backlog
${comparedTableOf(rows.filter(isDrained), floor.name)}

- **commands/s**: from the first POST to the last result that a reader of committed records could read.
- **garbage**: memory that V8 allocates for each command, once code is compiled (\`--trace-gc\`).
- **CPU µs**: user and system time of the whole process for each command. *First 200,000*: from the first POST on, while code is
  compiled; the ratio is that of this column. *Steady*: the second half of the commands.

${ratesOf(rows)}
Ten million commands in one run (\`--commands 10000000\`, on 2026-11-27): 37,432 a second, 34,876 to 40,560 in each tenth; over 64 partitions
30,005, 25,677 to 35,302.

${behindOf(rows, peers)}

## A steady rate
${comparedTableOf(
  rows.filter(row => !isDrained(row)),
  floor.name,
)}

- **of a core**, **broker's**: CPU time of the worker and of the broker at a steady rate, once code is compiled.
- **append → POST**: p50 / p99 from the call that appends a command until the gateway has its envelope. *behind*: of the urgent commands
  alone.

## Callbacks
${callbackTableOf([callbacks])}

A receiver in its own process, over 64 connections, each callback of another message. **due → answer**: p50 / p99; **missing**:
answered 200 and not on the topic.

## A take-over
${takeOverTableOf(takeOvers)}

*take-over*: the predecessor was killed. **requests**: to the broker until all sessions are open, without fetches and heartbeats;
**ms**: from the assignment of the partitions until then.

## Measure it yourself
\`npm run bench\` takes a quarter of an hour. It starts Apache Kafka and a registry, or takes those that \`KAFKA_BROKERS\` and
\`REGISTRY_URL\` name. \`--peer bento\` (\`BENTO_BIN=/path/to/bento\`) also measures Bento; \`--repeat N\` repeats each scenario.

\`npm run bench -- --only NAME\` measures some scenarios, \`--commands N\` or \`--rate N --seconds N --warm-up N\` your own
(\`--partitions\`, \`--processes\`, \`--concurrency\`, \`--latency\`, \`--kinds mixed|cyrillic\`, \`--hooks\`, \`--gateway URL\`, \`--floor\`),
\`callbacks --rate N\` the receiver, \`take-over\` the last table. These print more columns and leave this page as it is.
`
}

/** The longest run's rate in each tenth of it. */
function ratesOf(rows: readonly Row[]): string {
  const { scenario, figures } = longestOf(rows)
  return `![Commands a second in each tenth of ${scenario.name}: ${figures.tenths!.map(rate => Math.round(rate)).join(', ')}](performance-rate.svg)
`
}

const commandsOf = ({ scenario: { load } }: Row) => ('commands' in load ? load.commands : 0)

const longestOf = (rows: readonly Row[]): Row =>
  rows.reduce((longest, row) => (commandsOf(row) > commandsOf(longest) ? row : longest))

/** What busgate costs beside its peers, where that is more than half. */
function behindOf(rows: readonly Row[], peers: readonly string[]): string {
  const costOf = (program: string, name: string) =>
    rows.find(row => row.program === program && row.scenario.name === name)?.figures.cpuMicrosFirst
  const names = rows.filter(row => commandsOf(row) > 0).map(({ scenario }) => scenario.name)
  return peers
    .map(peer => {
      const shares = [...new Set(names)].flatMap(name => {
        const [own, other] = [costOf(rows[0]!.program, name), costOf(peer, name)]
        return own && other ? [Math.round((own / other) * 100)] : []
      })
      return `busgate takes ${Math.min(...shares)} to ${Math.max(...shares)} % of ${peer}'s CPU time here. [Decision 014](decisions/014-measured-and-left-out.md) says where it goes.
`
    })
    .join('')
}

const programsOf = (rows: readonly Row[]) => [...new Set(rows.map(({ program }) => program))]

const barHeight = 22
const labelWidth = 420
const barWidth = 360
const colours = ['#3b82c4', '#d08a2e', '#8a63b8', '#6b8f3c', '#b85c5c']

/** CPU time of a command in the steady state, as bars, a colour for each program. Readable on white and on black. */
function chartOf(rows: readonly Row[]): string {
  const programs = programsOf(rows)
  const bars = rows.flatMap(({ scenario, program, figures }) =>
    figures.cpuMicrosSteady === undefined
      ? []
      : [
          {
            name: programs.length > 1 ? `${scenario.name}: ${program}` : scenario.name,
            colour: colours[programs.indexOf(program) % colours.length],
            value: figures.cpuMicrosSteady,
          },
        ],
  )
  const most = Math.max(...bars.map(({ value }) => value))
  const lines = bars.map(({ name, colour, value }, i) => {
    const y = i * barHeight
    const width = Math.round((value / most) * barWidth)
    return [
      `<text x="${labelWidth - 8}" y="${y + 15}" text-anchor="end">${name}</text>`,
      `<rect x="${labelWidth}" y="${y + 3}" width="${width}" height="${barHeight - 6}" rx="2" fill="${colour}"/>`,
      `<text x="${labelWidth + width + 6}" y="${y + 15}">${value.toFixed(1)} µs</text>`,
    ].join('\n')
  })
  const size = `width="${labelWidth + barWidth + 80}" height="${bars.length * barHeight}"`
  return `<svg xmlns="http://www.w3.org/2000/svg" ${size} font-family="sans-serif" font-size="13" fill="#808080">
<title>CPU time of a command, in the second half of a backlog</title>
${lines.join('\n')}
</svg>
`
}

const rateHeight = 120

/** Commands a second in each tenth of the longest run, as columns. */
function rateChartOf(rows: readonly Row[]): string {
  const { scenario, figures } = longestOf(rows)
  const rates = figures.tenths!
  const most = Math.max(...rates)
  const width = labelWidth + barWidth + 80
  const step = width / rates.length
  const columns = rates.map((rate, i) => {
    const height = Math.round((rate / most) * rateHeight)
    const x = Math.round(i * step) + 4
    return [
      `<rect x="${x}" y="${rateHeight - height + 20}" width="${Math.round(step) - 8}" height="${height}" rx="2" fill="${colours[0]}"/>`,
      `<text x="${x}" y="${rateHeight - height + 15}">${Math.round(rate).toLocaleString('en')}</text>`,
    ].join('\n')
  })
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${rateHeight + 24}" font-family="sans-serif" font-size="13" fill="#808080">
<title>Commands a second in each tenth of ${scenario.name}</title>
${columns.join('\n')}
</svg>
`
}

/** Writes docs/performance.md and its charts. */
export async function writePerformance(performance: Performance): Promise<void> {
  await writeFile('docs/performance.md', pageOf(performance))
  await writeFile('docs/performance.svg', chartOf(performance.rows))
  await writeFile('docs/performance-rate.svg', rateChartOf(performance.rows))
}
