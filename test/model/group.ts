import { IN_JOIN, IN_SYNC, JOINED, MEMBER, MUST_JOIN, NONE, OPEN } from './fields.ts'
import type { Rules } from './rules.ts'
import { closeHolding, endSession, invalidate, mayClose } from './session.ts'
import { type Action, type Broker, isMember, type Partition, type Process, spend } from './world.ts'

/** The coordinator of the group, and how a process is a member of it. Requests of one member arrive in their order. */
export const groupActions = {
  drain: {
    toAll: true,
    says: 'A hears that it must join, and drains',
    act({ broker }, process) {
      if (process.phase !== MEMBER || process.leaving) return false
      if (isMember(broker, process) && !broker.preparing && !spend(broker, 'rejoins')) return false
      process.phase = MUST_JOIN
      for (const seat of process.seats) seat.held = seat.session === NONE ? 0 : 1
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
    ways: ({ partitions, processes }) => processes.length ** (partitions.length - 1),
    more: ({ partitions }) =>
      partitions
        .slice(1)
        .map(({ broker }) => `the other one to ${'ABC'[broker.owner - 1]}`)
        .join(', '),
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
      process.answer = 1
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
      if (!beats(broker, process) || process.answer || !spend(broker, 'lateHeartbeats')) return false
      process.answer = 1
      return true
    },
  },
  endBeat: {
    toAll: true,
    says: "A hears its heartbeat's answer",
    act(_, process, _way, rules) {
      if (!process.answer || process.phase === IN_SYNC) return false
      if (rules.extendsLease({ joinBegan: process.answer === 2 })) process.lease = 1
      process.answer = 0
      return true
    },
  },
  endLease: {
    toAll: true,
    says: "time passes: A's lease is over",
    act(_, process) {
      if (!process.lease) return false
      process.lease = 0
      return true
    },
  },
  age: {
    toAll: true,
    says: 'time passes: what is on its way to A gives no lease any more',
    act(_, process) {
      if (process.lease || !process.answer) return false
      process.answer = 0
      return true
    },
  },
  evict: {
    toAll: true,
    says: 'the coordinator has not heard of A for too long, and a rebalance begins without it',
    act({ broker, processes }, process) {
      if (!process.known || process.joined || process.lease || process.answer || broker.rounds === 0) return false
      process.known = 0
      invalidate(process)
      broker.preparing = processes.some(({ known }) => known) ? 1 : 0
      return true
    },
  },
  forgetGroup: {
    toAll: true,
    says: 'the coordinator forgets the group, after all leases are over',
    act({ broker, processes, partitions }, process) {
      if (process.id !== 0 || broker.generation === 0) return false
      if (processes.some(({ lease, answer }) => lease || answer) || !spend(broker, 'resets')) return false
      broker.generation = 0
      broker.preparing = 0
      for (const partition of partitions) partition.broker.owner = 0
      for (const member of processes) {
        invalidate(member)
        member.known = 0
        member.joined = 0
        if (member.phase === IN_JOIN) member.phase = MUST_JOIN
      }
      return true
    },
  },
} satisfies Record<string, Action>

function beats(broker: Broker, process: Process): boolean {
  return (process.phase === MEMBER || process.phase === MUST_JOIN) && isMember(broker, process) && !broker.preparing
}

function beginJoin(process: Process): void {
  process.lease = 0
  if (process.answer) process.answer = 2
}

/** @param way says who is given the other partitions */
function completeRound({ broker, processes, partitions }: Partition, process: Process, way: number): boolean {
  if (!broker.preparing || !process.joined || broker.rounds === 0) return false
  if (processes.some(({ known, joined }) => known && !joined)) return false
  const owners = partitions.map((_, p) => (p === 0 ? process : processes[way]!)) // there are two at most
  if (owners.some(({ joined }) => !joined)) return false
  broker.rounds--
  broker.generation++
  broker.preparing = 0
  partitions.forEach((partition, p) => {
    partition.broker.owner = owners[p]!.id + 1
  })
  for (const member of processes) {
    invalidate(member)
    if (member.joined && member.phase === IN_JOIN) answerJoin(member, broker)
    member.joined = 0
  }
  return true
}

function answerJoin(process: Process, { generation }: Broker): void {
  process.phase = JOINED
  process.joining = generation
}

function mustJoin(process: Process): void {
  process.phase = MUST_JOIN
  process.joining = 0
  process.answer = 0
  for (const seat of process.seats) seat.given = 0
}

function hearSync({ partitions }: Partition, process: Process, _way: number, rules: Rules): boolean {
  if (process.phase !== IN_SYNC) return false
  const { sameId, generation: synced, joining: generation, seats } = process
  const keeps = rules.keeps({ sameId: sameId === 1, synced, generation })
  const isLost = ({ holding, given }: Process) => holding === 1 && !(given && keeps)
  if (seats.some((seat, p) => isLost(seat) && !mayClose(partitions[p]!, seat))) return false
  for (const seat of seats) {
    if (isLost(seat)) closeHolding(seat)
    else if (seat.session !== OPEN && !rules.takesOverInNext) endSession(seat)
    seat.holding = seat.given
    seat.held = process.leaving && seat.session !== NONE ? 1 : 0
    seat.given = 0
  }
  process.phase = MEMBER
  process.lease = process.answer
  process.generation = process.joining
  process.sameId = 1
  process.joining = 0
  process.answer = 0
  return true
}
