import type { Backlog, Session } from '../../bus/port.ts'
import type { Pending } from '../pending.ts'

export interface EnvelopeBounds {
  operations: number
  /** Bytes of the operations, with the commas between them. */
  bytes: number
}

/**
 * Commands by partition, with the partitions in turns. A partition enters at the end when it gets commands, and returns to the
 * end after it has filled an envelope.
 */
export class PartitionQueues {
  readonly #queues = new Map<Session, Fifo>()
  /** Partitions with commands, the next one first. One that is not open loses its turn until it resumes. */
  #turns = new Map<Session, Fifo>()

  /** Whether no commands may be taken. */
  get isEmpty(): boolean {
    return this.#turns.size === 0
  }

  /** Number of commands that may be taken. */
  get length(): number {
    return lengthOf(this.#turns)
  }

  /** Number of commands, including those of partitions that are not open. */
  get waiting(): number {
    return lengthOf(this.#queues)
  }

  /** The next command of each partition that has a turn. */
  get nexts(): Pending[] {
    return [...this.#turns.values()].flatMap(({ first }) => first ?? [])
  }

  /** The oldest command of each partition. */
  get firsts(): Pending[] {
    return [...this.#queues.values()].flatMap(({ first }) => first ?? [])
  }

  on(session: Session): Fifo | undefined {
    return this.#queues.get(session)
  }

  push(pending: Pending): void {
    const queue = this.#queueOf(pending.session)
    queue.push(pending)
    if (queue.length === 1) this.#turns.set(pending.session, queue)
  }

  /** Requeues commands at the front; their partitions are next. */
  putBack(pendings: readonly Pending[]): void {
    if (pendings.length === 0) return
    const returned = new Map<Session, Fifo>()
    for (const [session, own] of bySession(pendings)) {
      const queue = this.#queueOf(session)
      queue.unshift(own)
      returned.set(session, queue)
    }
    for (const [session, queue] of this.#turns) returned.set(session, queue)
    this.#turns = returned
  }

  /**
   * Takes commands for an envelope, one partition after the other, while there is room.
   * @param taken the envelope's commands so far; new ones are appended
   * @param most most operations of the envelope
   * @param room bytes left, counting a comma for each command
   * @param accept may drop a command instead
   * @returns bytes left
   */
  fill(taken: Pending[], most: number, room: number, accept: (pending: Pending) => boolean): number {
    let left = room
    for (let hasTurn = true; taken.length < most; hasTurn = false) {
      const turn = this.#turns.entries().next().value
      if (!turn) break
      const [session, queue] = turn
      if (!session.open) {
        this.#turns.delete(session)
        continue
      }
      left = this.#takeFrom(queue, most, left, taken, accept)
      if (hasTurn || queue.length === 0) this.#turns.delete(session) // one that only fills up the rest keeps its turn
      if (queue.length === 0) continue
      this.#turns.set(session, queue)
      break
    }
    return left
  }

  /** @returns bytes left */
  #takeFrom(
    queue: Fifo,
    operations: number,
    room: number,
    taken: Pending[],
    accept: (pending: Pending) => boolean,
  ): number {
    let left = room
    for (let next = queue.first; next && taken.length < operations; next = queue.first) {
      if (taken.length > 0 && 1 + next.command.bytes > left) break
      queue.shift()
      if (!accept(next)) continue
      taken.push(next)
      left -= 1 + next.command.bytes
    }
    return left
  }

  /** Removes a partition's youngest commands beyond the bounds. */
  cut(session: Session, kept: Backlog): Pending[] {
    const queue = this.#queues.get(session)
    if (!queue) return []
    const cut = queue.cut(kept)
    if (queue.length === 0) this.#turns.delete(session)
    return cut
  }

  /** Removes all commands that match. */
  takeOut(goes: (pending: Pending) => boolean): Pending[] {
    return [...this.#queues].flatMap(([session, queue]) => {
      const out = queue.takeOut(goes)
      if (queue.length === 0) this.#turns.delete(session)
      return out
    })
  }

  /** Resumes a partition. */
  resume(session: Session): void {
    const queue = this.#queues.get(session)
    if (queue && queue.length > 0) this.#turns.set(session, queue)
  }

  /** Drops the commands of a partition. */
  remove(session: Session): void {
    this.#turns.delete(session)
    this.#queues.delete(session)
  }

  #queueOf(session: Session): Fifo {
    const queue = this.#queues.get(session) ?? new Fifo()
    this.#queues.set(session, queue)
    return queue
  }
}

function lengthOf(queues: ReadonlyMap<Session, Fifo>): number {
  let sum = 0
  for (const { length } of queues.values()) sum += length
  return sum
}

function bySession(pendings: readonly Pending[]): Map<Session, Pending[]> {
  const groups = new Map<Session, Pending[]>()
  for (const pending of pendings) {
    const group = groups.get(pending.session)
    if (group) group.push(pending)
    else groups.set(pending.session, [pending])
  }
  return groups
}

/** A FIFO queue that also takes commands back at the front. */
class Fifo {
  #items: Pending[] = []
  bytes = 0

  get length(): number {
    return this.#items.length
  }

  get first(): Pending | undefined {
    return this.#items[0]
  }

  push(pending: Pending): void {
    this.#items.push(pending)
    this.bytes += pending.heldBytes
  }

  shift(): void {
    this.bytes -= this.#items.shift()!.heldBytes
  }

  /** Removes the youngest commands beyond the bounds; keeps one command of any size. */
  cut({ records, bytes }: Backlog): Pending[] {
    let [kept, sum] = [0, 0]
    for (const { heldBytes } of this.#items) {
      sum += heldBytes
      if (kept >= records || (kept > 0 && sum > bytes)) break
      kept++
    }
    const cut = this.#items.splice(kept)
    this.bytes -= bytesOf(cut)
    return cut
  }

  /** Removes all commands that match. */
  takeOut(goes: (pending: Pending) => boolean): Pending[] {
    const { out = [], kept = [] } = Object.groupBy(this.#items, pending => (goes(pending) ? 'out' : 'kept'))
    this.#items = kept
    this.bytes = bytesOf(kept)
    return out
  }

  unshift(pendings: readonly Pending[]): void {
    this.#items = [...pendings, ...this.#items]
    this.bytes += bytesOf(pendings)
  }
}

const bytesOf = (pendings: readonly Pending[]) => pendings.reduce((sum, { heldBytes }) => sum + heldBytes, 0)
