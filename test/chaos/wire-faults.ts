import { setTimeout as pause } from 'node:timers/promises'
import type { Api, Fate, Passage } from '../support/wire-tap.ts'
import { between, type Fault, oneOf, type Scene } from './scene.ts'

const ofTheGroup: Api[] = ['JoinGroup', 'SyncGroup', 'Heartbeat', 'LeaveGroup']
const ofTransactions: Api[] = ['InitProducerId', 'AddOffsetsToTxn', 'TxnOffsetCommit', 'Produce', 'EndTxn']
const patienceMs = 30_000

/** Some answers to one request are lost, with their connections or without them, or they come late. */
export const wireTrouble: Fault = async scene => {
  const api = oneOf(scene, [...ofTheGroup, ...ofTransactions])
  const how = oneOf(scene, ['lost', 'cut', 'late'] as const)
  const count = Math.ceil(between(scene, 0, 4))
  const lateMs = Math.round(between(scene, 500, 12_000))
  scene.say(`answers to ${api}: ${how}${how === 'late' ? ` by ${lateMs} ms` : ''}, ${count} of them`)
  let left = count
  const restore = onEveryWire(scene, ({ kind, api: asked }) => {
    if (kind === 'request' || asked !== api || left === 0) return undefined
    left--
    if (how === 'late') return pause(lateMs, undefined)
    return how === 'lost' ? 'swallow' : 'cut'
  })
  if (ofTheGroup.includes(api)) await rebalance(scene)
  await until(() => left === 0)
  restore()
}

/** The processes reach no broker for this long, while the brokers run: their group removes them. */
export const cutOff =
  (ms: number): Fault =>
  async scene => {
    scene.say(`no process reaches a broker for ${ms / 1000} s`)
    const restore = onEveryWire(scene, () => 'cut')
    await pause(ms)
    restore()
    scene.say('the brokers can be reached again')
  }

/** The group's coordinator is killed when its members have a new generation and before they know their partitions. */
export const coordinatorKilled: Fault = async scene => {
  const { kafka, say } = scene
  let killed: { id: number; done: Promise<void> } | undefined
  const restore = onEveryWire(scene, async ({ kind, api }, id) => {
    if (kind === 'answer' || api !== 'SyncGroup' || (killed && killed.id !== id)) return undefined
    killed ??= { id, done: kafka.killNode(id) }
    await killed.done
    return 'cut'
  })
  const moved = rebalance(scene)
  await until(() => killed !== undefined)
  restore()
  if (!killed) throw new Error('no member has asked for its partitions, though one has joined')
  await killed.done
  say(`broker ${killed.id}, the group's coordinator, was killed between JoinGroup and SyncGroup`)
  await pause(between(scene, 0, 3000))
  await kafka.startNode(killed.id)
  say(`broker ${killed.id} is back`)
  await moved
}

/**
 * A transaction's coordinator is killed some milliseconds after it was asked to end one: perhaps it has written so, perhaps
 * not. It stays away until others have taken its place.
 */
export const endingKilled: Fault = async scene => {
  const { kafka, say } = scene
  let killed: { id: number; done: Promise<void> } | undefined
  const kill = async (id: number) => {
    await pause(between(scene, 0, 6))
    await kafka.killNode(id)
  }
  const restore = onEveryWire(scene, ({ kind, api }, id) => {
    if (kind === 'request' && api === 'EndTxn') killed ??= { id, done: kill(id) }
    return undefined
  })
  await until(() => killed !== undefined)
  restore()
  if (!killed) return say('nothing is left to be done in transactions')
  await killed.done
  say(`broker ${killed.id} was killed while it ended a transaction`)
  await pause(between(scene, 10_000, 13_000)) // one that is back sooner breaks what Kafka promises: see docs/delivery.md
  await kafka.startNode(killed.id)
  say(`broker ${killed.id} is back`)
}

/**
 * A newcomer gets partitions, works and leaves, while those that it got them from still wait for the answer to SyncGroup.
 * They lose that answer, join again, and some partition comes back to its owner, who never heard that it was away.
 */
export const handedBack: Fault = async scene => {
  const { fleet, taps, say } = scene
  const before = taps.map(tap => tap.connections())
  const left = Promise.withResolvers<void>()
  let held = 0
  const restore = onEveryWire(scene, async ({ kind, api, connection }, id) => {
    if (kind === 'request' || api !== 'SyncGroup' || connection >= before[id - 1]!) return undefined
    held++
    await left.promise
    return 'cut'
  })
  const newcomer = fleet.start()
  await until(() => held > 0)
  try {
    await newcomer.works()
    await pause(1000)
    await newcomer.leave()
    say(`${newcomer.name} came and went, and ${held} others have heard nothing of it`)
  } finally {
    restore()
    left.resolve()
  }
}

/** One process more, or one less where there are more than usual. */
async function rebalance({ fleet, workers, say }: Scene): Promise<void> {
  const [old] = fleet.members
  if (old && fleet.members.size > workers) {
    say(`${old.name} leaves`)
    await old.leave()
  } else {
    say(`${fleet.start().name} joins`)
  }
}

function onEveryWire({ taps }: Scene, rule: (passage: Passage, id: number) => Fate | Promise<Fate>): () => void {
  const removals = taps.map((tap, i) => tap.addRule(passage => rule(passage, i + 1)))
  return () => {
    for (const remove of removals) remove()
  }
}

/** Half a minute at most. */
async function until(condition: () => boolean): Promise<void> {
  const patience = performance.now() + patienceMs
  while (!condition() && performance.now() < patience) await pause(20)
}
