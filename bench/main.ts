import { parseArgs } from 'node:util'
import { UsageError } from '../src/cli/framework/command.ts'
import '../src/cli/framework/kafkajs-warning.ts'
import { type CallbackFigures, measureCallbacks } from './callbacks.ts'
import { type Performance, writePerformance } from './document.ts'
import { measureHostile } from './hostile.ts'
import { measureImports } from './imports.ts'
import { measureLater } from './later.ts'
import { kindsOfCommands } from './load.ts'
import { measure } from './measure.ts'
import { findPlace, type Place } from './place.ts'
import type { Program } from './program.ts'
import { programs } from './programs.ts'
import { callbackTableOf, type Row, tableOf, takeOverTableOf } from './report.ts'
import { type Scenario, scenarioOf, scenarios } from './scenarios.ts'
import { measureTakeOvers } from './take-over.ts'
import { TopicMaker } from './topics.ts'

// of the worker's settings that this shell may export, only the login to brokers and registry concerns the benchmark
for (const name of Object.keys(process.env)) if (/^BUSGATE_(?!KAFKA_|REGISTRY_)/.test(name)) delete process.env[name]

const { values, positionals } = parsed()

function parsed() {
  try {
    return parseArgs({
      allowPositionals: true,
      options: {
        // selects scenarios by a part of their names
        only: { type: 'string', multiple: true },
        // a custom scenario
        commands: { type: 'string' },
        rate: { type: 'string' },
        seconds: { type: 'string' },
        'warm-up': { type: 'string' },
        partitions: { type: 'string' },
        concurrency: { type: 'string' },
        latency: { type: 'string' },
        processes: { type: 'string' },
        kinds: { type: 'string' },
        hooks: { type: 'boolean' },
        // other programs to measure in turn with the worker, and the number of runs, of which the cheapest counts; the floor
        // is a bare loop in Node, which docs/performance.md always includes
        peer: { type: 'string', multiple: true, default: [] },
        floor: { type: 'boolean', default: false },
        repeat: { type: 'string' },
        gateway: { type: 'string' },
        // for callbacks only
        connections: { type: 'string' },
        help: { type: 'boolean', short: 'h', default: false },
      },
    })
  } catch (error) {
    return refuse(error as Error)
  }
}

const help = `npm run bench                              all that docs/performance.md shows, and writes it (15 minutes)
npm run bench -- --only NAME               the scenarios with NAME in their name
npm run bench -- --commands N              your own: N commands lie on the topic
npm run bench -- --rate N                  your own: N commands a second, for --seconds N after --warm-up N
npm run bench -- callbacks --rate N        the receiver, with --connections N, --seconds N, --partitions N
npm run bench -- hostile | take-over       strange records and batches | take-overs
npm run bench -- later --commands N        N commands that wait, and are due at once
npm run bench -- imports                   time and memory of importing each entry point, beside kafkajs

Your own scenario: --partitions N, --concurrency N, --processes N, --kinds sms|mixed|cyrillic|sealed,
--hooks, --latency MS of the simulated gateway. Any: --repeat N, --gateway URL, --peer NAME, --floor.
Brokers and registry: KAFKA_BROKERS and REGISTRY_URL, else its own. It deletes its topics (bench-…) at the end; their
subjects stay in the registry.
`

function refuse({ message }: Error): never {
  process.stderr.write(`${message}\n`)
  process.exit(1)
}

/** Parses a number. @throws UsageError if it is not a whole number of at least `least` */
function numberOf<T>(name: keyof typeof values, defaultValue: T, least = 1): number | T {
  const text = values[name]
  if (typeof text !== 'string') return defaultValue
  if (/^\d+$/.test(text) && Number(text) >= least) return Number(text)
  throw new UsageError(`--${name} ${text}: expected a whole number from ${least}`)
}

function chosen(): readonly Scenario[] {
  const { commands, rate, only, gateway } = values
  if (commands !== undefined) return [own({ commands: numberOf('commands', 0) })]
  if (rate !== undefined) {
    return [
      own({
        rate: numberOf('rate', 0, 0),
        seconds: numberOf('seconds', 15),
        warmUpSeconds: numberOf('warm-up', 10, 0),
      }),
    ]
  }
  const ofOne = (
    ['seconds', 'warm-up', 'partitions', 'concurrency', 'latency', 'processes', 'kinds', 'hooks'] as const
  ).find(name => values[name] !== undefined)
  if (ofOne) throw new UsageError(`--${ofOne} is of a scenario of one's own: give --commands N or --rate N, too`)
  if (!only && gateway !== undefined)
    throw new UsageError(
      '--gateway: give --commands N, --rate N or --only NAME, too; docs/performance.md shows the own gateway',
    )
  if (!only) return scenarios
  const found = scenarios.filter(({ name }) => only.some(part => name.includes(part)))
  if (found.length === 0)
    throw new UsageError(`no scenario is called so: ${scenarios.map(({ name }) => name).join('; ')}`)
  return found
}

function own(load: Scenario['load']): Scenario {
  const { kinds: given = 'sms', hooks = false } = values
  const kinds = kindsOfCommands.find(one => one === given)
  if (!kinds) throw new UsageError(`--kinds ${given}: there are ${kindsOfCommands.join(', ')}`)
  return scenarioOf({
    load,
    partitions: numberOf('partitions', 4),
    concurrency: numberOf('concurrency', null),
    latencyMs: numberOf('latency', 20, 0),
    processes: numberOf('processes', 1),
    kinds,
    hooks,
  })
}

/** Measures with the given brokers, or starts its own. */
async function placed<T>(work: (place: Place) => Promise<T>): Promise<T> {
  const place = await findPlace()
  try {
    return await work(place)
  } finally {
    await place.stop()
  }
}

/** The programs to measure. Throws before anything starts if one of them is not installed. */
async function chosenPrograms(wanted: readonly Scenario[]): Promise<Program[]> {
  const programsFound: Program[] = []
  const isFloor = values.floor || wanted === scenarios
  for (const name of ['busgate', ...values.peer, ...(isFloor ? ['floor'] : [])]) {
    const find = programs[name]
    if (!find) throw new UsageError(`--peer: there is no program ${name}, only ${Object.keys(programs).join(', ')}`)
    programsFound.push(await find())
  }
  return programsFound
}

/** The brokers, the programs and the number of runs. */
interface Setting {
  place: Place
  measured: readonly Program[]
  repeat: number
}

async function measureAll({ place, measured, repeat }: Setting, wanted: readonly Scenario[]): Promise<Row[]> {
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

/** Measures everything for docs/performance.md. */
async function measurePerformance(setting: Setting): Promise<Performance> {
  const { place, repeat } = setting
  const rows = await measureAll(setting, scenarios)
  const runs: CallbackFigures[] = []
  for (let i = 0; i < repeat; i++)
    runs.push(await measureCallbacks(place, { rate: 5_000, seconds: 15, connections: 64, partitions: 4 }))
  const takeOvers = await measureTakeOvers(place)
  return { rows, callbacks: cheapest(runs, ({ cpuMicrosPerCallback }) => cpuMicrosPerCallback), takeOvers, repeat }
}

async function measureCallbacksAlone(): Promise<void> {
  const options = {
    rate: numberOf('rate', 500),
    seconds: numberOf('seconds', 15),
    connections: numberOf('connections', 64),
    partitions: numberOf('partitions', 4),
  }
  const figures = await placed(place => measureCallbacks(place, options))
  process.stdout.write(`${callbackTableOf([figures])}\n`)
}

async function measureWorker(): Promise<void> {
  const wanted = chosen()
  const repeat = numberOf('repeat', 1)
  const measured = await chosenPrograms(wanted).catch(refuse)
  if (wanted === scenarios) {
    const performance = await placed(place => measurePerformance({ place, measured, repeat }))
    const { rows, callbacks, takeOvers } = performance
    process.stdout.write(`${[tableOf(rows), callbackTableOf([callbacks]), takeOverTableOf(takeOvers)].join('\n\n')}\n`)
    await writePerformance(performance)
  } else {
    process.stdout.write(`${tableOf(await placed(place => measureAll({ place, measured, repeat }, wanted)))}\n`)
  }
}

/** Runs the attacks. The process fails if one of them succeeds. */
async function measureHostileAlone(): Promise<void> {
  const rows = await measureHostile(positionals.slice(1))
  console.table(rows)
  if (!rows.every(({ held }) => held)) process.exitCode = 1
}

try {
  if (values.help) {
    process.stdout.write(help)
    process.exit(0)
  }
  const [benchmark] = positionals
  if (benchmark === undefined) await measureWorker()
  else if (benchmark === 'callbacks') await measureCallbacksAlone()
  else if (benchmark === 'hostile') await measureHostileAlone()
  else if (benchmark === 'imports') console.table(await measureImports())
  else if (benchmark === 'later')
    console.table([await placed(place => measureLater(place, numberOf('commands', 200_000)))])
  else if (benchmark === 'take-over') process.stdout.write(`${takeOverTableOf(await placed(measureTakeOvers))}\n`)
  else
    throw new UsageError(
      `there is no benchmark ${benchmark}, only callbacks, hostile, imports, later and take-over, and without a name the worker's`,
    )
} catch (error) {
  if (error instanceof UsageError) refuse(error)
  throw error
}
