import { setTimeout as pause } from 'node:timers/promises'
import { brokerTrouble, freeze, gatewayTrouble, kill, leaveAndJoin, outage, withoutRight } from './faults.ts'
import { latencyMs } from './scenarios.ts'
import { between, type Fault, oneOf, type Scenario } from './scene.ts'
import { coordinatorKilled, endingKilled, wireTrouble } from './wire-faults.ts'

interface Kind {
  make: Fault
  /** How often it comes, compared to the others. */
  weight: number
  /** Brokers it takes. Default 1. */
  nodes?: number
}

const kinds: readonly Kind[] = [
  { make: kill, weight: 4 },
  { make: freeze, weight: 3 },
  { make: leaveAndJoin, weight: 3 },
  { make: gatewayTrouble, weight: 6 },
  { make: wireTrouble, weight: 3 },
  { make: scene => withoutRight(oneOf(scene, scene.rights.names), between(scene, 500, 8000))(scene), weight: 1 },
  { make: brokerTrouble, weight: 1 },
  { make: scene => outage(between(scene, 0, 20_000))(scene), weight: 1 },
  { make: coordinatorKilled, weight: 1, nodes: 3 },
  { make: endingKilled, weight: 1, nodes: 3 },
]

/** One trouble after the other, as the seed draws them, until all commands are there; then everything is whole again. */
export const trouble: Scenario = {
  latencyMs,
  forbidden: [],
  async play(scene, load) {
    const { fleet, nodes, workers, sandbox } = scene
    const possible = kinds
      .filter(kind => (kind.nodes ?? 1) <= nodes)
      .flatMap(kind => Array<Kind>(kind.weight).fill(kind))
    let made = 0
    while (!load.isOver) {
      await oneOf(scene, possible).make(scene)
      made++
      while (fleet.members.size < workers) fleet.start()
      await pause(between(scene, 200, 2000))
    }
    sandbox.faults.clear()
    return made
  },
}
