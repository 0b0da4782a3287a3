import type { Action } from './action.ts'
import { giveUp, invalidate } from './flights.ts'
import type { Broken } from './promises.ts'
import type { Rules } from './rules.ts'
import { closeHolding, mayClose } from './session.ts'
import { CLAIM, GIVEN_UP, IN_JOIN, IN_SYNC, JOINED, MEMBER, MUST_JOIN, NONE } from './states.ts'
import { type Broker, type Partition, type Process, spend } from './world.ts'

/** The coordinator of the group, and how a process is a member of it. Requests of one member arrive in their order. */
export const groupActions = {
  drain: {
    toAll: true,
    says: 'A hears that it must join, and drains',
    act({ broker }, process) {
      if (process.phase !== MEMBER || process.leaving) return false
      if (isOf(broker, process) && !broker.preparing && !spend(broker, 'rejoins')) return false
      process.phase = MUST_JOIN
      for (const seat of process.seats) seat.held = seat.session === NONE ? 0 : 1
      process.oldLease = process.lease
      return true
    },
  },
  join: {
    toAll: true,
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
    toAll: true,
    says: 'A sends JoinGroup and is answered with the generation that there is',
    act({ broker }, process) {
      if (process.phase !== MUST_JOIN || !process.known || broker.preparing) return false
      beginJoin(process)
      answerJoin(process, broker)
      return true
    },
  },
  giveUpJoin: {
    toAll: true,
    says: 'A gives up its JoinGroup, which the coordinator has',
    act({ broker }, process) {
      if (process.phase !== IN_JOIN || !spend(broker, 'lostJoins')) return false
      process.phase = MUST_JOIN
      return true
    },
  },
  completeRound: {
    toAll: true,
    says: 'all have joined, and the leader gives the partition to A in the next generation',
    ways: ({ partitions, processes }) => 2 * processes.length ** (partitions.length - 1),
    more: ({ broker, partitions }) => {
      const owners = partitions.slice(1).map(one => `the other one to ${'ABC'[one.broker.owner - 1]}`)
      return [...owners, broker.together ? 'all commit together' : 'all commit apart'].join(', ')
    },
    act: completeRound,
  },
  loseJoin: {
    toAll: true,
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
    toAll: true,
    says: 'A sends SyncGroup, and it is answered',
    act({ broker, partitions }, process) {
      if (process.phase !== JOINED || !process.known || broker.preparing) return false
      if (process.joining !== broker.generation) return false
      process.phase = IN_SYNC
      process.answerYoung = 1
      process.seats.forEach((seat, p) => {
        seat.given = partitions[p]!.broker.owner === process.id + 1 ? 1 : 0
      })
      return true
    },
  },
  loseSync: {
    toAll: true,
    says: 'A loses the answer to its SyncGroup',
    act({ broker }, process) {
      if (process.phase !== IN_SYNC || !spend(broker, 'lostJoins')) return false
      mustJoin(process)
      return true
    },
  },
  hearSync: { toAll: true, says: 'A hears the answer to its SyncGroup', act: hearSync },
  beat: {
    toAll: true,
    says: "A's heartbeat is answered",
    act({ broker }, process) {
      if (!beats(broker, process) || process.lease) return false
      process.lease = 1
      return true
    },
  },
  beginBeat: {
    toAll: true,
    says: "A's heartbeat is answered, and the answer is on its way",
    act({ broker }, process) {
      if (!beats(broker, process) || process.heartbeat || !spend(broker, 'lateHeartbeats')) return false
      process.heartbeat = 1
      return true
    },
  },
  endBeat: {
    toAll: true,
    says: "A hears its heartbeat's answer",
    act(_, process, _way, rules) {
      if (!process.heartbeat) return false
      if (rules.extendsLease({ joinBegan: process.heartbeat === 2 })) process.lease = 1
      process.heartbeat = 0
      return true
    },
  },
  endLease: {
    toAll: true,
    says: "time passes: A's lease is over",
    act(_, process) {
      if (!process.lease && !process.oldLease) return false
      process.lease = 0
      process.oldLease = 0
      return true
    },
  },
  age: {
    toAll: true,
    says: 'time passes: what is on its way to A gives no lease any more',
    act(_, process) {
      if (process.lease || process.oldLease || (!process.heartbeat && !process.answerYoung)) return false
      process.heartbeat = 0
      process.answerYoung = 0
      return true
    },
  },
  evict: {
    toAll: true,
    says: 'the coordinator has not heard of A for too long, and a rebalance begins without it',
    act({ broker, processes }, process) {
      if (!process.known || process.joined || process.lease || process.heartbeat || process.answerYoung) return false
      if (broker.rounds === 0) return false
      process.known = 0
      for (const seat of process.seats) invalidate(seat)
      broker.preparing = processes.some(({ known }) => known) ? 1 : 0
      return true
    },
  },
  forgetGroup: {
    toAll: true,
    says: 'the coordinator forgets the group, after all leases are over',
    act({ broker, processes, partitions }, process) {
      if (process.id !== 0 || broker.generation === 0) return false
      if (processes.some(({ lease, heartbeat, answerYoung }) => lease || heartbeat || answerYoung)) return false
      if (!spend(broker, 'resets')) return false
      broker.generation = 0
      broker.preparing = 0
      for (const partition of partitions) partition.broker.owner = 0
      for (const member of processes) {
        for (const seat of member.seats) invalidate(seat)
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

/** @param way bits and digits: whether the way to commit changes, and who is given the other partitions */
function completeRound({ broker, processes, partitions }: Partition, process: Process, way: number): boolean {
  if (!broker.preparing || !process.joined || broker.rounds === 0) return false
  if (processes.some(({ known, joined }) => known && !joined)) return false
  const others = Math.floor(way / 2)
  const owners = partitions.map((_, p) => (p === 0 ? process : processes[others]!)) // there are two at most
  if (owners.some(({ joined }) => !joined) || (way % 2 === 1 && !spend(broker, 'switches'))) return false
  if (way % 2 === 1) broker.together = 1 - broker.together
  broker.rounds--
  broker.generation++
  broker.preparing = 0
  for (const member of processes) {
    member.seats.forEach((seat, p) => {
      partitions[p]!.broker.owner = owners[p]!.id + 1
      if (member !== owners[p]) seat.gapAfter = 1
      invalidate(seat)
    })
    if (member.joined && member.phase === IN_JOIN) answerJoin(member, broker)
    member.joined = 0
  }
  return true
}

function answerJoin(process: Process, { generation, together }: Broker): void {
  process.phase = JOINED
  process.joining = generation
  process.joiningTogether = together
  for (const seat of process.seats) {
    seat.gapBefore = seat.gapBefore || seat.gapAfter
    seat.gapAfter = 0
  }
}

function mustJoin(process: Process): void {
  process.phase = MUST_JOIN
  process.joining = 0
  process.joiningTogether = 0
  process.answerYoung = 0
  for (const seat of process.seats) seat.given = 0
}

function hearSync({ partitions }: Partition, process: Process, _way: number, rules: Rules): boolean | Broken {
  if (process.phase !== IN_SYNC) return false
  const { sameId, generation: synced, joining: generation, oldLease, seats } = process
  const sameWay = process.together === process.joiningTogether
  const keeps = rules.keeps({ sameId: sameId === 1, sameWay, synced, generation, oldLease: oldLease === 1 })
  const broken = keeps && seats.some(({ given, holding, gapBefore }) => given && holding && gapBefore) ? 'kept' : null
  const isLost = ({ holding, given }: Process) => holding === 1 && !(given && keeps)
  if (seats.some((seat, p) => isLost(seat) && !mayClose(partitions[p]!, seat))) return false
  for (const seat of seats) {
    if (isLost(seat)) closeHolding(seat)
    if (!keeps) {
      seat.claimed = 0
      if (seat.by === CLAIM) giveUp(seat, GIVEN_UP)
    }
    seat.holding = seat.given
    seat.held = process.leaving && seat.session !== NONE ? 1 : 0
    seat.gapBefore = 0
    seat.given = 0
  }
  process.phase = MEMBER
  process.lease = process.answerYoung
  process.generation = process.joining
  process.together = process.joiningTogether
  process.sameId = 1
  process.oldLease = 0
  process.joining = 0
  process.joiningTogether = 0
  process.answerYoung = 0
  process.heartbeat = 0
  return broken ?? true
}
