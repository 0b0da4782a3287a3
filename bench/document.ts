import { writeFile } from 'node:fs/promises'
import { availableParallelism, cpus, totalmem } from 'node:os'
import type { CallbackFigures } from './callbacks.ts'
import { floor } from './programs.ts'
import { callbackTableOf, comparedTableOf, type Row, takeOverTableOf } from './report.ts'
import type { TakeOverFigures } from './take-over.ts'

/** The figures of a full run. */
export interface Performance {
  rows: readonly Row[]
  callbacks: CallbackFigures
  takeOvers: readonly TakeOverFigures[]
  /** The number of runs of each scenario, of which the cheapest is shown. */
  repeat: number
}

/** The page with its tables and an explanation of the columns. */
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
one process and the default settings, unless the name says otherwise. busgate runs with the flags of \`bin/busgate.js\`; the gateway
answers as the specification's examples do.

**× bare loop**: the CPU time divided by that of a loop in Node (\`bench/floor.ts\`) that decodes each command, POSTs envelopes with 64
in flight and writes four fields as JSON. It validates nothing, remembers no id, has no rate limit, and loses what is in flight when it
ends. The ratio is comparable between machines; microseconds are not.${peers.length > 0 ? ` ${peers.join(', ')} does the loop's job, at least once (\`bench/peers\`).` : ''} **peak MiB**: resident.

## A backlog
${comparedTableOf(rows.filter(isDrained), floor.name)}

- **commands/s**: from the first POST to the last result that a reader of committed records could read${peers.length > 0 ? '; beside it the other program' : ''}.
- **garbage**: memory that V8 allocates for each command, once code is compiled (\`--trace-gc\`).
- **CPU µs**: user and system time of the whole process for each command. *First 200,000*: from the first POST on, while code is
  compiled; the ratio is that of this column. *Steady*: the second half of the commands.

${ratesOf(rows)}
Ten million commands in one run (\`--commands 10000000\`, on 2026-11-27): 37,432 a second, 34,876 to 40,560 in each tenth; over 64 partitions
30,005, 25,677 to 35,302.

${sharesOf(rows, peers)}

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
(\`--partitions\`, \`--processes\`, \`--concurrency\`, \`--latency\`, \`--kinds mixed|cyrillic|sealed\`, \`--hooks\`, \`--gateway URL\`, \`--floor\`),
\`callbacks --rate N\` the receiver, \`take-over\` the last table. These leave this page as it is, and print more columns: \`twice\` counts messages that the gateway got twice, \`with start\` includes the process's start.
`
}

/** A chart of the rate in each tenth of the longest run. */
function ratesOf(rows: readonly Row[]): string {
  const { scenario, figures } = longestOf(rows)
  const rates = figures.tenths!.map(rate => Math.round(rate))
  return `\`\`\`mermaid
xychart-beta
  title "Commands a second in each tenth of ${scenario.name}"
  y-axis 0 --> ${Math.max(...rates)}
  bar [${rates.join(', ')}]
\`\`\`
`
}

const commandsOf = ({ scenario: { load } }: Row) => ('commands' in load ? load.commands : 0)

const longestOf = (rows: readonly Row[]): Row =>
  rows.reduce((longest, row) => (commandsOf(row) > commandsOf(longest) ? row : longest))

/** A sentence for each peer: the share of its CPU time that busgate takes. */
function sharesOf(rows: readonly Row[], peers: readonly string[]): string {
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

/** Writes docs/performance.md. */
export async function writePerformance(performance: Performance): Promise<void> {
  await writeFile('docs/performance.md', pageOf(performance))
}
