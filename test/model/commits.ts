import { DONE, IN_DOUBT, INTENT, NEW } from '../../src/bus/session/window.ts'
import {
  ABORTED,
  COMMITTED,
  DIED,
  GIVEN_UP,
  GONE,
  IN_FLIGHT,
  IN_JOIN,
  IN_SYNC,
  INTENDED,
  JOINED,
  KNOWN,
  NONE,
  OPEN,
  READY,
  SENT,
  SETTLED,
  WRITTEN,
} from './fields.ts'
import { type Broken, brokenByCommit } from './promises.ts'
import type { Rules } from './rules.ts'
import { endSession, forget, inWords } from './session.ts'
import { type Action, type Broker, type Cell, isMember, type Partition, type Process, spend } from './world.ts'

/** Commits: one transaction of a process carries what all its partitions have to commit. The generation fences it. */
export const commitActions = {
  beginCommit: {
    says: 'A begins a commit',
    toAll: true,
    ways: ({ partitions, offsets }) => 2 ** (partitions.length * offsets.length),
    act: begin,
    more: (_, { seats }) =>
      seats
        .filter(({ part }) => part > 0)
        .map(({ part, cells }) => `number ${part}: ${inWords(cells.map(({ sent }) => sent))}`)
        .join('; '),
  },
  write: {
    says: "A's commit is written, in a transaction that is open",
    toAll: true,
    act({ broker, partitions }, process, _way, rules) {
      if (process.transaction !== SENT || !isTaken(broker, process, rules)) return false
      process.seats.forEach(({ part }, p) => {
        if (part) partitions[p]!.broker.writer = process.id + 1
      })
      process.transaction = WRITTEN
      return true
    },
  },
  end: {
    says: "A's transaction ends: its commit lands",
    toAll: true,
    act: (partition, process) => process.transaction === WRITTEN && land(partition, process, false),
  },
  endAndLose: {
    says: "A's commit lands, but the coordinator loses the checkpoints in it",
    toAll: true,
    act(partition, process) {
      const { broker, partitions } = partition
      const { transaction, unheard, seats } = process
      if (transaction !== WRITTEN || unheard || seats.some(({ partOver }) => partOver)) return false
      if (partitions.some(one => one.broker.lostBy !== 0) || !spend(broker, 'losses')) return false
      return land(partition, process, true)
    },
  },
  abort: {
    says: 'the transaction that A has open is aborted: it timed out, or somebody takes a partition over',
    toAll: true,
    act(_, process) {
      if (process.transaction !== WRITTEN) return false
      if (process.unheard) forget(process)
      else process.transaction = ABORTED
      return true
    },
  },
  hearDone: {
    says: 'A hears that its commit is done',
    toAll: true,
    act(_, process) {
      if (process.transaction !== COMMITTED) return false
      for (const seat of process.seats) if (seat.part && !seat.partOver) applied(seat)
      forget(process)
      return true
    },
  },
  hearRefused: {
    says: 'A hears that its commit was refused',
    toAll: true,
    act({ broker }, process, _way, rules) {
      const { transaction, unheard } = process
      if (unheard || !(transaction === ABORTED || (transaction === SENT && !isTaken(broker, process, rules))))
        return false
      fail(process, rules)
      forget(process)
      return true
    },
  },
  loseAnswer: {
    says: 'A loses the answer to its commit',
    toAll: true,
    act({ broker, partitions }, process, _way, rules) {
      const { transaction, unheard, seats } = process
      if (transaction === NONE || transaction === ABORTED || unheard) return false
      if (transaction === SENT && !isTaken(broker, process, rules)) return false
      const isLost = (seat: Process, p: number) => seat.part > 0 && partitions[p]!.broker.lostBy === process.id + 1
      if (transaction === COMMITTED && seats.some(isLost)) return false // it would not be confirmed
      if (!spend(broker, 'lostCommits')) return false
      fail(process, rules)
      if (transaction === COMMITTED) forget(process)
      else process.unheard = GIVEN_UP
      return true
    },
  },
} satisfies Record<string, Action>

/** @param way the offsets of all partitions, as bits, that are intended or settled by it */
function begin({ broker }: Partition, process: Process, way: number, rules: Rules): boolean {
  const { seats, phase, transaction, cells } = process
  if (transaction !== NONE) return false
  if (!rules.mayCommit({ joining: phase === IN_JOIN || phase === JOINED || phase === IN_SYNC })) return false
  const ofSeat = (p: number) => (way >> (p * cells.length)) & (2 ** cells.length - 1)
  if (!seats.every((seat, p) => mayForm(seat, ofSeat(p)))) return false
  if (seats.every((seat, p) => isEmpty(seat, ofSeat(p)))) return false
  seats.forEach((seat, p) => {
    if (!isEmpty(seat, ofSeat(p))) form(seat, ofSeat(p))
  })
  process.transaction = SENT
  process.valid = isMember(broker, process) ? 1 : 0
  return true
}

const isKnown = ({ state, ledger }: Cell) => state === INTENT && ledger === KNOWN
/** Its POST may have ended, and the outcome be known, at any moment before the commit. */
const awaitsOutcome = ({ state, ledger }: Cell) => state === INTENT && ledger === IN_FLIGHT
const isChosen = (way: number, k: number) => ((way >> k) & 1) === 1

function mayForm({ session, cells, held }: Process, way: number): boolean {
  if (session !== OPEN) return way === 0
  const may = (cell: Cell) => cell.state === IN_DOUBT || (cell.state === NEW && !held) || awaitsOutcome(cell)
  return cells.every((cell, k) => !isChosen(way, k) || may(cell))
}

/** Whether there is nothing to commit. */
function isEmpty({ session, touched, cells }: Process, way: number): boolean {
  return session !== OPEN || (way === 0 && !touched && !cells.some(isKnown))
}

function form(seat: Process, way: number): void {
  seat.cells.forEach((cell, k) => {
    const intended = isChosen(way, k) && cell.state === NEW
    const settled = (isChosen(way, k) && !intended) || isKnown(cell)
    if (settled && cell.state === INTENT) cell.ledger = KNOWN
    if (intended) cell.state = INTENT
    if (settled) cell.state = DONE
    cell.kind = intended ? INTENDED : settled ? SETTLED : NONE
    cell.sent = cell.state
  })
  seat.seq++
  seat.part = seat.seq
  seat.touched = 0
}

/** Whether the coordinator takes it, by the member and the generation that it bears. */
function isTaken(broker: Broker, process: Process, { bears }: Rules): boolean {
  const { known, joining } = process
  if (bears === 'none') return true
  if (bears === 'the one it was formed in') return process.valid === 1
  if (bears === 'the newest that was joined' && joining) return known === 1 && joining === broker.generation
  return isMember(broker, process)
}

/** Changes at the brokers what the commit changes there. @param loses whether the coordinator loses the checkpoints */
function land({ partitions }: Partition, process: Process, loses: boolean): boolean | Broken {
  let broken: Broken | null = null
  process.seats.forEach(({ part, cells }, p) => {
    if (!part) return
    const partition = partitions[p]!
    const { broker, offsets } = partition
    const { seq: before, lostBy } = broker
    cells.forEach(({ kind, sent }, k) => {
      if (kind === SETTLED) offsets[k]!.results++
      if (!loses) offsets[k]!.stored = sent
    })
    broker.lostBy = loses ? process.id + 1 : 0
    if (loses) return
    broker.seq = part
    broker.tag = process.unheard === DIED ? GONE : process.id + 1
    broken ??= brokenByCommit(partition, before, lostBy !== 0)
  })
  if (process.unheard) forget(process)
  else process.transaction = COMMITTED
  return broken ?? true
}

/** The session hears that its part is committed. */
function applied(seat: Process): void {
  seat.confirmed = seat.part
  for (const cell of seat.cells) {
    cell.confirmed = cell.sent
    if (cell.kind === SETTLED) cell.ledger = NONE
    if (cell.kind === INTENDED && cell.ledger === NONE) cell.ledger = READY
  }
}

/** Any error of a commit ends the sessions. */
function fail({ seats }: Process, { endsAll }: Rules): void {
  for (const seat of endsAll ? seats : seats.filter(({ part }) => part > 0).slice(0, 1)) endSession(seat)
}
