import { DONE, IN_DOUBT, INTENT, NEW } from '../../src/bus/session/window.ts'
import type { Action } from './action.ts'
import { forget, store } from './flights.ts'
import { brokenByCommit } from './promises.ts'
import { endSession, inWords } from './session.ts'
import {
  APART,
  DIED,
  GIVEN_UP,
  GONE,
  IN_FLIGHT,
  INTENDED,
  KNOWN,
  LANDED,
  NONE,
  OPEN,
  READY,
  SENT,
  SETTLED,
} from './states.ts'
import { type Cell, type Partition, type Process, spend } from './world.ts'

/** Commits of one partition, fenced by an epoch of its own. Write and end are one step: who is fenced between is at both. */
export const commitActions = {
  beginCommit: {
    says: 'A begins a commit',
    ways: ({ offsets }) => 2 ** offsets.length,
    act(_, process, way) {
      if (process.together || !mayForm(process, way) || isEmpty(process, way)) return false
      form(process, way)
      return true
    },
    more: (_, { cells, flightSeq }) => `number ${flightSeq}: ${inWords(cells.map(({ sent }) => sent))}`,
  },
  land: {
    says: "A's commit lands",
    act(partition, process) {
      const { broker } = partition
      if (!mayLand(broker, process)) return false
      const before = broker.seq
      const afterLoss = broker.lostBy === process.id + 1
      store(partition, process, process.deaf === DIED ? GONE : process.id + 1)
      if (afterLoss) broker.lostBy = 0
      if (process.deaf) forget(process)
      else process.flight = LANDED
      return brokenByCommit(partition, before, afterLoss) ?? true
    },
  },
  landAndLose: {
    says: "A's commit lands, but the coordinator loses the checkpoint in it",
    act({ broker, offsets }, process) {
      if (!mayLand(broker, process) || process.deaf || broker.lostBy !== 0 || !spend(broker, 'losses')) return false
      broker.lostBy = process.id + 1
      process.cells.forEach(({ kind }, k) => {
        if (kind === SETTLED) offsets[k]!.results++
      })
      process.flight = LANDED
      return true
    },
  },
  hearDone: {
    says: 'A hears that its commit is done',
    act(_, process) {
      if (process.flight !== LANDED || process.by !== APART) return false
      applied(process)
      return true
    },
  },
  hearFenced: {
    says: 'A hears that it was fenced',
    act({ broker }, process) {
      if (process.flight !== SENT || process.by !== APART || process.deaf || mayLand(broker, process)) return false
      forget(process)
      endSession(process)
      return true
    },
  },
  loseAnswer: {
    says: 'A loses the answer to its commit',
    act({ broker }, process) {
      if (process.flight === NONE || process.by !== APART || process.deaf) return false
      if (process.flight === SENT && !mayLand(broker, process)) return false
      if (process.flight === LANDED && broker.lostBy === process.id + 1) return false // it would not be confirmed
      if (!spend(broker, 'lostCommits')) return false
      if (process.flight === SENT) process.deaf = GIVEN_UP
      endSession(process)
      return true
    },
  },
} satisfies Record<string, Action>

function mayLand({ epoch }: Partition['broker'], { flight, by, id }: Process): boolean {
  return flight === SENT && by === APART && epoch === id + 1
}

const isKnown = ({ state, ledger }: Cell) => state === INTENT && ledger === KNOWN
const isChosen = (way: number, k: number) => ((way >> k) & 1) === 1

/** @param way the offsets, as bits, that are intended or settled by it */
export function mayForm({ session, flight, cells, held }: Process, way: number): boolean {
  if (session !== OPEN || flight !== NONE) return way === 0
  const may = (cell: Cell) => cell.state === IN_DOUBT || (cell.state === NEW && !held) || awaitsOutcome(cell)
  return cells.every((cell, k) => !isChosen(way, k) || may(cell))
}

/** Whether there is nothing to commit. */
export function isEmpty({ session, flight, touched, cells }: Process, way: number): boolean {
  return session !== OPEN || flight !== NONE || (way === 0 && !touched && !cells.some(isKnown))
}

export function form(process: Process, way: number): void {
  process.cells.forEach((cell, k) => {
    const { state } = cell
    const intended = isChosen(way, k) && state === NEW
    const settled = (isChosen(way, k) && !intended) || isKnown(cell)
    if (settled && state === INTENT) cell.ledger = KNOWN
    if (intended) cell.state = INTENT
    if (settled) cell.state = DONE
    cell.kind = intended ? INTENDED : settled ? SETTLED : NONE
    cell.sent = cell.state
  })
  process.seq++
  process.flight = SENT
  process.flightSeq = process.seq
  process.touched = 0
}

/** Whether its POST is in flight: it may have ended, and the outcome be known, at any moment before the commit. */
function awaitsOutcome({ state, ledger }: Cell): boolean {
  return state === INTENT && ledger === IN_FLIGHT
}

/** The session hears that its commit is done. */
export function applied(process: Process): void {
  process.confirmed = process.flightSeq
  for (const cell of process.cells) {
    cell.confirmed = cell.sent
    if (cell.kind === SETTLED) cell.ledger = NONE
    if (cell.kind === INTENDED && cell.ledger === NONE) cell.ledger = READY
  }
  forget(process)
}
