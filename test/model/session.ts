import { INTENT, NEW } from '../../src/bus/session/window.ts'
import type { Action } from './action.ts'
import { closeFlight, forget, giveUp } from './flights.ts'
import { brokenByPost } from './promises.ts'
import {
  DEAD,
  DIED,
  GONE,
  IN_FLIGHT,
  INTENDED,
  MEMBER,
  MUST_JOIN,
  NONE,
  OPEN,
  PLANNED,
  READY,
  RELEASED,
  SENT,
  SHARED,
} from './states.ts'
import { type Cell, type Partition, type Process, spend } from './world.ts'

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

export function endSession(process: Process): void {
  closeFlight(process)
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
export function mayClose({ broker }: Partition, process: Process): boolean {
  return broker.lostBy !== process.id + 1
}

export function closeHolding(process: Process): void {
  endSession(process)
  process.holding = 0
  process.found = 0
  process.confirmed = 0
  for (const cell of process.cells) cell.confirmed = NEW
}

/** What a process knows, and the coordinator of it, as long as it lives. */
const ofLife = [
  ...(['known', 'joined', 'generation', 'joining', 'sameId', 'lease', 'heartbeat', 'answerYoung'] as const),
  ...(['oldLease', 'leaving', 'together', 'joiningTogether', 'fenced'] as const),
]

function crash({ broker, processes, partitions }: Partition, process: Process): boolean {
  if (broker.crashes === 0 || process.seats.some((seat, p) => !mayClose(partitions[p]!, seat))) return false
  spend(broker, 'crashes')
  for (const [p, seat] of process.seats.entries()) die(partitions[p]!, seat)
  for (const name of ofLife) process[name] = 0
  process.phase = MUST_JOIN
  if (broker.rounds > 0 && processes.some(({ known }) => known)) broker.preparing = 1
  return true
}

function die({ broker }: Partition, seat: Process): void {
  closeHolding(seat)
  if (seat.flight === PLANNED || (seat.by === SHARED && seat.flight === SENT && seat.fenced)) forget(seat)
  giveUp(seat, DIED)
  if (seat.orphan) seat.orphan = DIED
  if (broker.tag === seat.id + 1) broker.tag = GONE
  for (const cell of seat.cells) cell.ledger = NONE
  seat.given = 0
  seat.claimed = 0
  seat.gapBefore = 0
  seat.gapAfter = 0
}
