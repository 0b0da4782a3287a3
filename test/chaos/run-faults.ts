import { Audit, violations } from './audit.ts'
import { makeTrouble, restartNodesInTurn } from './faults.ts'
import { Fleet } from './fleet.ts'
import { Load } from './load.ts'
import { type Outcome, type RunOptions, setStage } from './stage.ts'

export interface FaultOptions extends RunOptions {
  /** Leaves the brokers alone. */
  calmBrokers: boolean
  /** Nothing but a restart of every broker in turn: must leave nothing in doubt. */
  rolling: boolean
}

/** Workers under load, while they are killed, frozen, joined and told to leave, brokers go and come, and the gateway misbehaves. */
export async function runFaults(options: FaultOptions): Promise<Outcome> {
  const { nodes, say, calmBrokers, rolling } = options
  const stage = await setStage({ nodes, sandbox: { latencyMs: { min: 5, max: 40 } } })
  const fleet = new Fleet({ ...stage, name: 'worker' })
  for (let i = 0; i < 3; i++) fleet.start()
  say(`${nodes} broker(s), seed ${options.seed}, logs in ${stage.folder}`)

  const stop = new AbortController()
  const scene = { ...stage, fleet, nodes, random: seeded(options.seed), say }
  const trouble = rolling ? restartNodesInTurn(scene) : makeTrouble(scene, stop.signal, !calmBrokers)
  await new Load(options).produce(stage)
  stop.abort()
  const faults = await trouble
  say(`${faults} faults made; waiting for the rest of the results`)
  const audit = await Audit.of(stage, options)

  const verdict = audit.verdict(stage.sandbox)
  await fleet.close()
  await stage.close()
  const { outcomes, ...counts } = verdict
  return {
    figures: [{ ...counts, faults, workersRestartedThemselves: fleet.restarts }, outcomes],
    broken: [...violations(verdict), ...(rolling && verdict.everInDoubt > 0 ? ['everInDoubt'] : [])],
  }
}

/** mulberry32 */
function seeded(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let t = Math.imul(state ^ (state >>> 15), state | 1)
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61)
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32
  }
}
