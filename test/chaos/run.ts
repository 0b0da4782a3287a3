import { cp } from 'node:fs/promises'
import { join } from 'node:path'
import type { Sandbox } from '../../src/sandbox/index.ts'
import { Random } from '../simulation/random.ts'
import { readKeysOutside } from '../support/outside/consumer.ts'
import { Audit, type Verdict, violations } from './audit.ts'
import { Fleet } from './fleet.ts'
import { startLateGateway } from './late-gateway.ts'
import { idOf, Load } from './load.ts'
import type { Scenario, Scene } from './scene.ts'
import { type RunOptions, type Stage, startStage } from './stage.ts'
import { Witness } from './witness.ts'

/** The outcome of a run: tables to print, and the names of broken promises. */
export interface Outcome {
  figures: object[]
  broken: string[]
  verdict: Verdict
  /** The number of faults. */
  faults: number
}

/** Runs workers under load with the faults of a scenario. Then counts what is on the topics and at the gateway. */
export async function runScenario(options: RunOptions, scenario: Scenario): Promise<Outcome> {
  const { nodes, kafka, seed, say, workers } = options
  const { play, latencyMs, forbidden, executesLate, starts = workers, isPlanned, hasRightClocks } = scenario
  const stage = await startStage(options, { latencyMs, ...scenario.sandbox }, scenario.env)
  const chance = new Random(seed)
  const random = () => chance.next()
  const lateGateway = executesLate && (await startLateGateway(stage.sandbox.url, executesLate, random))
  const env = { ...stage.env, ...(lateGateway && { BUSGATE_GATEWAY_URL: lateGateway.url }) }
  const fleet = new Fleet({ ...stage, env, say, ...(!isPlanned && !hasRightClocks && { clockSeed: seed }) })
  let witness: Witness | null = null
  try {
    await fleet.fill(starts)
    say(`Kafka ${kafka}, ${nodes} broker(s), seed ${seed}, logs in ${stage.folder}`)
    const load = new Load(options, scenario.vary)
    witness = scenario.isWitnessed ? await Witness.of(stage, options, load) : null
    const scene: Scene = { ...stage, stage, witness, fleet, nodes, workers, random, say }
    const executions = watchExecutions(stage.sandbox)
    let endedTooEarly = false
    const playing = play(scene, load).then(count => {
      endedTooEarly = isPlanned === true && load.isOver
      return count
    })
    const [faults] = await Promise.all([playing, load.produce(stage)])
    const longestGapMs = executions.stop()
    say(`${faults} faults made; waiting for the rest of the results`)

    const audit = witness ? await witness.finish() : await Audit.of(stage, options)
    const verdict = audit.verdict(index => stage.sandbox.executions(idOf(index), load.accountOf(index)))
    const outside = witness ? witness.report() : await readOutside(stage, options, audit, verdict)
    const counts = { ...verdict, workersRestartedThemselves: fleet.restarts }
    const broken = [
      ...(endedTooEarly ? ['loadEndedTooEarly (give more --commands)'] : []),
      ...violations(verdict),
      ...outside.broken,
      ...forbidden.filter(name => counts[name] > 0),
    ]
    // Kafka's logs are deleted otherwise
    if (broken.length > 0) await cp(stage.kafka.folder, join(stage.folder, 'kafka'), { recursive: true })
    const { outcomes, ...figures } = counts
    const first = {
      ...{ kafka, brokers: nodes, codec: options.codec ?? "busgate's producer", faults, ...figures },
      ...{ longestGapSeconds: seconds(longestGapMs), ...outside.figures, ...(isPlanned && waits(load, audit)) },
    }
    return { figures: [first, outcomes], broken, verdict, faults }
  } finally {
    await witness?.close()
    await fleet.close()
    await lateGateway?.close()
    await stage.close()
  }
}

/**
 * Polls the gateway every 5 ms. `stop` returns the longest time without a new execution, in milliseconds.
 */
function watchExecutions(sandbox: Sandbox): { stop(): number } {
  let executed = 0
  let last = 0
  let longest = 0
  const look = () => {
    const now = sandbox.stats().executed
    if (last > 0) longest = Math.max(longest, Date.now() - last)
    if (now > executed) last = Date.now()
    executed = now
  }
  const timer = setInterval(look, 5)
  return {
    stop() {
      clearInterval(timer)
      look()
      return longest
    },
  }
}

/** Counts the commands whose results Kafka's own consumer can read. */
async function readOutside(stage: Stage, { kafka, commands }: RunOptions, audit: Audit, verdict: Verdict) {
  const { results: topic } = stage.settings.topics
  const { brokers } = stage.kafka
  const keys = await readKeysOutside({ brokers, topic, records: audit.results, version: kafka })
  const read = new Set(keys)
  const readByConsoleConsumer = Array.from({ length: commands }, (_, i) => String(idOf(i))).filter(id =>
    read.has(id),
  ).length
  const differ = keys.length !== audit.results
  return {
    figures: {
      readByConsoleConsumer,
      ...(differ && { results: audit.results, recordsOfConsoleConsumer: keys.length }),
    },
    broken: [
      ...(readByConsoleConsumer < commands - verdict.withoutFinalResult ? ['readByConsoleConsumer'] : []),
      ...(differ ? ["what Kafka's own consumer reads"] : []),
    ],
  }
}

const seconds = (ms: number): number => Number((ms / 1000).toFixed(2))

/** The time of commands from the producer to the first byte of their request. */
function waits({ producedAt }: Load, { sentAt }: Audit): Record<string, number> {
  const each = sentAt.map((at, index) => at - producedAt[index]!).toSorted()
  const rank = (share: number) => seconds(each[Math.ceil(share * each.length) - 1]!)
  return { waitP50Seconds: rank(0.5), waitP99Seconds: rank(0.99), waitMaxSeconds: rank(1) }
}
