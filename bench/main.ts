import { parseArgs } from 'node:util'
import { type CallbackFigures, measureCallbacks } from './callbacks.ts'
import { type Performance, writePerformance } from './document.ts'
import { measureHostile } from './hostile.ts'
import { measure } from './measure.ts'
import { findPlace, type Place } from './place.ts'
import type { Program } from './program.ts'
import { programs } from './programs.ts'
import { callbackTableOf, type Row, tableOf } from './report.ts'
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
    'warm-up': { type: 'string', default: '10' },
    partitions: { type: 'string', default: '4' },
    concurrency: { type: 'string' },
    latency: { type: 'string', default: '20' },
    processes: { type: 'string', default: '1' },
    kinds: { type: 'string', default: 'sms' },
    hooks: { type: 'boolean', default: false },
    // what else is measured beside the worker, in turn with it, and how often; the cheapest run of each counts; the
    // floor is a bare loop in Node
    peer: { type: 'string', multiple: true, default: [] },
    floor: { type: 'boolean', default: false },
    repeat: { type: 'string', default: '1' },
    gateway: { type: 'string' },
    // of callbacks
    connections: { type: 'string', default: '64' },
    // of hostile: whether the receiver's bus is in its own process
    embedded: { type: 'boolean', default: false },
  },
})

const repeat = Number(values.repeat)

function chosen(): readonly Scenario[] {
  const { commands, rate, only } = values
  if (commands !== undefined) return [own({ commands: Number(commands) })]
  if (rate !== undefined)
    return [own({ rate: Number(rate), seconds: Number(values.seconds), warmUpSeconds: Number(values['warm-up']) })]
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

/** Measures with brokers of its own, or with those that are named, until it has failed or is done. */
async function placed<T>(work: (place: Place) => Promise<T>): Promise<T> {
  const place = await findPlace()
  try {
    return await work(place)
  } finally {
    await place.stop()
  }
}

/** What is measured in turn. All that is needed for it is there, or else it throws before anything starts. */
async function chosenPrograms(): Promise<Program[]> {
  const programsFound: Program[] = []
  for (const name of ['busgate', ...values.peer, ...(values.floor ? ['floor'] : [])]) {
    const find = programs[name]
    if (!find) throw new Error(`--peer: there is no program ${name}, only ${Object.keys(programs).join(', ')}`)
    programsFound.push(await find())
  }
  return programsFound
}

async function measureAll(place: Place, wanted: readonly Scenario[], measured: readonly Program[]): Promise<Row[]> {
  const topics = new TopicMaker(place)
  const rows: Row[] = []
  for (const scenario of wanted) {
    const runs: Row[] = []
    for (let i = 0; i < repeat; i++) {
      for (const program of measured.filter(({ does }) => does(scenario))) {
        const figures = await measure({ place, topics, scenario, program, gatewayUrl: values.gateway ?? null })
        runs.push({ scenario, program: program.name, figures })
        process.stderr.write(`${program.name}: ${tableOf(runs.slice(-1)).split('\n').at(-1)}\n`)
      }
    }
    const ofEach = Map.groupBy(runs, ({ program }) => program)
    for (const own of ofEach.values()) rows.push(cheapest(own, costOf))
  }
  return rows
}

function cheapest<T>(runs: readonly T[], cost: (run: T) => number): T {
  return runs.toSorted((a, b) => cost(a) - cost(b))[0]!
}

const costOf = ({ figures }: Row) => figures.cpuMicrosSteady ?? figures.core ?? figures.appendToPost?.p99 ?? 0

/** All that docs/performance.md shows. */
async function measurePerformance(place: Place, measured: readonly Program[]): Promise<Performance> {
  const rows = await measureAll(place, scenarios, measured)
  const runs: CallbackFigures[] = []
  for (let i = 0; i < repeat; i++)
    runs.push(await measureCallbacks(place, { rate: 8_000, seconds: 15, connections: 64, partitions: 4 }))
  return { rows, callbacks: cheapest(runs, ({ cpuMicrosPerCallback }) => cpuMicrosPerCallback), repeat }
}

if (positionals[0] === 'callbacks') {
  const { rate = '500', seconds, connections, partitions } = values
  const options = {
    rate: Number(rate),
    seconds: Number(seconds),
    connections: Number(connections),
    partitions: Number(partitions),
  }
  const figures = await placed(place => measureCallbacks(place, options))
  process.stdout.write(`${callbackTableOf([figures])}\n`)
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
  const measured = await chosenPrograms().catch((error: Error) => {
    process.stderr.write(`${error.message}\n`)
    process.exit(1)
  })
  if (wanted === scenarios) {
    const performance = await placed(place => measurePerformance(place, measured))
    process.stdout.write(`${tableOf(performance.rows)}\n\n${callbackTableOf([performance.callbacks])}\n`)
    await writePerformance(performance)
  } else {
    process.stdout.write(`${tableOf(await placed(place => measureAll(place, wanted, measured)))}\n`)
  }
}
