import { DONE, IN_DOUBT, INTENT, NEW } from '../../src/bus/session/window.ts'
import type { Actions } from './model.ts'
import { type Broken, brokenByCommit } from './promises.ts'
import type { Rules } from './rules.ts'
import { endSession, forget } from './session.ts'
import * as is from './world.ts'
import { type Cell, NONE, type Process, type World } from './world.ts'

/** Commits: one transaction of a process, which the generation fences. Any error ends the session. */
export const commitActions = {
  /** It begins a commit. @param way the offsets, as bits, that are intended or settled by it */
  beginCommit(world, process, { mayCommit }, way) {
    const { session, phase, transaction, touched, cells, held } = process
    const joining = phase === is.IN_JOIN || phase === is.JOINED || phase === is.IN_SYNC
    if (transaction !== NONE || session !== is.OPEN || !mayCommit({ joining })) return false
    const isChosen = (k: number) => ((way >> k) & 1) === 1
    const may = (cell: Cell) => cell.state === IN_DOUBT || (cell.state === NEW && !held) || awaitsOutcome(cell)
    if (!cells.every((cell, k) => !isChosen(k) || may(cell))) return false
    if (way === 0 && !touched && !cells.some(isKnown)) return false
    cells.forEach((cell, k) => {
      const intended = isChosen(k) && cell.state === NEW
      const settled = (isChosen(k) && !intended) || isKnown(cell)
      if (settled && cell.state === INTENT) cell.ledger = is.KNOWN
      if (intended) cell.state = INTENT
      if (settled) cell.state = DONE
      cell.kind = intended ? is.INTENDED : settled ? is.SETTLED : NONE
      cell.sent = cell.state
    })
    process.seq++
    process.part = process.seq
    process.touched = 0
    process.transaction = is.SENT
    process.valid = world.isMember(process) ? 1 : 0
    return true
  },
  /** Its commit is written, in a transaction that is open. */
  write(world, process, rules) {
    if (process.transaction !== is.SENT || !isTaken(world, process, rules)) return false
    world.broker.writer = process.id + 1
    process.transaction = is.WRITTEN
    return true
  },
  /** Its transaction ends: its commit lands. */
  end: (world, process) => process.transaction === is.WRITTEN && land(world, process, false),
  /** Its commit lands, but the coordinator loses the checkpoint in it. */
  endAndLose(world, process) {
    const { transaction, unheard, partOver } = process
    if (transaction !== is.WRITTEN || unheard || partOver || world.broker.lostBy !== 0) return false
    return world.spend('losses') && land(world, process, true)
  },
  /** The transaction that it has open is aborted: it timed out, or somebody takes the partition over. */
  abort(_, process) {
    if (process.transaction !== is.WRITTEN) return false
    if (process.unheard) forget(process)
    else process.transaction = is.ABORTED
    return true
  },
  /** It hears that its commit is done. */
  hearDone(_, process) {
    if (process.transaction !== is.COMMITTED) return false
    if (!process.partOver) confirm(process)
    forget(process)
    return true
  },
  /** It hears that its commit was refused. */
  hearRefused(world, process, rules) {
    const { transaction, unheard } = process
    const refused = transaction === is.ABORTED || (transaction === is.SENT && !isTaken(world, process, rules))
    if (unheard || !refused) return false
    endSession(process)
    forget(process)
    return true
  },
  /** It loses the answer to its commit. */
  loseAnswer(world, process, rules) {
    const { transaction, unheard } = process
    if (transaction === NONE || transaction === is.ABORTED || unheard) return false
    if (transaction === is.SENT && !isTaken(world, process, rules)) return false
    if (transaction === is.COMMITTED && world.broker.lostBy === process.id + 1) return false // it would not be confirmed
    if (!world.spend('lostCommits')) return false
    endSession(process)
    if (transaction === is.COMMITTED) forget(process)
    else process.unheard = is.GIVEN_UP
    return true
  },
} satisfies Actions

const isKnown = ({ state, ledger }: Cell) => state === INTENT && ledger === is.KNOWN
/** Its POST may have ended, and the outcome be known, at any moment before the commit. */
const awaitsOutcome = ({ state, ledger }: Cell) => state === INTENT && ledger === is.IN_FLIGHT

/** Whether the coordinator takes it, by the member and the generation that it bears. */
function isTaken(world: World, process: Process, { bears }: Rules): boolean {
  const { known, joining, valid } = process
  if (bears === 'none') return true
  if (bears === 'the one it was formed in') return valid === 1
  if (bears === 'the newest that was joined' && joining) return known === 1 && joining === world.broker.generation
  return world.isMember(process)
}

/** Changes at the brokers what the commit changes there. @param loses whether the coordinator loses the checkpoint */
function land(world: World, process: Process, loses: boolean): boolean | Broken {
  const { broker, offsets } = world
  const { seq, lostBy } = broker
  const name = process.id + 1
  process.cells.forEach(({ kind, sent }, k) => {
    if (kind === is.SETTLED) offsets[k]!.results++
    if (!loses) offsets[k]!.stored = sent
  })
  broker.lostBy = loses ? name : 0
  if (!loses) Object.assign(broker, { seq: process.part, tag: process.unheard === is.DIED ? is.GONE : name })
  const broken = loses ? null : brokenByCommit(world, seq, lostBy !== 0)
  if (process.unheard) forget(process)
  else process.transaction = is.COMMITTED
  return broken ?? true
}

function confirm(process: Process): void {
  process.confirmed = process.part
  for (const cell of process.cells) {
    cell.confirmed = cell.sent
    if (cell.kind === is.SETTLED) cell.ledger = NONE
    if (cell.kind === is.INTENDED && cell.ledger === NONE) cell.ledger = is.READY
  }
}
