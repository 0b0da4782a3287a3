import { type ParseArgsConfig, parseArgs } from 'node:util'
import { kafkaVersion, kafkaVersions } from '../support/local-kafka/maven.ts'
import { codecs } from '../support/outside/producer.ts'
import { matrixOf, type Row, tableOf } from './matrix.ts'
import { runFaults, runScenario } from './run-faults.ts'
import { moves, runMoves } from './run-moves.ts'
import { runVerdicts } from './run-verdicts.ts'
import {
  answersLost,
  coordinatorKills,
  cutOffFor,
  endingKills,
  handBacks,
  outageOf,
  rightsRevoked,
  rolling,
  suspends,
} from './scenarios.ts'
import { workers } from './scene.ts'
import type { Outcome, RunOptions } from './stage.ts'
import { type FaultKind, faultKinds } from './trouble.ts'

const started = performance.now()
const say = (line: string) => console.log(`${((performance.now() - started) / 1000).toFixed(1).padStart(6)} s  ${line}`)

/**
 * Processes of busgate on a real Kafka under load, in trouble of one kind or another. Then the topics and the gateway
 * are counted. Without a kind of trouble: all of `--faults`, as the seed draws them.
 */
const grammar = {
  options: {
    commands: { type: 'string', default: '20000' },
    brokers: { type: 'string', default: '1' },
    /** Of each topic of commands, and of the doubts. */
    partitions: { type: 'string', default: '4' },
    /** How many processes --restart-workers and --scale begin or end with. */
    workers: { type: 'string', default: String(workers) },
    /** The version of Kafka. */
    kafka: { type: 'string', default: kafkaVersion },
    /** Has Kafka's own client write the commands, with this compression or with all of them mixed. */
    codec: { type: 'string' },
    /** Commands a second; trouble is made while they come. */
    rate: { type: 'string', default: '1000' },
    seed: { type: 'string', default: String(Date.now() % 1_000_000) },
    /** Has the processes run what `npm run build` made. */
    built: { type: 'boolean', default: false },
    /** The kinds that may be drawn, with commas between. */
    faults: { type: 'string', default: faultKinds.join() },
    /** Leaves the brokers alone. */
    'calm-brokers': { type: 'boolean', default: false },
    /** A restart of every broker in turn. */
    rolling: { type: 'boolean', default: false },
    /** Kafka is away, for so many milliseconds. */
    outage: { type: 'string' },
    /** The processes reach no broker, for so many milliseconds. */
    'cut-off': { type: 'string' },
    /** Each right of the processes is revoked and given back after so many milliseconds, and after the next, and so on. */
    rights: { type: 'string' },
    /** The group's coordinator is killed between JoinGroup and SyncGroup, so often. Takes three brokers. */
    coordinator: { type: 'string' },
    /** The coordinator of a transaction is killed while it ends it, so often. Takes three brokers. */
    ending: { type: 'string' },
    /** Answers of Kafka are lost or late, so often. */
    answers: { type: 'string' },
    /** Partitions go to a newcomer and back to owners that never heard of it, so often. */
    'hand-back': { type: 'string' },
    /** A process stands still, its machine suspended or not, so often; the gateway executes some requests late. */
    suspends: { type: 'string' },
    /** A restart of every worker in turn. */
    'restart-workers': { type: 'boolean', default: false },
    /** One worker, three, and one again. */
    scale: { type: 'boolean', default: false },
    /** Callbacks that are dropped, late and repeated, and a reconciler. */
    verdicts: { type: 'boolean', default: false },
    /** Kills reconcilers and a worker, with verdicts. */
    kill: { type: 'boolean', default: false },
    /** All runs of the first section of docs/evidence.md, `--commands` in all, and then the table. */
    matrix: { type: 'boolean', default: false },
  },
} satisfies ParseArgsConfig

type Values = ReturnType<typeof parse>
const parse = (args: string[]) => parseArgs({ ...grammar, args }).values

const given = process.argv.slice(2)
const kept = parse(given).matrix ? await runMatrix(Number(parse(given).commands)) : tell(await run(given))
process.exit(kept ? 0 : 1)

async function run(args: string[]): Promise<Outcome> {
  const values = parse(args)
  const options = optionsOf(values)
  say(`${options.commands} commands at ${options.rate}/s`)
  if (values['restart-workers']) return runMoves(options, moves['restart-workers'])
  if (values.scale) return runMoves(options, moves.scale)
  if (values.verdicts) return runVerdicts({ ...options, kill: values.kill })
  if (values.rolling) return runScenario(options, rolling)
  if (values.outage) return runScenario(options, outageOf(Number(values.outage)))
  if (values['cut-off']) return runScenario(options, cutOffFor(Number(values['cut-off'])))
  if (values.rights) return runScenario(options, rightsRevoked(values.rights.split(',').map(Number)))
  if (values.answers) return runScenario(options, answersLost(Number(values.answers)))
  if (values.suspends) return runScenario(options, suspends(Number(values.suspends)))
  if (values['hand-back']) return runScenario(options, handBacks(Number(values['hand-back'])))
  if (values.coordinator) {
    if (options.nodes !== 3) throw new Error('--coordinator takes --brokers 3: another has to coordinate afterwards')
    return runScenario(options, coordinatorKills(Number(values.coordinator)))
  }
  if (values.ending) {
    if (options.nodes !== 3) throw new Error('--ending takes --brokers 3: another has to coordinate afterwards')
    return runScenario(options, endingKills(Number(values.ending)))
  }
  const kinds = values.faults.split(',').map((name): FaultKind => oneOf('faults', name, faultKinds))
  return runFaults(options, { kinds, calmBrokers: values['calm-brokers'] })
}

function optionsOf(values: Values): RunOptions {
  return {
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
}

/** @returns whether every promise was kept */
function tell({ figures, broken }: Outcome): boolean {
  for (const table of figures) console.table(table)
  say(broken.length === 0 ? 'every promise was kept' : `BROKEN: ${broken.join(', ')}`)
  return broken.length === 0
}

/** A run that fails does not end the others. */
async function runMatrix(commands: number): Promise<boolean> {
  const rows: Row[] = []
  for (const args of matrixOf(commands)) {
    say(`npm run chaos -- ${args.join(' ')}`)
    const outcome = await run(args).catch((error: unknown) => {
      console.error(error)
      return null
    })
    if (outcome) tell(outcome)
    rows.push({ args, outcome })
    console.log(tableOf(rows))
  }
  return rows.every(({ outcome }) => outcome?.broken.length === 0)
}

function oneOf<T extends string>(option: string, value: string, allowed: readonly T[]): T {
  if ((allowed as readonly string[]).includes(value)) return value as T
  throw new Error(`--${option} ${value}: give one of ${allowed.join(', ')}`)
}
