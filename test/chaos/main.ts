import { parseArgs } from 'node:util'
import { kafkaVersion, kafkaVersions } from '../support/local-kafka/maven.ts'
import { codecs } from '../support/outside/producer.ts'
import { matrixOf, rowOf } from './matrix.ts'
import { type Outcome, runScenario } from './run.ts'
import { measured, scenarios } from './scenarios.ts'
import type { Scenario } from './scene.ts'
import type { RunOptions } from './stage.ts'
import { trouble } from './trouble.ts'

const started = performance.now()
const say = (line: string) => console.log(`${((performance.now() - started) / 1000).toFixed(1).padStart(6)} s  ${line}`)

const optionsOf = <T extends 'boolean' | 'string'>(names: object, type: T) =>
  Object.fromEntries(Object.keys(names).map(name => [name, { type }]))

/**
 * Processes of busgate on a real Kafka under load, in trouble of one kind or another. Then the topics and the gateway
 * are counted. The options of scenarios.ts choose a kind; without one: all of them, as the seed draws them.
 */
const options = {
  commands: { type: 'string', default: '20000' },
  brokers: { type: 'string', default: '1' },
  /** Of each topic of commands, and of the doubts. */
  partitions: { type: 'string', default: '4' },
  /** How many processes there are while nothing happens. */
  workers: { type: 'string', default: '3' },
  /** The version of Kafka. */
  kafka: { type: 'string', default: kafkaVersion },
  /** Has Kafka's own client write the commands, with this compression or with all of them mixed. */
  codec: { type: 'string' },
  /** Commands a second; trouble is made while they come. */
  rate: { type: 'string', default: '1000' },
  seed: { type: 'string', default: String(Date.now() % 1_000_000) },
  /** Has the processes run what `npm run build` made. */
  built: { type: 'boolean', default: false },
  /** All runs of the first section of docs/evidence.md, `--commands` in all, and then the table. */
  matrix: { type: 'boolean', default: false },
} as const
const parse = (args: string[]) =>
  parseArgs({ args, options: { ...optionsOf(scenarios, 'boolean'), ...optionsOf(measured, 'string'), ...options } })
    .values

const given = process.argv.slice(2)
const kept = parse(given).matrix ? await runMatrix(Number(parse(given).commands)) : tell(await run(given))
process.exit(kept ? 0 : 1)

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
      throw new Error(`--${name} takes --brokers 3: another has to coordinate afterwards`)
  }
  const asked = Object.entries(scenarios).find(([name]) => values[name])?.[1]
  const [name, of] = Object.entries(measured).find(([name]) => values[name]) ?? []
  return asked ?? of?.(String(values[name!])) ?? trouble
}

/** @returns whether every promise was kept */
function tell({ figures, broken }: Outcome): boolean {
  for (const table of figures) console.table(table)
  say(broken.length === 0 ? 'every promise was kept' : `BROKEN: ${broken.join(', ')}`)
  return broken.length === 0
}

/** A run that fails does not end the others. */
async function runMatrix(commands: number): Promise<boolean> {
  const rows: object[] = []
  let kept = true
  for (const args of matrixOf(commands)) {
    say(`npm run chaos -- ${args.join(' ')}`)
    const outcome = await run(args).catch((error: unknown) => {
      console.error(error)
      return null
    })
    if (outcome) tell(outcome)
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
