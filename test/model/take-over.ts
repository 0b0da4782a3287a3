import { IN_DOUBT, INTENT, NEW } from '../../src/bus/session/window.ts'
import { DIED, FENCED, GIVEN_UP, MEMBER, NONE, OPEN, RELEASED, TOLD, WRITTEN } from './fields.ts'
import type { Rules } from './rules.ts'
import { forget, inWords, release } from './session.ts'
import { type Action, isMember, type Partition, type Process } from './world.ts'

/** How a session is opened. */
export const takeOverActions = {
  beginTakeOver: {
    says: 'A begins to take the partition over: its barrier write is answered',
    act({ broker }, process, _way, rules) {
      const { session, holding, transaction, unheard, phase, leaving } = process
      if (session !== NONE || !holding || (rules.writesBarrier && !isMember(broker, process))) return false
      if (transaction !== NONE && (unheard === DIED || (!unheard && rules.waitsForOwn))) return false
      if (unheard === GIVEN_UP && rules.initialises) forget(process)
      if (isMember(broker, process)) broker.writer = process.id + 1
      process.session = FENCED
      process.held = phase !== MEMBER || leaving ? 1 : 0
      return true
    },
  },
  readCheckpoint: {
    says: 'A is told the checkpoint',
    act({ broker, offsets, processes }, process, _way, rules) {
      if (process.session !== FENCED) return false
      if (rules.waitsForStable && processes.some(({ transaction, part }) => transaction === WRITTEN && part))
        return false
      if (broker.lostBy !== 0 && broker.lostBy !== process.id + 1) return false // a limit that is documented
      process.tag = broker.tag
      process.seq = broker.seq
      process.cells.forEach((cell, k) => {
        cell.state = offsets[k]!.stored
      })
      process.session = TOLD
      return true
    },
  },
  open: {
    says: 'A ends the take-over: its session is open',
    act: open,
    more: (_, { cells }) => inWords(cells.map(({ state }) => state)),
  },
} satisfies Record<string, Action>

function open(_: Partition, process: Process, _way: number, rules: Rules): boolean {
  if (process.session !== TOLD) return false
  const name = process.id + 1
  const { confirmed, found, cells } = process
  if (confirmed !== 0 && !rules.believes({ own: process.tag === name, seq: process.seq }, { confirmed, found })) {
    process.tag = name
    process.seq = confirmed
    for (const cell of cells) cell.state = cell.confirmed
  }
  if (found === 0) process.found = process.seq
  process.session = OPEN
  if (process.tag === name) takeBack(process)
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
