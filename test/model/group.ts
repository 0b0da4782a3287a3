import type { Actions } from './model.ts'
import { closeHolding, endSession, forget, mayClose } from './session.ts'
import * as is from './world.ts'
import { NONE, type Process, type World } from './world.ts'

/** The coordinator of the group, and how a process is a member of it. Requests of one member arrive in their order. */
export const groupActions = {
  /** It hears that it must join, and drains. */
  drain(world, process) {
    if (process.phase !== is.MEMBER || process.leaving) return false
    if (world.isMember(process) && !world.broker.preparing && !world.spend('rejoins')) return false
    process.phase = is.MUST_JOIN
    process.held = process.session === NONE ? 0 : 1
    return true
  },
  /** It sends JoinGroup, a rebalance begins. */
  join({ broker }, process) {
    if (process.phase !== is.MUST_JOIN || broker.rounds === 0) return false
    process.phase = is.IN_JOIN
    beginJoin(process)
    if (!process.known) process.sameId = 0
    process.known = 1
    process.joined = 1
    broker.preparing = 1
    return true
  },
  /** It sends JoinGroup and is answered with the generation that there is. */
  joinAgain(world, process) {
    if (process.phase !== is.MUST_JOIN || !process.known || world.broker.preparing) return false
    beginJoin(process)
    answerJoin(world, process)
    return true
  },
  /** It gives up its JoinGroup, which the coordinator has. */
  giveUpJoin(world, process) {
    if (process.phase !== is.IN_JOIN || !world.spend('lostJoins')) return false
    process.phase = is.MUST_JOIN
    return true
  },
  /** All have joined, and the leader gives it the partition in the next generation. */
  completeRound(world, process) {
    const { broker, processes } = world
    if (!broker.preparing || !process.joined || broker.rounds === 0) return false
    if (processes.some(({ known, joined }) => known && !joined)) return false
    broker.rounds--
    broker.generation++
    broker.preparing = 0
    broker.owner = process.id + 1
    for (const member of processes) {
      invalidate(member)
      if (member.joined && member.phase === is.IN_JOIN) answerJoin(world, member)
      member.joined = 0
    }
    return true
  },
  /** It loses the answer to its JoinGroup, or its SyncGroup is refused. */
  loseJoin(world, process) {
    if (process.phase !== is.JOINED) return false
    if (isSynced(world, process) && !world.spend('lostJoins')) return false
    mustJoin(process)
    return true
  },
  /** It sends SyncGroup, and it is answered. */
  sync(world, process) {
    if (process.phase !== is.JOINED || !isSynced(world, process)) return false
    process.phase = is.IN_SYNC
    process.answer = 1
    process.given = world.broker.owner === process.id + 1 ? 1 : 0
    return true
  },
  /** It loses the answer to its SyncGroup. */
  loseSync(world, process) {
    if (process.phase !== is.IN_SYNC || !world.spend('lostJoins')) return false
    mustJoin(process)
    return true
  },
  /** It hears the answer to its SyncGroup. */
  hearSync(world, process, rules) {
    if (process.phase !== is.IN_SYNC) return false
    const { sameId, generation: synced, joining: generation, holding, given } = process
    const isLost = holding === 1 && !(given && rules.keeps({ sameId: sameId === 1, synced, generation }))
    if (isLost && !mayClose(world, process)) return false
    if (isLost) closeHolding(process)
    else if (process.session !== is.OPEN) endSession(process)
    process.held = process.leaving && process.session !== NONE ? 1 : 0
    const { answer: lease } = process
    Object.assign(process, { phase: is.MEMBER, holding: given, given: 0, lease, answer: 0 })
    Object.assign(process, { generation, joining: 0, sameId: 1 })
    return true
  },
  /** Its heartbeat is answered. */
  beat(world, process) {
    if (!beats(world, process) || process.lease) return false
    process.lease = 1
    return true
  },
  /** Its heartbeat is answered, and the answer is on its way. */
  beginBeat(world, process) {
    if (!beats(world, process) || process.answer || !world.spend('lateHeartbeats')) return false
    process.answer = 1
    return true
  },
  /** It hears its heartbeat's answer. */
  endBeat(_, process, rules) {
    if (!process.answer || process.phase === is.IN_SYNC) return false
    if (rules.extendsLease({ joinBegan: process.answer === 2 })) process.lease = 1
    process.answer = 0
    return true
  },
  /** Time passes: its lease is over. */
  endLease(_, process) {
    if (!process.lease) return false
    process.lease = 0
    return true
  },
  /** Time passes: what is on its way to it gives no lease any more. */
  age(_, process) {
    if (process.lease || !process.answer) return false
    process.answer = 0
    return true
  },
  /** The coordinator has not heard of it for too long, and a rebalance begins without it. */
  evict({ broker, processes }, process) {
    if (!process.known || process.joined || process.lease || process.answer || broker.rounds === 0) return false
    process.known = 0
    invalidate(process)
    broker.preparing = processes.some(({ known }) => known) ? 1 : 0
    return true
  },
  /** The coordinator forgets the group, after all leases are over. */
  forgetGroup(world, process) {
    const { broker, processes } = world
    if (process.id !== 0 || broker.generation === 0) return false
    if (processes.some(({ lease, answer }) => lease || answer) || !world.spend('resets')) return false
    Object.assign(broker, { generation: 0, preparing: 0, owner: 0 })
    for (const member of processes) {
      invalidate(member)
      member.known = 0
      member.joined = 0
      if (member.phase === is.IN_JOIN) member.phase = is.MUST_JOIN
    }
    return true
  },
} satisfies Actions

function beats(world: World, process: Process): boolean {
  const { phase } = process
  return (phase === is.MEMBER || phase === is.MUST_JOIN) && world.isMember(process) && !world.broker.preparing
}

function beginJoin(process: Process): void {
  process.lease = 0
  if (process.answer) process.answer = 2
}

function answerJoin({ broker }: World, process: Process): void {
  process.phase = is.JOINED
  process.joining = broker.generation
}

/** Whether the coordinator answers its SyncGroup. */
function isSynced({ broker }: World, { known, joining }: Process): boolean {
  return known === 1 && !broker.preparing && joining === broker.generation
}

function mustJoin(process: Process): void {
  Object.assign(process, { phase: is.MUST_JOIN, joining: 0, answer: 0, given: 0 })
}

/** A generation is over, or its member is gone: what was formed in it and has not arrived is refused. */
function invalidate(process: Process): void {
  process.valid = 0
  if (process.transaction === is.SENT && process.unheard) forget(process)
}
