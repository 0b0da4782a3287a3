import { setTimeout as pause } from 'node:timers/promises'
import type { Api, Fate, Passage } from '../support/wire-tap.ts'
import { between, type Fault, oneOf, type Scene } from './scene.ts'

const groupApis: Api[] = ['JoinGroup', 'SyncGroup', 'Heartbeat', 'LeaveGroup']
const transactionApis: Api[] = ['InitProducerId', 'AddOffsetsToTxn', 'TxnOffsetCommit', 'Produce', 'EndTxn']
const timeoutMs = 30_000

/** Loses or delays some answers to one kind of request; lost answers may break their connections. */
export const loseAnswers: Fault = async scene => {
  const api = oneOf(scene, [...groupApis, ...transactionApis])
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
  if (groupApis.includes(api)) await rebalance(scene)
  await until(() => left === 0)
  restore()
}

/** Cuts all processes off from the running brokers for this long, so that their group removes them. */
export const cutOff =
  (ms: number): Fault =>
  async scene => {
    scene.say(`no process reaches a broker for ${ms / 1000} s`)
    const restore = onEveryWire(scene, () => 'cut')
    await pause(ms)
    restore()
    scene.say('the brokers can be reached again')
  }

/** Kills the group's coordinator between JoinGroup and SyncGroup. */
export const killCoordinator: Fault = async scene => {
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
  if (!killed) throw new Error('no member sent SyncGroup, although one joined')
  await killed.done
  say(`broker ${killed.id}, the group's coordinator, was killed between JoinGroup and SyncGroup`)
  await pause(between(scene, 0, 3000))
  await kafka.startNode(killed.id)
  say(`broker ${killed.id} is back`)
  await moved
}

/**
 * Kills a transaction's coordinator some milliseconds after EndTxn, when it may have written the end or not. It stays
 * down until another one has taken over.
 */
export const killTransactionCoordinator: Fault = async scene => {
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
  if (!killed) return say('no transaction was ended')
  await killed.done
  say(`broker ${killed.id} was killed while it ended a transaction`)
  await pause(between(scene, 10_000, 13_000)) // one that is back sooner breaks what Kafka promises: see docs/delivery.md
  await kafka.startNode(killed.id)
  say(`broker ${killed.id} is back`)
}

/**
 * A new process gets partitions, works and leaves while their former owners still wait for the answer to SyncGroup.
 * These lose that answer, join again, and get partitions back without knowing that another process owned them.
 */
export const handBack: Fault = async scene => {
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
    say(`${newcomer.name} came and went, unknown to ${held} others`)
  } finally {
    restore()
    left.resolve()
  }
}

/** Starts a process, or stops one if there are more than usual. */
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

/** Waits for the condition, at most 30 s. */
async function until(condition: () => boolean): Promise<void> {
  const deadline = performance.now() + timeoutMs
  while (!condition() && performance.now() < deadline) await pause(20)
}
