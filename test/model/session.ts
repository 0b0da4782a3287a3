import { INTENT, NEW } from '../../src/bus/session/window.ts'
import {
  ABORTED,
  COMMITTED,
  DEAD,
  DIED,
  GONE,
  IN_FLIGHT,
  INTENDED,
  MEMBER,
  MUST_JOIN,
  NONE,
  OPEN,
  READY,
  RELEASED,
  SENT,
} from './fields.ts'
import { brokenByPost } from './promises.ts'
import { type Action, type Cell, type Partition, type Process, spend } from './world.ts'

/** Sessions of the partition, and the POSTs between their commits. */
export const sessionActions = {
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
      release(process, cell)
      return true
    },
  },
  giveUpPost: {
    says: 'A finds, right before the first byte, that the POST may not begin',
    ways: ({ offsets }) => offsets.length,
    more: (_world, _process, way) => `command ${way}`,
    act({ broker }, process, way) {
      const cell = process.cells[way]!
      const forbidden = cell.ledger === DEAD || (cell.ledger === READY && (!process.lease || process.leaving))
      if (!forbidden || !spend(broker, 'releases')) return false
      release(process, cell)
      return true
    },
  },
  stop: {
    says: 'A is told to stop: it finishes what is in flight',
    toAll: true,
    act({ broker }, process) {
      if (process.phase !== MEMBER || process.leaving || !spend(broker, 'leaves')) return false
      process.leaving = 1
      for (const seat of process.seats) seat.held = seat.session === NONE ? 0 : 1
      return true
    },
  },
  crash: { says: 'A dies, and starts again under a new tag', toAll: true, act: crash },
} satisfies Record<string, Action>

export function inWords(states: readonly number[]): string {
  return states.map((state, k) => `command ${k} ${['new', 'intent', 'done', 'in doubt'][state]}`).join(', ')
}

export function release(process: Process, cell: Cell): void {
  cell.ledger = RELEASED
  if (process.session !== OPEN || cell.state !== INTENT) return
  cell.ledger = NONE
  cell.state = NEW
  process.touched = 1
}

export function endSession(seat: Process): void {
  seat.partOver = seat.part ? 1 : 0
  seat.session = NONE
  seat.held = 0
  seat.touched = 0
  seat.tag = 0
  seat.seq = 0
  for (const cell of seat.cells) {
    cell.state = NEW
    if (cell.ledger === READY) cell.ledger = DEAD
  }
}

/** @returns false where a checkpoint that was confirmed and lost would be given up: a limit that is documented */
export function mayClose({ broker }: Partition, process: Process): boolean {
  return broker.lostBy !== process.id + 1
}

export function closeHolding(seat: Process): void {
  endSession(seat)
  seat.holding = 0
  seat.found = 0
  seat.confirmed = 0
  for (const cell of seat.cells) cell.confirmed = NEW
}

/** Nothing is left of its transaction, or nothing that matters. */
export function forget(process: Process): void {
  process.transaction = NONE
  process.valid = 0
  process.unheard = 0
  for (const seat of process.seats) {
    seat.part = 0
    seat.partOver = 0
    for (const cell of seat.cells) {
      cell.sent = NEW
      cell.kind = NONE
    }
  }
}

/** A generation is over, or its member is gone: what was formed in it and has not arrived is refused. */
export function invalidate(process: Process): void {
  process.valid = 0
  if (process.transaction === SENT && process.unheard) forget(process)
}

/** What a process knows, and the coordinator of it, as long as it lives. */
const ofLife = ['known', 'joined', 'generation', 'joining', 'sameId', 'lease', 'answer', 'leaving'] as const

function crash({ broker, processes, partitions }: Partition, process: Process): boolean {
  if (broker.crashes === 0 || process.seats.some((seat, p) => !mayClose(partitions[p]!, seat))) return false
  spend(broker, 'crashes')
  for (const [p, seat] of process.seats.entries()) {
    closeHolding(seat)
    if (partitions[p]!.broker.tag === process.id + 1) partitions[p]!.broker.tag = GONE
    for (const cell of seat.cells) cell.ledger = NONE
    seat.given = 0
  }
  if (process.transaction === COMMITTED || process.transaction === ABORTED) forget(process)
  else if (process.transaction !== NONE) process.unheard = DIED
  for (const name of ofLife) process[name] = 0
  process.phase = MUST_JOIN
  if (broker.rounds > 0 && processes.some(({ known }) => known)) broker.preparing = 1
  return true
}
