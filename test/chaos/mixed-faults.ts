import { setTimeout as pause } from 'node:timers/promises'
import { brokerFault, freeze, gatewayFault, kill, leaveAndJoin, outage, revokeRight } from './faults.ts'
import { between, type Fault, latencyMs, oneOf, type Scenario, type Scene } from './scene.ts'
import { killCoordinator, killTransactionCoordinator, loseAnswers } from './wire-faults.ts'

interface WeightedFault {
  make: Fault
  /** Its frequency, relative to the others. */
  weight: number
  /** The number of brokers that it needs. Default 1. */
  nodes?: number
}

const kinds: readonly WeightedFault[] = [
  { make: kill, weight: 4 },
  { make: freeze, weight: 3 },
  { make: leaveAndJoin, weight: 3 },
  { make: gatewayFault, weight: 6 },
  { make: loseAnswers, weight: 3 },
  { make: scene => revokeRight(oneOf(scene, scene.rights.names), between(scene, 500, 8000))(scene), weight: 1 },
  { make: brokerFault, weight: 1 },
  { make: scene => outage(between(scene, 0, 20_000))(scene), weight: 1 },
  { make: killCoordinator, weight: 1, nodes: 3 },
  { make: killTransactionCoordinator, weight: 1, nodes: 3 },
]

/** One fault after the other, drawn by the seed, until all commands are produced. */
export const mixedFaults: Scenario = {
  latencyMs,
  forbidden: [],
  play: (scene, load) => makeFaults(scene, () => load.isOver),
}

/** Makes one fault after the other until it is over. @returns how many */
export async function makeFaults(scene: Scene, isOver: () => boolean): Promise<number> {
  const { fleet, nodes, workers, sandbox } = scene
  const possible = kinds
    .filter(kind => (kind.nodes ?? 1) <= nodes)
    .flatMap(kind => Array<WeightedFault>(kind.weight).fill(kind))
  let made = 0
  while (!isOver()) {
    await oneOf(scene, possible).make(scene)
    made++
    while (fleet.members.size < workers) fleet.start()
    await pause(between(scene, 200, 2000))
  }
  sandbox.faults.clear()
  return made
}
