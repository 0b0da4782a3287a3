import { NEW } from '../../src/bus/session/window.ts'
import { APART, CLAIM, DIED, GIVEN_UP, LANDED, NONE, SENT, SESSION_OVER, SETTLED, SHARED, WRITTEN } from './states.ts'
import type { Partition, Process } from './world.ts'

/** Commits that are under way, whoever makes them. */

export function forget(seat: Process): void {
  seat.flight = NONE
  seat.by = APART
  seat.flightSeq = 0
  seat.valid = 0
  seat.deaf = 0
  for (const cell of seat.cells) {
    cell.sent = NEW
    cell.kind = NONE
  }
}

/** The session is over that the commit was of. */
export function closeFlight(seat: Process): void {
  if (seat.flight === NONE || seat.deaf) return
  if (seat.by !== APART) seat.deaf = SESSION_OVER
  else if (seat.flight === SENT) seat.deaf = GIVEN_UP
  else forget(seat)
}

/** The process gives it up, or dies: it may still land. */
export function giveUp(seat: Process, how: typeof GIVEN_UP | typeof DIED): void {
  if (seat.flight === LANDED) forget(seat)
  else if (seat.flight !== NONE && seat.deaf !== DIED) seat.deaf = how
}

/** The parts of the commit that a process makes for all its partitions, or its predecessor made that died. */
export function shared({ seats }: Process, ofPredecessor: boolean): readonly Process[] {
  const [first] = seats
  if (seats.length === 1) return isPart(first!, ofPredecessor) ? seats : none // an array each time would cost much
  return seats.filter(seat => isPart(seat, ofPredecessor))
}

const none: readonly Process[] = []

function isPart({ flight, by, deaf }: Process, ofPredecessor: boolean): boolean {
  return flight !== NONE && by === SHARED && (deaf === DIED) === ofPredecessor
}

/** Ends the open transaction of a process as if it had never been; whoever began it is fenced. */
export function abort(process: Process, ofPredecessor: boolean): void {
  for (const seat of process.seats) if (seat.orphan === (ofPredecessor ? DIED : GIVEN_UP)) seat.orphan = 0
  for (const seat of shared(process, ofPredecessor)) {
    if (seat.deaf === DIED || seat.deaf === GIVEN_UP) forget(seat)
    else if (seat.flight === WRITTEN) {
      seat.flight = SENT
      process.fenced = 1
    }
  }
}

/** Initialises the partition's own producer: whatever it has begun for others cannot land any more. */
export function initialise({ broker, processes }: Partition, name: number): void {
  broker.epoch = name
  for (const seat of processes) {
    if (seat.flight === NONE || seat.by === SHARED) continue
    if (seat.deaf === GIVEN_UP || seat.deaf === DIED || (seat.by === CLAIM && seat.id + 1 === name)) forget(seat)
    else if (seat.flight === WRITTEN) seat.flight = SENT
  }
}

/** Whether an open transaction holds the offset. */
export function isUnstable({ processes }: Partition): boolean {
  return processes.some(({ flight, orphan }) => flight === WRITTEN || orphan !== 0)
}

/** Changes at the brokers what a commit changes there. */
export function store({ broker, offsets }: Partition, seat: Process, tag: number): void {
  seat.cells.forEach(({ kind, sent }, k) => {
    if (kind === SETTLED) offsets[k]!.results++
    offsets[k]!.stored = sent
  })
  broker.seq = seat.flightSeq
  broker.tag = tag
}

/** A generation is over, or its member is gone: what was formed in it and has not arrived is refused. */
export function invalidate(seat: Process): void {
  seat.valid = 0
  if (seat.flight === SENT && seat.by !== APART && (seat.deaf === GIVEN_UP || seat.deaf === DIED)) forget(seat)
}
