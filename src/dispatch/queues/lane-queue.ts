import type { Backlog, Session } from '../../bus/port.ts'
import { operations } from '../../protocol/index.ts'
import { isSuspect, type Pending } from '../pending.ts'
import type { EnvelopeBounds } from './partition-queues.ts'
import { TenantQueues } from './tenant-queues.ts'

/**
 * What is packed in its own way. `halves`: of an envelope that was refused as a whole, each goes out as it is. `alone`:
 * call/otp, whose answer names no id and whose subscriber waits on the line.
 */
type Kind = 'halves' | 'alone' | 'batched' | 'suspects'

/** The commands of one account in one lane that wait in memory to be packed, of all the lane's partitions. */
export class LaneQueue {
  readonly #tenants: Record<Exclude<Kind, 'halves'>, TenantQueues>
  #halves: Pending[][] = []
  /** Envelopes of these are packed in turn, so that none waits for all of another kind. */
  readonly #turns: Kind[] = ['halves', 'alone', 'batched', 'suspects']
  /** Commands that are not ready yet, those first that are ready first. */
  #later: Pending[] = []

  /** @param weights of tenants, where they are not 1 */
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

  /** Tells how many may be packed now. */
  get length(): number {
    return sum(this.#all.map(({ length }) => length)) + this.#halves.flat().length
  }

  /** Tells how many wait, those of partitions that are not open and those that are not ready yet included. */
  get waiting(): number {
    return sum(this.#all.map(({ waiting }) => waiting)) + this.#halves.flat().length + this.#later.length
  }

  /** The append time of the oldest command, roughly: queues are in order but for what was taken back. */
  get oldestTimestamp(): number | null {
    const firsts = [
      ...this.#all.flatMap(tenants => tenants.firsts),
      ...this.#halves.flatMap(([first]) => first ?? []),
      ...this.#later,
    ]
    return firsts.length > 0
      ? firsts.reduce((least, { since }) => Math.min(least, since), Number.POSITIVE_INFINITY)
      : null
  }

  /** Tells what waits of one partition and could be cut. */
  on(session: Session): Backlog {
    const [alone, batched] = [this.#tenants.alone.on(session), this.#tenants.batched.on(session)]
    return { records: alone.records + batched.records, bytes: alone.bytes + batched.bytes }
  }

  push(pending: Pending): void {
    this.#tenants[kindOf(pending)].push(pending)
  }

  /** Takes commands back that were not sent; they are the next to go. */
  putBack(pendings: readonly Pending[]): void {
    for (const [kind, own] of Map.groupBy(pendings, kindOf)) this.#tenants[kind].putBack(own)
  }

  /** Takes commands back that go again when they are ready. */
  putBackLater(pendings: readonly Pending[]): void {
    this.#later = [...this.#later, ...pendings].sort((a, b) => a.readyAt - b.readyAt)
  }

  /** Takes back an envelope that was refused as a whole, in two halves. */
  putBackHalved(pendings: readonly Pending[]): void {
    const middle = Math.ceil(pendings.length / 2)
    const halves = [pendings.slice(0, middle), pendings.slice(middle)]
    this.#halves.push(...halves.filter(({ length }) => length > 0))
  }

  /** Takes back a half that was not sent: it goes by itself, as before. */
  putBackHalf(pendings: readonly Pending[]): void {
    this.#halves.unshift([...pendings])
  }

  /**
   * Tells what the next envelope holds.
   * @param isProbe whether its outcome decides about others: a suspect is one only where nothing else waits
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
   * Takes a partition's youngest commands beyond what memory is to keep of it, but no doubts: called back, each would have
   * to be asked for anew, which can use up the rate that it waits for.
   */
  cut(session: Session, kept: Backlog): Pending[] {
    const { alone, batched } = this.#tenants
    const first = batched.firstOn(session) ?? alone.firstOn(session)
    if (!first || first.doubted) return []
    const cut = alone.cut(session, kept)
    const records = Math.max(0, kept.records - alone.on(session).records)
    return [...cut, ...batched.cut(session, { ...kept, records })].sort((a, b) => a.offset - b.offset)
  }

  /** The partition is open again: its commands have their turns. */
  resume(session: Session): void {
    for (const tenants of this.#all) tenants.resume(session)
  }

  /** Forgets what waits on the partition. */
  remove(session: Session): void {
    for (const tenants of this.#all) tenants.remove(session)
    this.takeOut(pending => pending.session === session)
  }

  /** Takes out those that are to go, wherever they stand, those of partitions that are not open included. */
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

  /** Milliseconds until an envelope is due: full, or one of its first commands has waited for `lingerMs`. Infinity: nothing waits. */
  due(now: number, lingerMs: number, operations: number): number {
    while (this.#later[0] && this.#later[0].readyAt <= now) this.push(this.#later.shift()!)
    const { alone, batched, suspects } = this.#tenants
    if (this.#halves.length + alone.length + suspects.length > 0 || batched.length >= operations) return 0
    const later = (this.#later[0]?.readyAt ?? Number.POSITIVE_INFINITY) - now
    return Math.min(Math.max(0, batched.lingersSince + lingerMs - now), later)
  }

  /** Takes the next envelope; `accept` may dispose of a command instead of having it packed. */
  pack(bounds: EnvelopeBounds, accept: (pending: Pending) => boolean, isProbe = false): Pending[] {
    const { kind } = this.next(isProbe) ?? {}
    if (!kind) return []
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
