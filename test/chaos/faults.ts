import { setTimeout as pause } from 'node:timers/promises'
import type { LocalKafka } from '../../src/cli/local-kafka/index.ts'
import type { FaultName, Sandbox } from '../../src/sandbox/index.ts'
import type { Fleet, Member } from './fleet.ts'

export interface Scene {
  fleet: Fleet
  kafka: LocalKafka
  nodes: number
  sandbox: Sandbox
  /** 0 to 1, seeded. */
  random: () => number
  say: (line: string) => void
}

type Fault = (scene: Scene) => Promise<void>

const workers = 3
const gatewayFaults: FaultName[] = [
  'reset-before',
  'reset-after',
  'stall',
  'http-502',
  'http-502-executed',
  'truncated-json',
]
const harmlessFaults: FaultName[] = ['throttle', 'http-429', 'access-denied', 'envelope-refused', 'items-reordered']

const between = ({ random }: Scene, least: number, most: number) => least + random() * (most - least)
const oneOf = <T>({ random }: Scene, list: readonly T[]): T => list[Math.floor(random() * list.length)]!
const anyone = (scene: Scene): Member | undefined => oneOf(scene, [...scene.fleet.members])

const kill: Fault = async scene => {
  const member = anyone(scene)
  if (!member) return
  scene.say(`kill -9 ${member.name}`)
  await member.kill()
  await pause(between(scene, 0, 2000))
  scene.fleet.start()
}

const freeze: Fault = async scene => {
  const member = anyone(scene)
  if (!member) return
  const ms = between(scene, 500, 10_000) // the session time-out is 6 s
  scene.say(`freeze ${member.name} for ${Math.round(ms)} ms`)
  member.freeze()
  await pause(ms)
  member.thaw()
}

const leaveAndJoin: Fault = async scene => {
  const member = anyone(scene)
  if (!member) return
  scene.say(`${member.name} leaves, another joins`)
  scene.fleet.start()
  await member.leave()
}

const gatewayTrouble: Fault = async scene => {
  const fault = oneOf(scene, [...gatewayFaults, ...harmlessFaults])
  const count = fault === 'stall' ? 1 : Math.ceil(between(scene, 0, 4))
  scene.say(`gateway: ${fault} × ${count}`)
  scene.sandbox.faults.next(fault, count)
}

/** One node is stopped in order; of three nodes one is killed, frozen or stopped. */
const brokerTrouble: Fault = async scene => {
  const { kafka, nodes } = scene
  const id = nodes === 1 ? 1 : 1 + Math.floor(scene.random() * nodes)
  const how = nodes === 1 ? 'stop' : oneOf(scene, ['stop', 'kill', 'freeze'] as const)
  scene.say(`broker ${id}: ${how}`)
  if (how === 'freeze') {
    kafka.freezeNode(id)
    await pause(8000)
    kafka.thawNode(id)
    return
  }
  await (how === 'kill' ? kafka.killNode(id) : kafka.stopNode(id))
  await pause(between(scene, 0, 3000))
  await kafka.startNode(id)
  scene.say(`broker ${id} is back`)
}

/** As often as they stand here. */
const faults: Fault[] = [
  ...Array<Fault>(4).fill(kill),
  ...Array<Fault>(3).fill(freeze),
  ...Array<Fault>(3).fill(leaveAndJoin),
  ...Array<Fault>(6).fill(gatewayTrouble),
  brokerTrouble,
]

/** Makes trouble until the signal says stop; then everything is whole again. */
export async function makeTrouble(scene: Scene, signal: AbortSignal, brokerFaults: boolean): Promise<number> {
  const possible = faults.filter(fault => brokerFaults || fault !== brokerTrouble)
  let made = 0
  while (!signal.aborted) {
    await oneOf(scene, possible)(scene)
    made++
    while (scene.fleet.members.size < workers) scene.fleet.start()
    await pause(between(scene, 200, 2000))
  }
  scene.sandbox.faults.clear()
  return made
}

/** Every node is stopped in order and started again, one after the other, as an upgrade does it. */
export async function restartNodesInTurn({ kafka, nodes, say }: Scene): Promise<number> {
  for (let id = 1; id <= nodes; id++) {
    say(`broker ${id}: stop`)
    await kafka.stopNode(id)
    await kafka.startNode(id)
    say(`broker ${id} is back`)
    await pause(5000) // its replicas catch up before the next one goes
  }
  return nodes
}
