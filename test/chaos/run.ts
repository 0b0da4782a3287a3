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
import { type RunOptions, type Stage, setStage } from './stage.ts'

/** The outcome of a run: tables to print, and the names of broken promises. */
export interface Outcome {
  figures: object[]
  broken: string[]
  verdict: Verdict
  /** How often trouble was made. */
  faults: number
}

/** Workers under load and the trouble of a scenario. Then the topics and the gateway are counted. */
export async function runScenario(options: RunOptions, scenario: Scenario): Promise<Outcome> {
  const { nodes, kafka, seed, say, workers } = options
  const { play, latencyMs, forbidden, executesLate, starts = workers, inOrder } = scenario
  const stage = await setStage(options, latencyMs, scenario.env)
  const chance = new Random(seed)
  const random = () => chance.next()
  const front = executesLate && (await startLateGateway(stage.sandbox.url, executesLate, random))
  const env = { ...stage.env, ...(front && { BUSGATE_GATEWAY_URL: front.url }) }
  const fleet = new Fleet({ ...stage, env, say, ...(!inOrder && { clockSeed: seed }) })
  try {
    await fleet.fill(starts)
    say(`Kafka ${kafka}, ${nodes} broker(s), seed ${seed}, logs in ${stage.folder}`)
    const scene: Scene = { ...stage, fleet, nodes, workers, random, say }
    const load = new Load(options)
    const executions = watchExecutions(stage.sandbox)
    let endedTooEarly = false
    const playing = play(scene, load).then(made => {
      endedTooEarly = inOrder === true && load.isOver
      return made
    })
    const [faults] = await Promise.all([playing, load.produce(stage)])
    const longestGapMs = executions.stop()
    say(`${faults} faults made; waiting for the rest of the results`)

    const audit = await Audit.of(stage, options)
    const verdict = audit.verdict(stage.sandbox)
    const outside = await readOutside(stage, options, audit, verdict)
    const counts = { ...verdict, workersRestartedThemselves: fleet.restarts }
    const broken = [
      ...(endedTooEarly ? ['loadEndedTooEarly (give more --commands)'] : []),
      ...violations(verdict),
      ...outside.broken,
      ...forbidden.filter(name => counts[name] > 0),
    ]
    if (broken.length > 0) await cp(stage.kafka.folder, join(stage.folder, 'kafka'), { recursive: true }) // else its logs go
    const { outcomes, ...figures } = counts
    const first = {
      ...{ kafka, brokers: nodes, codec: options.codec ?? "busgate's producer", faults, ...figures },
      ...{ longestGapSeconds: seconds(longestGapMs), ...outside.figures, ...(inOrder && waits(load, audit)) },
    }
    return { figures: [first, outcomes], broken, verdict, faults }
  } finally {
    await fleet.close()
    await front?.close()
    await stage.close()
  }
}

/**
 * Looks at the gateway every few milliseconds. `stop` tells the longest time, in milliseconds, in which it executed nothing
 * new.
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

/** How many commands' results Kafka's own consumer can read. */
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

/** Tells how long commands took from the producer to the first byte of the request. */
function waits({ producedAt }: Load, { sentAt }: Audit): Record<string, number> {
  const each = sentAt.map((at, index) => at - producedAt[index]!).toSorted()
  const rank = (share: number) => seconds(each[Math.ceil(share * each.length) - 1]!)
  return { waitP50Seconds: rank(0.5), waitP99Seconds: rank(0.99), waitMaxSeconds: rank(1) }
}
