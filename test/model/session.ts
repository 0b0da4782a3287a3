import { DONE, IN_DOUBT, INTENT, NEW } from '../../src/bus/session/window.ts'
import type { Action } from './action.ts'
import { brokenByCommit, brokenByPost } from './promises.ts'
import type { Rules } from './rules.ts'
import {
  DEAD,
  FENCED,
  IN_FLIGHT,
  KNOWN,
  LANDED,
  MEMBER,
  MUST_JOIN,
  NONE,
  OPEN,
  READY,
  RELEASED,
  SENT,
  TOLD,
} from './states.ts'
import { type Cell, type Process, spend, type World } from './world.ts'

/** Sessions of the partition, their commits, and the POSTs between them. */
export const sessionActions = {
  beginTakeOver: { says: 'A begins to take the partition over', act: beginTakeOver },
  goOnWithTakeOver: { says: 'A goes on with the take-over', act: goOnWithTakeOver },
  endTakeOver: {
    says: 'A ends the take-over: its session is open, if the lease holds',
    act: open,
    more: (_, { cells }) => inWords(cells.map(({ state }) => state)),
  },
  beginCommit: {
    says: 'A begins a commit',
    ways: ({ offsets }) => 2 ** offsets.length,
    act: beginCommit,
    more: (_, { cells, flightSeq }) => `number ${flightSeq}: ${inWords(cells.map(({ sent }) => sent))}`,
  },
  land: {
    says: "A's commit lands",
    act(world, process) {
      const { broker } = world
      if (process.flight !== SENT || broker.epoch !== process.id + 1) return false
      const before = broker.seq
      const afterLoss = broker.lostBy === process.id + 1
      publish(world, process)
      broker.seq = process.flightSeq
      broker.tag = process.deaf === 2 ? 0 : process.id + 1
      if (afterLoss) broker.lostBy = 0
      process.cells.forEach(({ sent }, k) => {
        world.offsets[k]!.stored = sent
      })
      if (process.deaf) forgetCommit(process)
      else process.flight = LANDED
      return brokenByCommit(world, before, afterLoss) ?? true
    },
  },
  landAndLose: {
    says: "A's commit lands, but the coordinator loses the checkpoint in it",
    act(world, process) {
      const { broker } = world
      if (process.flight !== SENT || process.deaf || broker.epoch !== process.id + 1) return false
      if (broker.lostBy !== 0 || !spend(broker, 'losses')) return false
      broker.lostBy = process.id + 1
      publish(world, process)
      process.flight = LANDED
      return true
    },
  },
  hearDone: {
    says: 'A hears that its commit is done',
    act(_, process) {
      if (process.flight !== LANDED) return false
      process.confirmed = process.flightSeq
      for (const cell of process.cells) {
        cell.confirmed = cell.sent
        if (cell.kind === SETTLED) cell.ledger = NONE
        if (cell.kind === INTENDED && cell.ledger === NONE) cell.ledger = READY
      }
      forgetCommit(process)
      return true
    },
  },
  hearFenced: {
    says: 'A hears that it was fenced',
    act({ broker }, process) {
      if (process.flight !== SENT || process.deaf || broker.epoch === process.id + 1) return false
      forgetCommit(process)
      endSession(process)
      return true
    },
  },
  loseAnswer: {
    says: 'A loses the answer to its commit',
    act({ broker }, process) {
      if (process.flight === NONE || process.deaf) return false
      if (process.flight === SENT && broker.epoch !== process.id + 1) return false
      if (process.flight === LANDED && broker.lostBy === process.id + 1) return false // it would not be confirmed
      if (!spend(broker, 'lostCommits')) return false
      endSession(process)
      return true
    },
  },
  post: {
    says: 'A begins the POST',
    ways: ({ offsets }) => offsets.length,
    more: (_world, _process, way) => `command ${way}`,
    act(world, process, way, rules) {
      const cell = process.cells[way]!
      const answered = cell.ledger === READY
      const early = cell.ledger === NONE && cell.kind === INTENDED
      if (!answered && !early && cell.ledger !== DEAD) return false
      const leased = process.lease === 1 && !process.leaving
      if (!rules.mayPost({ answered: answered || cell.ledger === DEAD, alive: cell.ledger !== DEAD, leased }))
        return false
      const broken = brokenByPost(world, process, way)
      cell.ledger = IN_FLIGHT
      world.offsets[way]!.posted = 1
      return broken ?? true
    },
  },
  hearNotSent: {
    says: 'A knows that the POST was not sent',
    ways: ({ offsets }) => offsets.length,
    more: (_world, _process, way) => `command ${way}`,
    act({ broker, offsets }, process, way) {
      const cell = process.cells[way]!
      if (cell.ledger !== IN_FLIGHT || !spend(broker, 'releases')) return false
      offsets[way]!.posted = 0
      release(process, process.cells[way]!)
      return true
    },
  },
  giveUpPost: {
    says: 'A finds, right before the first byte, that the POST may not begin',
    ways: ({ offsets }) => offsets.length,
    more: (_world, _process, way) => `command ${way}`,
    act({ broker }, process, way) {
      const { ledger } = process.cells[way]!
      const forbidden = ledger === DEAD || (ledger === READY && (!process.lease || process.leaving))
      if (!forbidden || !spend(broker, 'releases')) return false
      release(process, process.cells[way]!)
      return true
    },
  },
  stop: {
    says: 'A is told to stop: it finishes what is in flight',
    act({ broker }, process) {
      if (process.phase !== MEMBER || process.leaving || !spend(broker, 'leaves')) return false
      process.leaving = 1
      process.held = process.session === NONE ? 0 : 1
      return true
    },
  },
  crash: { says: 'A dies, and starts again under a new tag', act: crash },
} satisfies Record<string, Action>

function inWords(states: readonly number[]): string {
  return states.map((state, k) => `command ${k} ${['new', 'intent', 'done', 'in doubt'][state]}`).join(', ')
}

/** What a commit does to an offset. */
const INTENDED = 1
const SETTLED = 2

function beginTakeOver(world: World, process: Process, _way: number, rules: Rules): boolean {
  if (process.session !== NONE || !process.slot || (process.phase !== MEMBER && process.phase !== MUST_JOIN))
    return false
  if (!mayOpen(process, rules, null)) return false
  if (!(rules.fencesFirst ? fence(world, process) : read(world, process))) return false
  process.session = FENCED
  process.held = process.phase === MUST_JOIN || process.leaving ? 1 : 0
  return true
}

function mayOpen({ lease, phase, leaving, cells }: Process, rules: Rules, own: boolean | null): boolean {
  const awaits = cells.some(({ ledger }) => ledger !== NONE)
  const finishing = leaving === 1 || phase === MUST_JOIN
  return rules.mayOpen({ leased: lease === 1, finishing, awaits, own })
}

function goOnWithTakeOver(world: World, process: Process, _way: number, rules: Rules): boolean {
  if (process.session !== FENCED) return false
  if (!(rules.fencesFirst ? read(world, process) : fence(world, process))) return false
  process.session = TOLD
  return true
}

/** @returns false where a checkpoint that was confirmed and lost would be taken over: a limit that is documented */
function fence({ broker, processes }: World, process: Process): boolean {
  const name = process.id + 1
  if (broker.lostBy !== 0 && broker.lostBy !== name) return false
  broker.epoch = name
  for (const other of processes) if (other.deaf) forgetCommit(other) // it cannot land any more
  return true
}

function read({ broker, offsets }: World, process: Process): boolean {
  process.tag = broker.tag
  process.seq = broker.seq
  process.cells.forEach((cell, k) => {
    cell.state = offsets[k]!.stored
  })
  return true
}

function open(_: World, process: Process, _way: number, rules: Rules): boolean {
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

/** @param way the offsets, as bits, that are intended or settled by it */
function beginCommit(_: World, process: Process, way: number): boolean {
  const { cells, held } = process
  if (process.session !== OPEN || process.flight !== NONE) return false
  const chosen = (k: number) => ((way >> k) & 1) === 1
  const isKnown = ({ state, ledger }: Cell) => state === INTENT && ledger === KNOWN
  const may = (cell: Cell) => cell.state === IN_DOUBT || (cell.state === NEW && !held) || awaitsOutcome(cell)
  if (cells.some((cell, k) => chosen(k) && !may(cell))) return false
  if (way === 0 && !process.touched && !cells.some(isKnown)) return false
  cells.forEach((cell, k) => {
    const { state } = cell
    const intended = chosen(k) && state === NEW
    const settled = (chosen(k) && !intended) || isKnown(cell)
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
  return true
}

/** Whether its POST is in flight: it may have ended, and the outcome be known, at any moment before the commit. */
function awaitsOutcome({ state, ledger }: Cell): boolean {
  return state === INTENT && ledger === IN_FLIGHT
}

function publish({ offsets }: World, { cells }: Process): void {
  cells.forEach(({ kind }, k) => {
    if (kind === SETTLED) offsets[k]!.results++
  })
}

function release(process: Process, cell: Cell): void {
  cell.ledger = RELEASED
  if (process.session !== OPEN || cell.state !== INTENT) return
  cell.ledger = NONE
  cell.state = NEW
  process.touched = 1
}

function forgetCommit(process: Process): void {
  process.flight = NONE
  process.flightSeq = 0
  process.deaf = 0
  for (const cell of process.cells) {
    cell.sent = NEW
    cell.kind = NONE
  }
}

function endSession(process: Process): void {
  if (process.flight === SENT && !process.deaf) process.deaf = 1
  else if (process.flight === LANDED) forgetCommit(process)
  process.session = NONE
  process.held = 0
  process.touched = 0
  process.tag = 0
  process.seq = 0
  for (const cell of process.cells) {
    cell.state = NEW
    if (cell.ledger === READY) cell.ledger = DEAD
  }
}

/** @returns false where a checkpoint that was confirmed and lost would be given up: a limit that is documented */
export function closeSlot({ broker }: World, process: Process): boolean {
  if (broker.lostBy === process.id + 1) return false
  endSession(process)
  process.slot = 0
  process.found = 0
  process.confirmed = 0
  for (const cell of process.cells) cell.confirmed = NEW
  return true
}

function crash(world: World, process: Process): boolean {
  const { broker, processes } = world
  if (broker.crashes === 0 || !closeSlot(world, process)) return false
  spend(broker, 'crashes')
  if (process.flight !== NONE) process.deaf = 2
  if (broker.tag === process.id + 1) broker.tag = 0
  for (const cell of process.cells) cell.ledger = NONE
  Object.assign(process, { phase: MUST_JOIN, known: 0, joined: 0, generation: 0, joining: 0, sameId: 0, lease: 0 })
  Object.assign(process, { heartbeat: 0, answerYoung: 0, given: 0, oldLease: 0, leaving: 0, gapBefore: 0, gapAfter: 0 })
  if (broker.rounds > 0 && processes.some(({ known }) => known)) broker.preparing = 1
  return true
}
