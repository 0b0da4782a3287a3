import type { Action } from './action.ts'
import type { Broken } from './promises.ts'
import type { Rules } from './rules.ts'
import { closeSlot } from './session.ts'
import { IN_JOIN, IN_SYNC, JOINED, MEMBER, MUST_JOIN, NONE } from './states.ts'
import { type Broker, type Process, spend, type World } from './world.ts'

/** The coordinator of the group, and how a process is a member of it. Requests of one member arrive in their order. */
export const groupActions = {
  drain: {
    says: 'A hears that it must join, and drains',
    act({ broker }, process) {
      if (process.phase !== MEMBER || process.leaving) return false
      if (isOf(broker, process) && !broker.preparing && !spend(broker, 'rejoins')) return false
      process.phase = MUST_JOIN
      process.held = process.session === NONE ? 0 : 1
      process.oldLease = process.lease
      return true
    },
  },
  join: {
    says: 'A sends JoinGroup, a rebalance begins',
    act({ broker }, process) {
      if (process.phase !== MUST_JOIN || broker.rounds === 0) return false
      process.phase = IN_JOIN
      beginJoin(process)
      if (!process.known) process.sameId = 0
      process.known = 1
      process.joined = 1
      broker.preparing = 1
      return true
    },
  },
  joinAgain: {
    says: 'A sends JoinGroup and is answered with the generation that there is',
    act({ broker }, process) {
      if (process.phase !== MUST_JOIN || !process.known || broker.preparing) return false
      beginJoin(process)
      answerJoin(process, broker.generation)
      return true
    },
  },
  giveUpJoin: {
    says: 'A gives up its JoinGroup, which the coordinator has',
    act({ broker }, process) {
      if (process.phase !== IN_JOIN || !spend(broker, 'lostJoins')) return false
      process.phase = MUST_JOIN
      return true
    },
  },
  completeRound: {
    says: 'all have joined, and the leader gives the partition to A in the next generation',
    act({ broker, processes }, process) {
      if (!broker.preparing || !process.joined || broker.rounds === 0) return false
      if (processes.some(({ known, joined }) => known && !joined)) return false
      broker.rounds--
      broker.generation++
      broker.preparing = 0
      broker.owner = process.id + 1
      for (const member of processes) {
        if (member !== process) member.gapAfter = 1
        if (member.joined && member.phase === IN_JOIN) answerJoin(member, broker.generation)
        member.joined = 0
      }
      return true
    },
  },
  loseJoin: {
    says: 'A loses the answer to its JoinGroup, or its SyncGroup is refused',
    act({ broker }, process) {
      if (process.phase !== JOINED) return false
      const refused = !process.known || broker.preparing || process.joining !== broker.generation
      if (!refused && !spend(broker, 'lostJoins')) return false
      mustJoin(process)
      return true
    },
  },
  sync: {
    says: 'A sends SyncGroup, and it is answered',
    act({ broker }, process) {
      if (process.phase !== JOINED || !process.known || broker.preparing) return false
      if (process.joining !== broker.generation) return false
      process.phase = IN_SYNC
      process.answerYoung = 1
      process.given = broker.owner === process.id + 1 ? 1 : 0
      return true
    },
  },
  loseSync: {
    says: 'A loses the answer to its SyncGroup',
    act({ broker }, process) {
      if (process.phase !== IN_SYNC || !spend(broker, 'lostJoins')) return false
      mustJoin(process)
      return true
    },
  },
  hearSync: { says: 'A hears the answer to its SyncGroup', act: hearSync },
  beat: {
    says: "A's heartbeat is answered",
    act({ broker }, process) {
      if (!beats(broker, process) || process.lease) return false
      process.lease = 1
      return true
    },
  },
  beginBeat: {
    says: "A's heartbeat is answered, and the answer is on its way",
    act({ broker }, process) {
      if (!beats(broker, process) || process.heartbeat || !spend(broker, 'lateHeartbeats')) return false
      process.heartbeat = 1
      return true
    },
  },
  endBeat: {
    says: "A hears its heartbeat's answer",
    act(_, process, _way, rules) {
      if (!process.heartbeat) return false
      if (rules.extendsLease({ joinBegan: process.heartbeat === 2 })) process.lease = 1
      process.heartbeat = 0
      return true
    },
  },
  endLease: {
    says: "time passes: A's lease is over",
    act(_, process) {
      if (!process.lease && !process.oldLease) return false
      process.lease = 0
      process.oldLease = 0
      return true
    },
  },
  age: {
    says: 'time passes: what is on its way to A gives no lease any more',
    act(_, process) {
      if (process.lease || process.oldLease || (!process.heartbeat && !process.answerYoung)) return false
      process.heartbeat = 0
      process.answerYoung = 0
      return true
    },
  },
  evict: {
    says: 'the coordinator has not heard of A for too long, and a rebalance begins without it',
    act({ broker, processes }, process) {
      if (!process.known || process.joined || process.lease || process.heartbeat || process.answerYoung) return false
      if (broker.rounds === 0) return false
      process.known = 0
      broker.preparing = processes.some(({ known }) => known) ? 1 : 0
      return true
    },
  },
  forgetGroup: {
    says: 'the coordinator forgets the group, after all leases are over',
    act({ broker, processes }, process) {
      if (process.id !== 0 || broker.generation === 0) return false
      if (processes.some(({ lease, heartbeat, answerYoung }) => lease || heartbeat || answerYoung)) return false
      if (!spend(broker, 'resets')) return false
      broker.generation = 0
      broker.preparing = 0
      broker.owner = 0
      for (const member of processes) {
        member.known = 0
        member.joined = 0
        if (member.phase === IN_JOIN) member.phase = MUST_JOIN
      }
      return true
    },
  },
} satisfies Record<string, Action>

/** Whether it is a member of the present generation, as far as it knows and the coordinator. */
function isOf({ generation }: Broker, process: Process): boolean {
  return process.known === 1 && process.sameId === 1 && process.generation === generation
}

function beats(broker: Broker, process: Process): boolean {
  return (process.phase === MEMBER || process.phase === MUST_JOIN) && isOf(broker, process) && !broker.preparing
}

function beginJoin(process: Process): void {
  process.lease = 0
  if (process.heartbeat) process.heartbeat = 2
}

function answerJoin(process: Process, generation: number): void {
  process.phase = JOINED
  process.joining = generation
  process.gapBefore = process.gapBefore || process.gapAfter
  process.gapAfter = 0
}

function mustJoin(process: Process): void {
  process.phase = MUST_JOIN
  process.joining = 0
  process.answerYoung = 0
  process.given = 0
}

function hearSync(world: World, process: Process, _way: number, rules: Rules): boolean | Broken {
  if (process.phase !== IN_SYNC) return false
  const { sameId, generation: synced, joining: generation, oldLease } = process
  const keeps = rules.keeps({ sameId: sameId === 1, synced, generation, oldLease: oldLease === 1 })
  const broken = process.given && process.slot && keeps && process.gapBefore ? 'kept' : null
  if (process.slot && !(process.given && keeps) && !closeSlot(world, process)) return false
  process.phase = MEMBER
  process.lease = process.answerYoung
  process.slot = process.given
  process.held = process.leaving && process.session !== NONE ? 1 : 0
  process.generation = process.joining
  process.sameId = 1
  process.gapBefore = 0
  process.oldLease = 0
  process.joining = 0
  process.answerYoung = 0
  process.given = 0
  process.heartbeat = 0
  return broken ?? true
}
