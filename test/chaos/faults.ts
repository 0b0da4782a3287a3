import { setTimeout as pause } from 'node:timers/promises'
import type { FaultName } from '../../src/sandbox/index.ts'
import type { Member } from './fleet.ts'
import { between, type Fault, oneOf, type Scene } from './scene.ts'

const gatewayFaults: FaultName[] = [
  'reset-before',
  'reset-after',
  'stall',
  'http-502',
  'http-502-executed',
  'truncated-json',
]
const harmlessFaults: FaultName[] = ['throttle', 'http-429', 'access-denied', 'envelope-refused', 'items-reordered']

const anyMember = (scene: Scene): Member | undefined => oneOf(scene, [...scene.fleet.members])

export const kill: Fault = async scene => {
  const member = anyMember(scene)
  if (!member) return
  scene.say(`kill -9 ${member.name}`)
  await member.kill()
  await pause(between(scene, 0, 2000))
  scene.fleet.start()
}

export const freeze: Fault = scene => pauseProcess(scene, between(scene, 500, 10_000)) // the session time-out is 6 s

/** Stops one process for a time. Its wrong clocks decide whether that was a suspend of its machine. */
export async function pauseProcess(scene: Scene, ms: number): Promise<void> {
  const member = anyMember(scene)
  if (!member) return
  scene.say(`freeze ${member.name} for ${Math.round(ms)} ms`)
  member.freeze()
  await pause(ms)
  member.thaw()
}

export const leaveAndJoin: Fault = async scene => {
  const member = anyMember(scene)
  if (!member) return
  scene.say(`${member.name} leaves, another joins`)
  scene.fleet.start()
  await member.leave()
}

export const gatewayFault: Fault = async scene => {
  const fault = oneOf(scene, [...gatewayFaults, ...harmlessFaults])
  const count = fault === 'stall' ? 1 : Math.ceil(between(scene, 0, 4))
  scene.say(`gateway: ${fault} × ${count}`)
  scene.sandbox.faults.next(fault, count)
}

/** Shuts a single broker down cleanly; kills, freezes or shuts down one of three. */
export const brokerFault: Fault = async scene => {
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

/** Makes Kafka unavailable for `ms`: shuts all brokers down cleanly, and starts them all at once. */
export function outage(ms: number): Fault {
  return async ({ kafka, nodes, say }) => {
    const ids = Array.from({ length: nodes }, (_, i) => i + 1)
    say('every broker is stopped')
    await Promise.all(ids.map(id => kafka.stopNode(id)))
    say(`no broker for ${ms / 1000} s`)
    await pause(ms)
    await Promise.all(ids.map(id => kafka.startNode(id)))
    say('all brokers are back')
  }
}

/** Revokes the rights of this name from every process for `ms`, and grants them again. */
export function revokeRight(name: string, ms: number): Fault {
  return async ({ rights, say }) => {
    say(`no right to ${name} for ${Math.round(ms)} ms`)
    await rights.revoke(name)
    await pause(ms)
    await rights.grant(name)
    say(`the right to ${name} is back`)
  }
}
