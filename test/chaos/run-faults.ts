import { cp } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { Audit } from './audit.ts'
import { Fleet } from './fleet.ts'
import { startFront } from './front.ts'
import { watchExecutions } from './gaps.ts'
import { Load } from './load.ts'
import { reportOf } from './report.ts'
import type { Scenario } from './scenarios.ts'
import { type Scene, seeded, workers } from './scene.ts'
import { type Outcome, type RunOptions, setStage } from './stage.ts'
import { makeTrouble, type TroubleOptions } from './trouble.ts'

/** Workers under load, in one trouble after the other until all commands are there. */
export async function runFaults(options: RunOptions, trouble: TroubleOptions): Promise<Outcome> {
  return runScenario(options, {
    latencyMs: { min: 5, max: 40 },
    forbidden: [],
    play: (scene, load) => makeTrouble(scene, trouble, () => load.produced === options.commands),
  })
}

/** Workers under load and the trouble of a scenario. */
export async function runScenario(
  options: RunOptions,
  { play, latencyMs, forbidden, env, executesLate }: Scenario,
): Promise<Outcome> {
  const { nodes, kafka, seed, say } = options
  const stage = await setStage(options, { sandbox: { latencyMs }, ...(env && { env }) })
  const random = seeded(seed)
  const front = executesLate && (await startLateGateway(stage.sandbox.url, executesLate, random))
  const fleet = new Fleet({
    ...stage,
    env: { ...stage.env, ...(front && { BUSGATE_GATEWAY_URL: front.url }) },
    name: 'worker',
    clockSeed: seed,
    say,
  })
  try {
    await fleet.fill(workers)
    say(`Kafka ${kafka}, ${nodes} broker(s), seed ${seed}, logs in ${stage.folder}`)
    const scene: Scene = { ...stage, fleet, nodes, random, say }
    const load = new Load(options)
    const executions = watchExecutions(stage.sandbox)
    const [faults] = await Promise.all([play(scene, load), load.produce(stage)])
    const executedAt = executions.stop()
    say(`${faults} faults made; waiting for the rest of the results`)

    const audit = await Audit.of(stage, options)
    const outcome = await reportOf(options, { stage, audit, fleet, faults, executedAt })
    const counts = { ...outcome.verdict, workersRestartedThemselves: fleet.restarts }
    const broken = [...outcome.broken, ...forbidden.filter(name => counts[name] > 0)]
    if (broken.length > 0) await cp(stage.kafka.folder, join(stage.folder, 'kafka'), { recursive: true }) // else its logs go
    return { ...outcome, broken }
  } finally {
    await fleet.close()
    await front?.close()
    await stage.close()
  }
}

/** Executes some requests so long after they came that nobody waits for the answer. Questions are answered at once. */
function startLateGateway(url: string, { share, ms }: { share: number; ms: number }, random: () => number) {
  return startFront({
    targets: () => [url],
    held: async body => {
      if (!body.includes('"type":"status"') && random() < share) await pause(ms)
    },
  })
}
