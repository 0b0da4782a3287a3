import { writeFile } from 'node:fs/promises'
import { availableParallelism, cpus, totalmem } from 'node:os'
import type { CallbackFigures } from './callbacks.ts'
import { callbackTableOf, type Row, tableOf, takeOverTableOf } from './report.ts'
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
  const peers = programsOf(rows).slice(1)
  const isDrained = ({ scenario: { load } }: Row) => 'commands' in load
  return `# Performance

Made by \`npm run bench\`, which makes it anew. It starts Apache Kafka and a registry of its own, or takes those that
KAFKA_BROKERS and REGISTRY_URL name.

Measured on ${new Date().toISOString().slice(0, 10)}, Node ${process.versions.node}, ${machine}: the worker, one broker, the registry,
the gateway (20 ms, envelopes of up to 100) and who produces and reads shared them.${repeat > 1 ? ` Of ${repeat} runs of each the one that cost least.` : ''}
Machines differ, and one that is busy costs more: compare what was measured in one go.
${peers.length > 0 ? `\n${aboutPeers(peers)}\n` : ''}
![CPU time of a command](performance.svg)

## All commands lie there
${tableOf(rows.filter(isDrained))}

- **commands/s**: from the first POST to the last result that a reader of committed records could read. All commands lay on the
  topic before the program started. Four partitions, one process and the settings as they are, unless the name says otherwise.
- **CPU µs**: user and system time of the program's whole process, as the kernel counts it, a command. *With start*: of all of
  them, the start of the process included; *first 200,000*: from the first POST to the 200,000th result; *steady*: of the second
  half of the commands. **broker's µs**: what the broker took beside it, from the first POST to the last result.
- **first POST**: from the start of the process. **peak MiB**: the most that was resident. **sockets**: open at the end.
  **twice**: ids that the gateway got twice.

## Commands come
${tableOf(rows.filter(row => !isDrained(row)))}

- **of a core**, **broker's**: CPU time at a steady rate, of the program and of the broker, after a warm-up of 30 s at 5,000 a
  second, of 120 s at 200 and of 60 s at none, in which code is compiled.
- **commits/s**: transactions that the broker confirmed.
- **append → POST**: from the call that appends a command to the gateway's having its envelope; **answer → readable**: from the
  gateway's answer to the reader's having the result; the reader is busgate's own, whoever writes, and leaves brokers up to 64 ms
  at a trickle. Half of them took no longer than the first figure, all but one in a hundred no longer than the second. Of
  urgent commands, *behind* others, these are the urgent ones' alone.

## Callbacks come
${callbackTableOf([callbacks])}

The receiver in a process of its own, over 64 connections, each callback of another message. **CPU µs**: a callback, after the
start; **due → answer**: half, and all but one in a hundred; **missing**: answered 200 and not on the topic.

## A process takes over
${takeOverTableOf(takeOvers)}

A *start* is that of a process alone in its group, a *take-over* that of one whose predecessor was killed. **requests**: to the
broker, from the start until all sessions are open, without fetches and heartbeats; **ms**: from the group's giving it the
partitions until all sessions are open; **CPU ms**: from the start.

## Again, and otherwise
\`npm run bench\` measures all of it and writes this page. \`--peer bento\` (\`BENTO_BIN=/path/to/bento\`)
and \`--floor\` (a bare loop in Node) measure those beside it, each scenario in turn, and \`--repeat N\` several times.

\`npm run bench -- --only NAME\` measures some of them, \`--commands N\` or \`--rate N --seconds N --warm-up N\` one of your own
(\`--partitions\`, \`--processes\`, \`--concurrency\`, \`--latency\`, \`--kinds mixed\`, \`--hooks\`, \`--gateway URL\`), \`callbacks --rate N\` the receiver,
\`take-over\` the last table.
None of these changes this page.
`
}

const programsOf = (rows: readonly Row[]) => [...new Set(rows.map(({ program }) => program))]

const aboutPeers = (peers: readonly string[]) =>
  `Beside it, on the same topics in the same minutes: ${peers.join(', ')}. They do less: they decode
the command, POST envelopes of up to 100 with 64 in flight, and write a result of four fields as JSON, at least once (the bare
loop promises not even that). They check no command, remember no id, hold no rate, and send SMS without hooks alone, so that
other scenarios have no row of theirs. How each is set up is in \`bench/peers\` and \`bench/floor.ts\`.`

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
<title>CPU time of a command, in the second half of those that lie there</title>
${lines.join('\n')}
</svg>
`
}

/** Writes docs/performance.md and its chart. */
export async function writePerformance(performance: Performance): Promise<void> {
  await writeFile('docs/performance.md', pageOf(performance))
  await writeFile('docs/performance.svg', chartOf(performance.rows))
}
