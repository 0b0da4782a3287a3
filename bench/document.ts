import { writeFile } from 'node:fs/promises'
import { availableParallelism, cpus, totalmem } from 'node:os'
import { type Row, tableOf } from './report.ts'

/** What the columns mean, and how the figures came about. */
function pageOf(rows: readonly Row[], repeat: number): string {
  const [{ model = 'unknown' } = {}] = cpus()
  const machine = `${availableParallelism()} cores (${model.trim()}), ${Math.round(totalmem() / 2 ** 30)} GiB`
  return `# Performance

Made by \`npm run bench\`, which makes it anew. It starts Apache Kafka and a registry of its own, or takes those that
KAFKA_BROKERS and REGISTRY_URL name.

Measured on ${new Date().toISOString().slice(0, 10)}, Node ${process.versions.node}, ${machine}: the worker, one broker, the registry,
the gateway (20 ms, envelopes of up to 100) and who produces and reads shared them.${repeat > 1 ? ` Of ${repeat} runs of each the one that cost least.` : ''}
Machines differ, and one that is busy costs more: compare what was measured in one go.

![CPU time of a command](performance.svg)

${tableOf(rows)}

- **commands/s**: from the first POST to the last result that a reader of committed records could read. All commands lay on the
  topic before the worker started.
- **CPU µs**: user and system time of the worker's whole process, as the kernel counts it, a command; *steady*: of the second half
  of the commands; *with start*: of all of them, the start of the process included.
- **of a core**, **broker's**: CPU time at a steady rate, of the worker and of the broker.
- **commits/s**: transactions that the broker confirmed.
- **append → POST**: from the call that appends a command to the gateway's having its envelope; **answer → readable**: from the
  gateway's answer to the reader's having the result. Half of them took no longer than the first figure, all but one in a
  hundred no longer than the second.
- **first POST**: from the start of the process. **peak MiB**: the most that was resident. **twice**: ids that the gateway got twice.

\`npm run bench -- --only NAME\` measures some of them, \`--commands N\` or \`--rate N --seconds N\` one of your own (\`--partitions\`,
\`--processes\`, \`--concurrency\`, \`--latency\`, \`--kinds mixed\`, \`--hooks\`, \`--gateway URL\`), \`--peer NAME\` another program beside it
in turn, \`--repeat N\` several times. None of these changes this page.
`
}

const barHeight = 22
const labelWidth = 300
const barWidth = 360

/** CPU time of a command in the steady state, as bars. Readable on white and on black. */
function chartOf(rows: readonly Row[]): string {
  const bars = rows.flatMap(({ scenario, figures }) =>
    figures.cpuMicrosSteady === undefined ? [] : [{ name: scenario.name, value: figures.cpuMicrosSteady }],
  )
  const most = Math.max(...bars.map(({ value }) => value))
  const lines = bars.map(({ name, value }, i) => {
    const y = i * barHeight
    const width = Math.round((value / most) * barWidth)
    return [
      `<text x="${labelWidth - 8}" y="${y + 15}" text-anchor="end">${name}</text>`,
      `<rect x="${labelWidth}" y="${y + 3}" width="${width}" height="${barHeight - 6}" rx="2" fill="#3b82c4"/>`,
      `<text x="${labelWidth + width + 6}" y="${y + 15}">${value.toFixed(1)} µs</text>`,
    ].join('\n')
  })
  const size = `width="${labelWidth + barWidth + 80}" height="${bars.length * barHeight}"`
  return `<svg xmlns="http://www.w3.org/2000/svg" ${size} font-family="sans-serif" font-size="13" fill="#808080">
${lines.join('\n')}
</svg>
`
}

/** Writes docs/performance.md and its chart. */
export async function writePerformance(rows: readonly Row[], repeat: number): Promise<void> {
  await writeFile('docs/performance.md', pageOf(rows, repeat))
  await writeFile('docs/performance.svg', chartOf(rows))
}
