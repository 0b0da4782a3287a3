import { IN_DOUBT, INTENT, NEW } from '../../src/bus/session/window.ts'
import type { Actions } from './model.ts'
import { brokenByPost } from './promises.ts'
import type { Rules } from './rules.ts'
import * as is from './world.ts'
import { type Cell, NONE, type Process, type World } from './world.ts'

/** Sessions of the partition: how they are opened, and the POSTs between their commits. */
export const sessionActions = {
  /** It begins to take the partition over: its barrier write is answered. */
  beginTakeOver(world, process, rules) {
    const { session, holding, transaction, unheard, phase, leaving } = process
    if (session !== NONE || !holding || !world.isMember(process)) return false
    if (transaction !== NONE && (unheard === is.DIED || (!unheard && rules.waitsForOwn))) return false
    if (unheard === is.GIVEN_UP && rules.initialises) forget(process)
    world.broker.writer = process.id + 1
    process.session = is.FENCED
    process.held = phase !== is.MEMBER || leaving ? 1 : 0
    return true
  },
  /** It gets the checkpoint. */
  readCheckpoint({ broker, offsets, processes }, process, rules) {
    if (process.session !== is.FENCED) return false
    if (rules.waitsForStable && processes.some(({ transaction }) => transaction === is.WRITTEN)) return false
    if (broker.lostBy !== 0 && broker.lostBy !== process.id + 1) return false // a limit that is documented
    process.tag = broker.tag
    process.seq = broker.seq
    process.cells.forEach((cell, k) => {
      cell.state = offsets[k]!.stored
    })
    process.session = is.TOLD
    return true
  },
  /** It ends the take-over: its session is open. */
  open(_, process, rules) {
    if (process.session !== is.TOLD) return false
    const name = process.id + 1
    const { confirmed, found, cells } = process
    if (confirmed !== 0 && !rules.believes({ own: process.tag === name, seq: process.seq }, { confirmed, found })) {
      process.tag = name
      process.seq = confirmed
      for (const cell of cells) cell.state = cell.confirmed
    }
    if (found === 0) process.found = process.seq
    process.session = is.OPEN
    if (process.tag === name) takeBack(process)
    else takeOver(process, rules)
    process.tag = 0
    return true
  },
  /** It begins the POST of a command. */
  post(world, process, rules, offset) {
    const cell = process.cells[offset]!
    const answered = cell.ledger === is.READY || cell.ledger === is.DEAD
    const early = cell.ledger === NONE && cell.kind === is.INTENDED
    const leased = process.lease === 1 && !process.leaving
    if (!answered && !early) return false
    if (!rules.mayPost({ answered, alive: cell.ledger !== is.DEAD, leased })) return false
    const broken = brokenByPost(world, process, offset)
    cell.ledger = is.IN_FLIGHT
    world.offsets[offset]!.posted = 1
    return broken ?? true
  },
  /** It knows that the POST was not sent. */
  hearNotSent(world, process, _rules, offset) {
    const cell = process.cells[offset]!
    if (cell.ledger !== is.IN_FLIGHT || !world.spend('releases')) return false
    world.offsets[offset]!.posted = 0
    release(process, cell)
    return true
  },
  /** It finds, right before the first byte, that the POST may not begin. */
  giveUpPost(world, process, _rules, offset) {
    const cell = process.cells[offset]!
    const forbidden = cell.ledger === is.DEAD || (cell.ledger === is.READY && (!process.lease || process.leaving))
    if (!forbidden || !world.spend('releases')) return false
    release(process, cell)
    return true
  },
  /** It stops: it finishes what is in flight. */
  stop(world, process) {
    if (process.phase !== is.MEMBER || process.leaving || !world.spend('leaves')) return false
    process.leaving = 1
    process.held = process.session === NONE ? 0 : 1
    return true
  },
  /** It dies, and starts again under a new tag. */
  crash(world, process) {
    const { broker, processes } = world
    if (!mayClose(world, process) || !world.spend('crashes')) return false
    closeHolding(process)
    if (broker.tag === process.id + 1) broker.tag = is.GONE
    for (const cell of process.cells) cell.ledger = NONE
    if (process.transaction === is.COMMITTED || process.transaction === is.ABORTED) forget(process)
    else if (process.transaction !== NONE) process.unheard = is.DIED
    for (const name of ofLife) process[name] = 0
    process.phase = is.MUST_JOIN
    if (broker.rounds > 0 && processes.some(({ known }) => known)) broker.preparing = 1
    return true
  },
} satisfies Actions

/** What a process knows, and the coordinator of it, as long as it lives. */
const ofLife = ['known', 'joined', 'generation', 'joining', 'sameId', 'lease', 'answer', 'leaving', 'given'] as const

function takeBack(process: Process): void {
  for (const cell of process.cells) {
    if (cell.state !== INTENT) cell.ledger = NONE
    else if (cell.ledger === NONE) cell.state = NEW
    else if (cell.ledger === is.RELEASED) release(process, cell)
  }
}

function takeOver(process: Process, rules: Rules): void {
  process.seq = rules.seqAfter(process.seq)
  for (const cell of process.cells) {
    if (rules.clearsLedger) cell.ledger = NONE
    if (cell.state === INTENT) cell.state = rules.doubtsForeignIntents ? IN_DOUBT : NEW
  }
}

function release(process: Process, cell: Cell): void {
  cell.ledger = is.RELEASED
  if (process.session !== is.OPEN || cell.state !== INTENT) return
  cell.ledger = NONE
  cell.state = NEW
  process.touched = 1
}

export function endSession(process: Process): void {
  Object.assign(process, { session: NONE, held: 0, touched: 0, tag: 0, seq: 0, partOver: process.part ? 1 : 0 })
  for (const cell of process.cells) {
    cell.state = NEW
    if (cell.ledger === is.READY) cell.ledger = is.DEAD
  }
}

/** @returns false where a checkpoint that was confirmed and lost would be given up: a limit that is documented */
export function mayClose({ broker }: World, process: Process): boolean {
  return broker.lostBy !== process.id + 1
}

export function closeHolding(process: Process): void {
  endSession(process)
  Object.assign(process, { holding: 0, found: 0, confirmed: 0 })
  for (const cell of process.cells) cell.confirmed = NEW
}

/** Nothing is left of its transaction, or nothing that matters. */
export function forget(process: Process): void {
  Object.assign(process, { transaction: NONE, valid: 0, unheard: 0, part: 0, partOver: 0 })
  for (const cell of process.cells) Object.assign(cell, { sent: NEW, kind: NONE })
}
