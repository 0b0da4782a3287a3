import type { Action } from './action.ts'
import { applied, form, isEmpty, mayForm } from './commits.ts'
import { abort, forget, giveUp, shared, store } from './flights.ts'
import { type Broken, brokenByCommit } from './promises.ts'
import type { Rules } from './rules.ts'
import { endSession, inWords } from './session.ts'
import { DIED, GIVEN_UP, GONE, IN_JOIN, IN_SYNC, JOINED, LANDED, SENT, SHARED, WRITTEN } from './states.ts'
import { type Partition, type Process, spend } from './world.ts'

/** Commits of all partitions of a process in one transaction, fenced by the generation. Of two ways, one is the dead's. */
export const sharedCommitActions = {
  beginSharedCommit: {
    says: 'A begins a commit',
    toAll: true,
    ways: ({ partitions, offsets }) => 2 ** (partitions.length * offsets.length),
    act: begin,
    more: (_, { seats }) =>
      seats
        .filter(({ flightSeq }) => flightSeq > 0)
        .map(({ flightSeq, cells }) => `number ${flightSeq}: ${inWords(cells.map(({ sent }) => sent))}`)
        .join('; '),
  },
  write: {
    says: "A's commit is written, in a transaction that is open",
    toAll: true,
    ways: () => 2,
    act({ broker }, process, way, rules) {
      const parts = shared(process, way === 1).filter(({ flight }) => flight === SENT)
      if (parts.length === 0 || !isTaken(broker, process, parts[0]!, rules)) return false
      for (const part of parts) {
        const { deaf } = part
        if (deaf === GIVEN_UP || deaf === DIED) {
          forget(part)
          part.orphan = deaf
        } else part.flight = WRITTEN
      }
      return true
    },
  },
  end: { says: "A's transaction ends: its commit lands", toAll: true, ways: () => 2, act: end },
  endOpen: {
    says: 'the transaction that A has open is ended for it: it timed out, or somebody takes a partition over',
    toAll: true,
    ways: () => 2,
    act(_, process, way) {
      const dead = way === 1
      const isOpen = shared(process, dead).some(({ flight }) => flight === WRITTEN)
      if (!isOpen && !process.seats.some(({ orphan }) => orphan === (dead ? DIED : GIVEN_UP))) return false
      abort(process, dead)
      return true
    },
  },
  hearSharedDone: {
    says: 'A hears that its commit is done',
    toAll: true,
    act(_, process) {
      const parts = shared(process, false)
      if (parts.length === 0 || parts[0]!.flight !== LANDED) return false
      for (const part of parts) {
        if (part.deaf) forget(part)
        else applied(part)
      }
      return true
    },
  },
  hearRefused: {
    says: 'A hears that its commit was refused',
    toAll: true,
    act({ broker }, process, _way, rules) {
      const parts = shared(process, false)
      const [first] = parts
      if (!first || first.deaf === GIVEN_UP || first.flight !== SENT || isTaken(broker, process, first, rules))
        return false
      fail(process, parts, rules)
      for (const part of parts) forget(part)
      return true
    },
  },
  loseSharedAnswer: {
    says: 'A loses the answer to its commit',
    toAll: true,
    act({ broker }, process, _way, rules) {
      const parts = shared(process, false)
      const [first] = parts
      if (!first || first.deaf === GIVEN_UP) return false
      if (first.flight === SENT && !isTaken(broker, process, first, rules)) return false
      if (!spend(broker, 'lostCommits')) return false
      for (const part of parts) giveUp(part, GIVEN_UP)
      fail(process, parts, rules)
      return true
    },
  },
  initialise: {
    says: 'A initialises its producer anew: what it gave up cannot land any more',
    toAll: true,
    act(_, process) {
      const { seats } = process
      if (
        !seats.some(
          ({ orphan, flight, by, deaf }) => orphan === GIVEN_UP || (flight && by === SHARED && deaf === GIVEN_UP),
        )
      )
        return false
      abort(process, false)
      return true
    },
  },
} satisfies Record<string, Action>

/** @param way the offsets of all partitions, as bits, that are intended or settled by it */
function begin({ broker }: Partition, process: Process, way: number, rules: Rules): boolean {
  const { seats, phase, together, known, sameId, generation } = process
  if (!together || shared(process, false).length > 0) return false
  if (!rules.mayCommit({ joining: phase === IN_JOIN || phase === JOINED || phase === IN_SYNC })) return false
  const { length } = process.cells
  const ofSeat = (p: number) => (way >> (p * length)) & (2 ** length - 1)
  if (!seats.every((seat, p) => mayForm(seat, ofSeat(p)))) return false
  if (seats.every((seat, p) => isEmpty(seat, ofSeat(p)))) return false
  seats.forEach((seat, p) => {
    if (isEmpty(seat, ofSeat(p))) return
    form(seat, ofSeat(p))
    seat.by = SHARED
    seat.valid = known && sameId && generation === broker.generation ? 1 : 0
  })
  return true
}

/** Whether the coordinator takes it, by the member and the generation that it bears. */
function isTaken(broker: Partition['broker'], process: Process, part: Process, { bears }: Rules): boolean {
  if (process.fenced && part.deaf !== GIVEN_UP && part.deaf !== DIED) return false
  const { known, sameId, generation, joining } = process
  if (bears === 'none') return true
  if (bears === 'the one it was formed in') return part.valid === 1
  if (!known) return false
  if (bears === 'the newest that was joined' && joining) return joining === broker.generation
  return sameId === 1 && generation === broker.generation
}

function end({ partitions }: Partition, process: Process, way: number): boolean | Broken {
  const parts = shared(process, way === 1).filter(({ flight }) => flight === WRITTEN)
  if (parts.length === 0) return false
  let broken: Broken | null = null
  for (const part of parts) {
    const partition = partitions[process.seats.indexOf(part)]!
    const before = partition.broker.seq
    store(partition, part, part.deaf === DIED ? GONE : process.id + 1)
    broken ??= brokenByCommit(partition, before, false)
    if (part.deaf === GIVEN_UP || part.deaf === DIED) forget(part)
    else part.flight = LANDED
  }
  return broken ?? true
}

/** Any error of a commit ends the sessions. */
function fail(process: Process, parts: readonly Process[], rules: Rules): void {
  process.fenced = 0
  for (const seat of rules.endsAll ? process.seats : parts.slice(0, 1)) endSession(seat)
}
