import { IN_DOUBT, INTENT, NEW } from '../../src/bus/session/window.ts'
import type { Action } from './action.ts'
import { forget, initialise, isUnstable, store } from './flights.ts'
import { brokenByCommit } from './promises.ts'
import type { Rules } from './rules.ts'
import { endSession, inWords, release } from './session.ts'
import {
  CLAIM,
  CLAIMED,
  CLAIMING,
  DIED,
  FENCED,
  GIVEN_UP,
  LANDED,
  MEMBER,
  NOBODYS,
  NONE,
  OPEN,
  PLANNED,
  RELEASED,
  SENT,
  SHARED,
  TOLD,
  WRITTEN,
} from './states.ts'
import { type Partition, type Process, spend } from './world.ts'

/** How a session is opened. */
export const takeOverActions = {
  beginTakeOver: { says: 'A begins to take the partition over', act: beginTakeOver },
  goOnWithTakeOver: { says: 'A goes on with the take-over', act: goOnWithTakeOver },
  goOnUnheard: {
    says: 'A goes on with a take-over whose session is over',
    act(partition, process) {
      const { broker, offsets } = partition
      if (process.flight !== PLANNED || process.session !== NONE || isUnstable(partition)) return false
      if (!isAnothers(broker.tag, process)) forget(process)
      else {
        process.flight = SENT
        process.flightSeq = broker.seq + 1
        process.cells.forEach((cell, k) => {
          cell.sent = offsets[k]!.stored
        })
      }
      return true
    },
  },
  writeClaim: {
    says: "A's claim is written, in a transaction that is open",
    act({ broker }, process, _way, rules) {
      if (process.flight !== SENT || process.by !== CLAIM || !mayClaim(broker, process, rules)) return false
      process.flight = WRITTEN
      return true
    },
  },
  landClaim: {
    says: "A's claim lands",
    act(partition, process, _way, rules) {
      const { broker } = partition
      if (process.flight !== WRITTEN || process.by !== CLAIM) return false
      const before = broker.seq
      store(partition, process, rules.claims.ownTag ? process.id + 1 : NOBODYS)
      if (process.deaf === GIVEN_UP || process.deaf === DIED) forget(process)
      else process.flight = LANDED
      return brokenByCommit(partition, before, false) ?? true
    },
  },
  hearClaim: {
    says: 'A hears that its claim is done',
    act(_, process, _way, rules) {
      if (process.flight !== LANDED || process.by !== CLAIM) return false
      if (process.deaf) process.claimed = 1
      else if (rules.claims.again) process.session = CLAIMED
      else {
        process.session = TOLD
        process.claimed = 1
        process.seq = process.flightSeq
      }
      if (!process.deaf && !rules.claims.ownTag) process.tag = NOBODYS
      forget(process)
      return true
    },
  },
  hearClaimRefused: {
    says: 'A hears that its claim was refused',
    act({ broker }, process, _way, rules) {
      if (process.flight !== SENT || process.by !== CLAIM || mayClaim(broker, process, rules)) return false
      return failClaim(process)
    },
  },
  loseClaim: {
    says: 'A loses the answer to its claim',
    act({ broker }, process) {
      if (process.flight === NONE || process.flight === PLANNED || process.by !== CLAIM) return false
      if (process.deaf === GIVEN_UP || process.deaf === DIED || !spend(broker, 'lostCommits')) return false
      if (process.flight !== LANDED) process.deaf = GIVEN_UP
      return failClaim(process)
    },
  },
  timeOutClaim: {
    says: "the transaction of A's claim times out",
    act({ broker }, process) {
      if (process.flight !== WRITTEN || process.by !== CLAIM) return false
      broker.epoch = 0
      if (process.deaf === GIVEN_UP || process.deaf === DIED) forget(process)
      else process.flight = SENT
      return true
    },
  },
  endTakeOver: {
    says: 'A ends the take-over: its session is open, if the lease holds',
    act: open,
    more: (_, { cells }) => inWords(cells.map(({ state }) => state)),
  },
} satisfies Record<string, Action>

function beginTakeOver(partition: Partition, process: Process, _way: number, rules: Rules): boolean {
  if (process.session !== NONE || !process.holding) return false
  if (!mayOpen(process, rules, null) || (process.together && !isReady(process, rules))) return false
  if (!process.together && !takesFromApart(partition, process, rules)) return false
  if (process.together && !process.claimed) beginClaim(partition, process, rules)
  process.session = FENCED
  process.held = process.phase !== MEMBER || process.leaving ? 1 : 0
  return true
}

/** Fences who commits apart. What is claimed then bears the generation of now, however late it is told what to claim. */
function beginClaim(partition: Partition, process: Process, rules: Rules): void {
  const { generation } = partition.broker
  if (rules.claims.fences) initialise(partition, process.id + 1)
  if (process.flight !== NONE) return // of its own session before: only where it does not wait for it
  process.valid = isMemberOf(generation, process) ? 1 : 0
  process.flight = PLANNED
  process.by = CLAIM
}

function isAnothers(tag: number, { id }: Process): boolean {
  return tag !== 0 && tag !== NOBODYS && tag !== id + 1
}

function isMemberOf(of: number, { known, sameId, generation }: Process): boolean {
  return known === 1 && sameId === 1 && generation === of
}

/** Whether its own producer is initialised, and has ended what may hold a part of an earlier session. */
function isReady({ seats, flight, by, deaf, claimed }: Process, rules: Rules): boolean {
  if (flight && by === SHARED && deaf === DIED && !claimed) return false // the reading would wait for it
  if (
    seats.some(({ orphan, flight, by, deaf }) => orphan === GIVEN_UP || (flight && by === SHARED && deaf === GIVEN_UP))
  )
    return false
  return !rules.waitsForOwn || !seats.some(({ flight, by, deaf }) => flight && by === SHARED && deaf !== DIED)
}

function takesFromApart(partition: Partition, process: Process, rules: Rules): boolean {
  return rules.fencesFirst ? fence(partition, process) : read(partition, process, rules)
}

function mayOpen({ lease, phase, leaving, cells }: Process, rules: Rules, own: boolean | null): boolean {
  const awaits = cells.some(({ ledger }) => ledger !== NONE)
  const finishing = leaving === 1 || phase !== MEMBER
  return rules.mayOpen({ leased: lease === 1, finishing, awaits, own })
}

function goOnWithTakeOver(partition: Partition, process: Process, _way: number, rules: Rules): boolean {
  if (process.session === CLAIMED) return lookAgain(partition, process, rules)
  if (process.session !== FENCED) return false
  if (!process.together && !rules.fencesFirst) {
    if (!fence(partition, process)) return false
  } else if (!read(partition, process, rules)) return false
  if (process.together && !process.claimed) claim(process, rules)
  else process.session = TOLD
  return true
}

/** @returns false where a checkpoint that was confirmed and lost would be taken over: a limit that is documented */
function fence(partition: Partition, process: Process): boolean {
  const { broker } = partition
  const name = process.id + 1
  if (broker.lostBy !== 0 && broker.lostBy !== name) return false
  initialise(partition, name)
  broker.taker = name
  return true
}

function read(partition: Partition, process: Process, rules: Rules): boolean {
  if (rules.waitsForStable && isUnstable(partition)) return false
  const { broker, offsets } = partition
  process.tag = broker.tag
  process.seq = broker.seq
  process.cells.forEach((cell, k) => {
    cell.state = offsets[k]!.stored
  })
  return true
}

/** Makes it nobody's, so that no other process can take it for its own. */
function claim(process: Process, rules: Rules): void {
  if (!isAnothers(process.tag, process)) {
    if (process.by === CLAIM) forget(process)
    process.session = TOLD
    process.claimed = 1
    return
  }
  for (const cell of process.cells) cell.sent = cell.state
  Object.assign(process, { session: CLAIMING, flight: SENT, by: CLAIM, flightSeq: process.seq + 1, deaf: 0 })
  if (rules.claims.ownTag) process.tag = process.id + 1
}

function mayClaim({ epoch, generation }: Partition['broker'], process: Process, { claims }: Rules): boolean {
  const isOfGeneration = claims.of === 'the commit' ? isMemberOf(generation, process) : process.valid === 1
  return isOfGeneration && (claims.by === 'the process' || epoch === process.id + 1)
}

function failClaim(process: Process): boolean {
  const { deaf, flight } = process
  if (flight === LANDED || deaf !== GIVEN_UP) forget(process)
  if (process.session === CLAIMING) endSession(process)
  return true
}

/** The second look of a claim that an epoch does not fence: whether somebody has told what was known just before. */
function lookAgain(partition: Partition, process: Process, rules: Rules): boolean {
  const { broker, offsets } = partition
  if (isUnstable(partition)) return false
  initialise(partition, process.id + 1)
  const isAsClaimed = process.cells.every(({ state }, k) => state === offsets[k]!.stored)
  if (isAsClaimed && broker.tag === NOBODYS && broker.seq === process.seq + 1) {
    process.session = TOLD
    process.claimed = 1
    process.seq++
    return true
  }
  read(partition, process, rules)
  claim(process, rules)
  return true
}

function open({ broker }: Partition, process: Process, _way: number, rules: Rules): boolean {
  if (process.session !== TOLD) return false
  const name = process.id + 1
  const { confirmed, found, cells } = process
  if (confirmed !== 0 && !rules.believes({ own: process.tag === name, seq: process.seq }, { confirmed, found })) {
    process.tag = name
    process.seq = confirmed
    for (const cell of cells) cell.state = cell.confirmed
  }
  const own = process.tag === name
  if (!mayOpen(process, rules, own)) {
    endSession(process)
    if (!own && rules.clearsLedger) for (const cell of cells) cell.ledger = NONE
    return true
  }
  if (found === 0) process.found = process.seq
  process.session = OPEN
  if (process.together && process.lease) broker.taker = name
  if (own) takeBack(process)
  else takeOver(process, rules)
  process.tag = 0
  return true
}

function takeBack(process: Process): void {
  for (const cell of process.cells) {
    if (cell.state !== INTENT) cell.ledger = NONE
    else if (cell.ledger === NONE) cell.state = NEW
    else if (cell.ledger === RELEASED) release(process, cell)
  }
}

function takeOver(process: Process, rules: Rules): void {
  process.seq = rules.seqAfter(process.seq)
  for (const cell of process.cells) {
    if (rules.clearsLedger) cell.ledger = NONE
    if (cell.state === INTENT) cell.state = rules.doubtsForeignIntents ? IN_DOUBT : NEW
  }
}
