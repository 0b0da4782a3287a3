import { setTimeout as pause } from 'node:timers/promises'
import { brokerTrouble, freeze, gatewayTrouble, kill, leaveAndJoin, outage, withoutRight } from './faults.ts'
import { between, type Fault, oneOf, type Scene, workers } from './scene.ts'
import { coordinatorKilled, endingKilled, wireTrouble } from './wire-faults.ts'

interface Kind {
  make: Fault
  /** How often it comes, compared to the others. */
  weight: number
  /** Stops a broker. */
  ofBrokers?: true
  /** Brokers it takes. Default 1. */
  nodes?: number
}

const kinds = {
  kill: { make: kill, weight: 4 },
  freeze: { make: freeze, weight: 3 },
  move: { make: leaveAndJoin, weight: 3 },
  gateway: { make: gatewayTrouble, weight: 6 },
  wire: { make: wireTrouble, weight: 3 },
  rights: {
    make: scene => withoutRight(oneOf(scene, scene.rights.names), between(scene, 500, 8000))(scene),
    weight: 1,
  },
  broker: { make: brokerTrouble, weight: 1, ofBrokers: true },
  outage: { make: scene => outage(between(scene, 0, 20_000))(scene), weight: 1, ofBrokers: true },
  coordinator: { make: coordinatorKilled, weight: 1, ofBrokers: true, nodes: 3 },
  ending: { make: endingKilled, weight: 1, ofBrokers: true, nodes: 3 },
} satisfies Record<string, Kind>
export type FaultKind = keyof typeof kinds
export const faultKinds = Object.keys(kinds) as FaultKind[]

export interface TroubleOptions {
  /** What may happen. */
  kinds: readonly FaultKind[]
  /** Leaves the brokers alone. */
  calmBrokers: boolean
}

/** Makes trouble until it is enough; then everything is whole again. @returns how often */
export async function makeTrouble(scene: Scene, options: TroubleOptions, enough: () => boolean): Promise<number> {
  const possible = options.kinds
    .map((name): Kind => kinds[name])
    .filter(({ nodes = 1, ofBrokers = false }) => nodes <= scene.nodes && !(ofBrokers && options.calmBrokers))
    .flatMap(kind => Array<Kind>(kind.weight).fill(kind))
  let made = 0
  while (!enough()) {
    await oneOf(scene, possible).make(scene)
    made++
    while (scene.fleet.members.size < workers) scene.fleet.start()
    await pause(between(scene, 200, 2000))
  }
  scene.sandbox.faults.clear()
  return made
}
