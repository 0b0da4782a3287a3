import { parseArgs } from 'node:util'
import { measureCallbacks } from './callbacks.ts'
import { writePerformance } from './document.ts'
import { measureHostile } from './hostile.ts'
import { measure } from './measure.ts'
import { findPlace } from './place.ts'
import { programs } from './programs.ts'
import { type Row, tableOf } from './report.ts'
import { type Scenario, scenarioOf, scenarios } from './scenarios.ts'
import { TopicMaker } from './topics.ts'

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    // which of the scenarios, by a part of the name
    only: { type: 'string', multiple: true },
    // one of one's own
    commands: { type: 'string' },
    rate: { type: 'string' },
    seconds: { type: 'string', default: '15' },
    partitions: { type: 'string', default: '4' },
    concurrency: { type: 'string' },
    latency: { type: 'string', default: '20' },
    processes: { type: 'string', default: '1' },
    kinds: { type: 'string', default: 'sms' },
    hooks: { type: 'boolean', default: false },
    // what else is measured beside the worker, in turn with it, and how often; the cheapest run of each counts
    peer: { type: 'string', multiple: true, default: [] },
    repeat: { type: 'string', default: '1' },
    gateway: { type: 'string' },
    // of callbacks
    connections: { type: 'string', default: '64' },
    // of hostile: whether the receiver's bus is in its own process
    embedded: { type: 'boolean', default: false },
  },
})

function chosen(): readonly Scenario[] {
  const { commands, rate, only } = values
  if (commands !== undefined) return [own({ commands: Number(commands) })]
  if (rate !== undefined) return [own({ rate: Number(rate), seconds: Number(values.seconds) })]
  if (!only) return scenarios
  const found = scenarios.filter(({ name }) => only.some(part => name.includes(part)))
  if (found.length === 0) throw new Error(`no scenario is called so: ${scenarios.map(({ name }) => name).join('; ')}`)
  return found
}

function own(load: Scenario['load']): Scenario {
  return scenarioOf({
    load,
    partitions: Number(values.partitions),
    concurrency: values.concurrency === undefined ? null : Number(values.concurrency),
    latencyMs: Number(values.latency),
    processes: Number(values.processes),
    kinds: values.kinds === 'mixed' ? 'mixed' : 'sms',
    hooks: values.hooks,
  })
}

async function measureAll(wanted: readonly Scenario[]): Promise<Row[]> {
  const measured = ['busgate', ...values.peer].map(name => {
    const start = programs[name]
    if (!start) throw new Error(`there is no program ${name}, only ${Object.keys(programs).join(', ')}`)
    return { name, start }
  })
  const place = await findPlace()
  const topics = new TopicMaker(place)
  const rows: Row[] = []
  try {
    for (const scenario of wanted) {
      const runs: Row[] = []
      for (let i = 0; i < Number(values.repeat); i++) {
        for (const { name: program, start } of measured) {
          const figures = await measure({ place, topics, scenario, start, gatewayUrl: values.gateway ?? null })
          runs.push({ scenario, program, figures })
          process.stderr.write(`${tableOf(runs.slice(-1)).split('\n').at(-1)}\n`)
        }
      }
      rows.push(...measured.map(({ name }) => cheapest(runs.filter(({ program }) => program === name))))
    }
  } finally {
    await place.stop()
  }
  return rows
}

const cheapest = (runs: readonly Row[]) => runs.toSorted((a, b) => costOf(a) - costOf(b))[0]!
const costOf = ({ figures }: Row) => figures.cpuMicrosSteady ?? figures.core ?? figures.appendToPost?.p99 ?? 0

if (positionals[0] === 'callbacks') {
  const { rate = '500', seconds, connections, partitions } = values
  const figures = await measureCallbacks({
    rate: Number(rate),
    seconds: Number(seconds),
    connections: Number(connections),
    partitions: Number(partitions),
  })
  console.table(figures)
} else if (positionals[0] === 'hostile') {
  const { rate = '200', seconds, embedded } = values
  const attacks = positionals.slice(1)
  console.table(await measureHostile({ attacks, rate: Number(rate), seconds: Number(seconds), embedded }))
} else if (positionals.length > 0) {
  throw new Error(
    `there is no benchmark ${positionals[0]}, only callbacks and hostile, and without a name the worker's`,
  )
} else {
  const wanted = chosen()
  const rows = await measureAll(wanted)
  process.stdout.write(`${tableOf(rows)}\n`)
  if (wanted === scenarios && values.peer.length === 0) await writePerformance(rows, Number(values.repeat))
}
