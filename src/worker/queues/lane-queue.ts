import type { Backlog, Session } from '../../bus/port.ts'
import { operations } from '../../protocol/index.ts'
import { isSuspect, type Pending } from '../pending.ts'
import type { EnvelopeBounds } from './partition-queues.ts'
import { TenantQueues } from './tenant-queues.ts'

/**
 * How commands are packed. `halves`: each half of a refused envelope goes by itself. `alone`: call/otp, whose answer has no id
 * and whose user waits for it. `suspects`: see `isSuspect`.
 */
type Kind = 'halves' | 'alone' | 'batched' | 'suspects'

/** Commands of one account in one lane, of all the lane's partitions, that wait in memory. */
export class LaneQueue {
  readonly #tenants: Record<Exclude<Kind, 'halves'>, TenantQueues>
  #halves: Pending[][] = []
  /** The kinds in turn, so that none waits for all commands of another. */
  readonly #turns: Kind[] = ['halves', 'alone', 'batched', 'suspects']
  /** Commands that back off, in the order of their `readyAt`. */
  #later: Pending[] = []

  /** @param weights by tenant; others have 1 */
  constructor(weights: ReadonlyMap<string, number> = new Map()) {
    this.#tenants = {
      alone: new TenantQueues(weights),
      batched: new TenantQueues(weights),
      suspects: new TenantQueues(weights),
    }
  }

  get #all(): TenantQueues[] {
    return Object.values(this.#tenants)
  }

  /** Number of commands, including those that back off or whose partition is not open. */
  get waiting(): number {
    return sum(this.#all.map(({ waiting }) => waiting)) + this.#halves.flat().length + this.#later.length
  }

  /** Approximate append time of the oldest command: queues are in order except for requeued commands. Infinity if there is none. */
  get oldestTimestamp(): number {
    const firsts = [
      ...this.#all.flatMap(tenants => tenants.firsts),
      ...this.#halves.flatMap(([first]) => first ?? []),
      ...this.#later,
    ]
    return firsts.reduce((least, { since }) => Math.min(least, since), Number.POSITIVE_INFINITY)
  }

  /** Commands of one partition that could be deferred: number and bytes. */
  on(session: Session): Backlog {
    const [alone, batched] = [this.#tenants.alone.on(session), this.#tenants.batched.on(session)]
    return { records: alone.records + batched.records, bytes: alone.bytes + batched.bytes }
  }

  push(pending: Pending): void {
    this.#tenants[kindOf(pending)].push(pending)
  }

  /** Requeues commands at the front. */
  putBack(pendings: readonly Pending[]): void {
    for (const [kind, own] of Map.groupBy(pendings, kindOf)) this.#tenants[kind].putBack(own)
  }

  /** Requeues commands that back off until their `readyAt`. */
  putBackLater(pendings: readonly Pending[]): void {
    this.#later = [...this.#later, ...pendings].sort((a, b) => a.readyAt - b.readyAt)
  }

  /** Requeues a refused envelope as two halves. */
  putBackHalved(pendings: readonly Pending[]): void {
    const middle = Math.ceil(pendings.length / 2)
    const halves = [pendings.slice(0, middle), pendings.slice(middle)]
    this.#halves.push(...halves.filter(({ length }) => length > 0))
  }

  /** Requeues a half that was not sent. */
  putBackHalf(pendings: readonly Pending[]): void {
    this.#halves.unshift([...pendings])
  }

  /**
   * Kind and length of the next envelope.
   * @param isProbe whether the outcome decides about others; suspects then go only if nothing else waits
   */
  next(isProbe = false): { kind: Kind; length: number } | null {
    const waiting = this.#turns.filter(kind => this.#lengthOf(kind) > 0)
    const kind = waiting.find(kind => !isProbe || kind !== 'suspects') ?? waiting[0]
    return kind ? { kind, length: this.#lengthOf(kind) } : null
  }

  #lengthOf(kind: Kind): number {
    if (kind === 'halves') return this.#halves[0]?.length ?? 0
    const { length } = this.#tenants[kind]
    return kind === 'batched' ? length : Math.min(1, length)
  }

  /**
   * Removes a partition's youngest commands beyond the bounds, to defer them. Never doubts: a recalled doubt would be polled
   * again, which may use up the rate that it waits for.
   */
  cut(session: Session, kept: Backlog): Pending[] {
    const { alone, batched } = this.#tenants
    const [any] = [...batched.firsts, ...alone.firsts]
    if (!any || any.doubted) return [] // doubts have a lane of their own
    const cut = alone.cut(session, kept)
    const records = Math.max(0, kept.records - alone.on(session).records)
    return [...cut, ...batched.cut(session, { ...kept, records })].sort((a, b) => a.offset - b.offset)
  }

  /** Resumes a partition. */
  resume(session: Session): void {
    for (const tenants of this.#all) tenants.resume(session)
  }

  /** Drops the commands of a partition. */
  remove(session: Session): void {
    for (const tenants of this.#all) tenants.remove(session)
    this.takeOut(pending => pending.session === session)
  }

  /** Removes all commands that match, including those of partitions that are not open. */
  takeOut(goes: (pending: Pending) => boolean): Pending[] {
    const { out: later = [], kept = [] } = Object.groupBy(this.#later, pending => (goes(pending) ? 'out' : 'kept'))
    this.#later = kept
    return [...this.#takeOutOfHalves(goes), ...later, ...this.#all.flatMap(tenants => tenants.takeOut(goes))]
  }

  #takeOutOfHalves(goes: (pending: Pending) => boolean): Pending[] {
    const out = new Set(this.#halves.flat().filter(goes))
    const halves = this.#halves.map(half => half.filter(pending => !out.has(pending)))
    this.#halves = halves.filter(({ length }) => length > 0)
    return [...out]
  }

  /**
   * Milliseconds until an envelope is due: it is full, or its first command has lingered for `lingerMs`. Infinity if nothing
   * waits.
   */
  due(now: number, lingerMs: number, operations: number): number {
    while (this.#later[0] && this.#later[0].readyAt <= now) this.push(this.#later.shift()!)
    const { alone, batched, suspects } = this.#tenants
    if (this.#halves.length + alone.length + suspects.length > 0 || batched.length >= operations) return 0
    const later = (this.#later[0]?.readyAt ?? Number.POSITIVE_INFINITY) - now
    return Math.min(Math.max(0, batched.lingersSince + lingerMs - now), later)
  }

  /** Takes the commands of the next envelope, which is due; `accept` may drop a command instead. */
  pack(bounds: EnvelopeBounds, accept: (pending: Pending) => boolean, isProbe = false): Pending[] {
    const { kind } = this.next(isProbe)!
    this.#turns.splice(this.#turns.indexOf(kind), 1)
    this.#turns.push(kind)
    if (kind === 'halves') return this.#packHalf(this.#halves.shift()!, bounds, accept)
    return this.#tenants[kind].take(kind === 'batched' ? bounds : { ...bounds, operations: 1 }, accept)
  }

  #packHalf(half: Pending[], { operations }: EnvelopeBounds, accept: (pending: Pending) => boolean): Pending[] {
    if (half.length > operations) this.#halves.unshift(half.slice(operations))
    const packed = half.slice(0, operations)
    const held = packed.filter(({ session }) => !session.open)
    if (held.length > 0) this.putBack(held)
    return packed.filter(pending => pending.session.open && accept(pending))
  }
}

function kindOf(pending: Pending): Exclude<Kind, 'halves'> {
  if (isSuspect(pending)) return 'suspects'
  return operations[pending.command.type].alone ? 'alone' : 'batched'
}

const sum = (numbers: readonly number[]) => numbers.reduce((total, number) => total + number, 0)
