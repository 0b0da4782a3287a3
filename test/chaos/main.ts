import { parseArgs } from 'node:util'
import '../../src/cli/framework/kafkajs-warning.ts'
import { kafkaVersion, kafkaVersions } from '../support/local-kafka/maven.ts'
import { codecs } from '../support/outside/producer.ts'
import { matrixOf, rowOf } from './matrix.ts'
import { mixedFaults } from './mixed-faults.ts'
import { type Outcome, runScenario } from './run.ts'
import { scenarios, scenariosWithValue } from './scenarios.ts'
import type { Scenario } from './scene.ts'
import type { RunOptions } from './stage.ts'

const started = performance.now()
const say = (line: string) => console.log(`${((performance.now() - started) / 1000).toFixed(1).padStart(6)} s  ${line}`)

const optionsOf = <T extends 'boolean' | 'string'>(names: object, type: T) =>
  Object.fromEntries(Object.keys(names).map(name => [name, { type }]))

/**
 * Runs busgate processes on a real Kafka under load, with faults. Then counts what is on the topics and at the gateway.
 */
const options = {
  commands: { type: 'string', default: '20000' },
  brokers: { type: 'string', default: '1' },
  /** Partitions of each command topic, and of the doubts topic. */
  partitions: { type: 'string', default: '4' },
  /** The number of processes between faults. */
  workers: { type: 'string', default: '3' },
  /** The version of Kafka. */
  kafka: { type: 'string', default: kafkaVersion },
  /** Lets Kafka's own client write the commands, with this codec or with all codecs mixed. */
  codec: { type: 'string' },
  /** Commands a second. The faults come while they are produced. */
  rate: { type: 'string', default: '1000' },
  /** Seals the content of every second batch. */
  sealed: { type: 'boolean', default: false },
  seed: { type: 'string', default: String(Date.now() % 1_000_000) },
  /** Runs the output of `npm run build` instead of the source. */
  built: { type: 'boolean', default: false },
  /** Runs everything in the first section of docs/evidence.md, with `--commands` in total, and prints a table. */
  matrix: { type: 'boolean', default: false },
} as const
const help = `npm run chaos                                  one run with faults of all kinds, as the seed draws them
npm run chaos -- --matrix --commands 300000    every kind of fault; prints the line that repeats each run (an hour)

One kind of fault: ${Object.keys(scenarios)
  .map(name => `--${name}`)
  .join(', ')},
${Object.keys(scenariosWithValue)
  .map(name => `--${name} VALUE`)
  .join(', ')} (test/chaos/scenarios.ts)
Any: --commands N, --rate N a second, --brokers 1|3, --partitions N, --workers N, --kafka ${kafkaVersions.join('|')},
--codec ${codecs.join('|')}|mixed (Kafka's own client writes the commands), --sealed (every second batch), --seed N, --built (runs dist)`

const parse = (args: string[]) => {
  try {
    return parseArgs({
      args,
      options: { ...optionsOf(scenarios, 'boolean'), ...optionsOf(scenariosWithValue, 'string'), ...options },
    }).values
  } catch (error) {
    console.error(`${(error as Error).message}\n\n${help}`)
    return process.exit(1)
  }
}

const args = process.argv.slice(2)
if (args.includes('--help')) {
  console.log(help)
  process.exit()
}
const allKept = parse(args).matrix ? await runMatrix(Number(parse(args).commands)) : report(await run(args))
process.exit(allKept ? 0 : 1)

async function run(args: string[]): Promise<Outcome> {
  const values = parse(args)
  const options: RunOptions = {
    commands: Number(values.commands),
    rate: Number(values.rate),
    nodes: values.brokers === '3' ? 3 : 1,
    partitions: Number(values.partitions),
    workers: Number(values.workers),
    kafka: oneOf('kafka', values.kafka, kafkaVersions),
    codec: values.codec === undefined ? null : oneOf('codec', values.codec, [...codecs, 'mixed'] as const),
    sealed: values.sealed,
    seed: Number(values.seed),
    built: values.built,
    say,
  }
  say(`${options.commands} commands at ${options.rate}/s`)
  return runScenario(options, scenarioOf(values, options))
}

function scenarioOf(values: Record<string, unknown>, { nodes }: RunOptions): Scenario {
  for (const name of ['coordinator', 'ending']) {
    if (values[name] && nodes !== 3)
      throw new Error(`--${name} needs --brokers 3, so that another broker can take over`)
  }
  const chosen = [
    ...Object.entries(scenarios).flatMap(([name, scenario]) => (values[name] ? [scenario] : [])),
    ...Object.entries(scenariosWithValue).flatMap(([name, of]) => (values[name] ? [of(String(values[name]))] : [])),
  ]
  if (chosen.length > 1) throw new Error('give one kind of fault: they do not combine')
  return chosen[0] ?? mixedFaults
}

/** @returns whether every promise was kept */
function report({ figures, broken }: Outcome): boolean {
  for (const table of figures) console.table(table)
  say(broken.length === 0 ? 'every promise was kept' : `BROKEN: ${broken.join(', ')}`)
  return broken.length === 0
}

/** Makes all runs, even if one of them fails. */
async function runMatrix(commands: number): Promise<boolean> {
  const rows: object[] = []
  let kept = true
  for (const args of matrixOf(commands)) {
    say(`npm run chaos -- ${args.join(' ')}`)
    const outcome = await run(args).catch((error: unknown) => {
      console.error(error)
      return null
    })
    if (outcome) report(outcome)
    rows.push(rowOf(args, outcome))
    console.table(rows)
    kept &&= outcome?.broken.length === 0
  }
  return kept
}

function oneOf<T extends string>(option: string, value: string, allowed: readonly T[]): T {
  if ((allowed as readonly string[]).includes(value)) return value as T
  throw new Error(`--${option} ${value}: give one of ${allowed.join(', ')}`)
}
