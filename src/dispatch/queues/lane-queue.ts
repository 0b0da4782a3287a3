import type { Backlog, Session } from '../../bus/port.ts'
import { operations } from '../../protocol/index.ts'
import { isSuspect } from '../outcome/refusals.ts'
import type { Pending } from '../pending.ts'
import { Quarantine } from './quarantine.ts'
import type { EnvelopeBounds } from './rotation.ts'
import { Tenants } from './tenants.ts'

/** What is packed in ways of its own. */
type Kind = 'halves' | 'alone' | 'batched'

/** The commands of one account in one lane that wait in memory to be packed, of all the lane's partitions. */
export class LaneQueue {
  readonly #batched: Tenants
  /** call/otp: its answer names no id, and its subscriber waits on the line. */
  readonly #alone: Tenants
  /** Halves of an envelope that was refused as a whole: each goes out as it is. */
  #halves: Pending[][] = []
  /** Envelopes of these are packed in turn, so that none waits for all of another kind. */
  readonly #turns: Kind[] = ['halves', 'alone', 'batched']
  /** Commands that are not ready yet, those first that are ready first. */
  #later: Pending[] = []
  /** Refused each by itself, nobody knows why: they go out again alone, when `quarantine` says so. */
  readonly quarantine = new Quarantine()

  /** @param weights of tenants, where they are not 1 */
  constructor(weights: ReadonlyMap<string, number> = new Map()) {
    this.#batched = new Tenants(weights)
    this.#alone = new Tenants(weights)
  }

  /** Tells how many may be packed now, suspects left out. */
  get length(): number {
    return this.#batched.length + this.#alone.length + this.#inHalves
  }

  /** Tells how many may be packed, those of partitions that are not open included. */
  get waiting(): number {
    return this.#batched.waiting + this.#alone.waiting + this.#inHalves + this.#later.length
  }

  /** Tells whether it holds nothing at all. */
  get isEmpty(): boolean {
    return this.waiting === 0 && this.quarantine.length === 0
  }

  get #inHalves(): number {
    return this.#halves.reduce((sum, half) => sum + half.length, 0)
  }

  /** The append time of the oldest command, roughly: queues are in order but for what was taken back. */
  get oldestTimestamp(): number | null {
    const halves = this.#halves.flatMap(half => half[0] ?? [])
    const firsts = [
      ...this.#batched.firsts,
      ...this.#alone.firsts,
      ...halves,
      ...this.#later,
      ...this.quarantine.firsts,
    ]
    const oldest = firsts.reduce((least, { since }) => Math.min(least, since), Number.POSITIVE_INFINITY)
    return Number.isFinite(oldest) ? oldest : null
  }

  /**
   * Tells what waits of one partition, the halves of refused envelopes, the suspects and those that are not ready yet
   * left out.
   */
  on(session: Session): Backlog {
    const [batched, alone] = [this.#batched.on(session), this.#alone.on(session)]
    return { records: batched.records + alone.records, bytes: batched.bytes + alone.bytes }
  }

  push(pending: Pending): void {
    if (isAlone(pending)) this.#alone.push(pending)
    else this.#batched.push(pending)
  }

  /** Takes commands back that were not sent; they are the next to go. */
  putBack(pendings: readonly Pending[]): void {
    const suspects = pendings.filter(isSuspect)
    if (suspects.length > 0) this.quarantine.putBack(suspects)
    const others = pendings.filter(pending => !isSuspect(pending))
    this.#alone.putBack(others.filter(isAlone))
    this.#batched.putBack(others.filter(pending => !isAlone(pending)))
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

  /** Tells whether the next envelope is a half. */
  get nextIsHalf(): boolean {
    return this.#next === 'halves'
  }

  /** Tells how many may be packed into the next envelope, if it takes as many. */
  get nextLength(): number {
    const next = this.#next
    if (next === 'halves') return this.#halves[0]!.length
    return next === 'alone' ? 1 : this.#batched.length
  }

  get #next(): Kind | undefined {
    return this.#turns.find(kind => this.#lengthOf(kind) > 0)
  }

  #lengthOf(kind: Kind): number {
    if (kind === 'halves') return this.#halves.length
    return kind === 'alone' ? this.#alone.length : this.#batched.length
  }

  /**
   * Takes a partition's youngest commands beyond what memory is to keep of it, but no doubts: called back, each would have
   * to be asked for anew, which can use up the rate that it waits for.
   */
  cut(session: Session, kept: Backlog): Pending[] {
    const first = this.#batched.firstOn(session) ?? this.#alone.firstOn(session)
    if (!first || first.doubted) return []
    const alone = this.#alone.cut(session, kept)
    const records = Math.max(0, kept.records - this.#alone.on(session).records)
    return [...alone, ...this.#batched.cut(session, { ...kept, records })].sort((a, b) => a.offset - b.offset)
  }

  /** The partition is open again: its commands have their turns. */
  resume(session: Session): void {
    this.#batched.resume(session)
    this.#alone.resume(session)
  }

  /** Forgets what waits on the partition. */
  remove(session: Session): void {
    this.#batched.remove(session)
    this.#alone.remove(session)
    const isOfIt = (pending: Pending) => pending.session === session
    this.quarantine.takeOut(isOfIt)
    this.#takeOutOfHalves(isOfIt)
    this.#takeOutOfLater(isOfIt)
  }

  /** Takes out those that are to go, wherever they stand: suspects too, and those of partitions that are not open. */
  takeOut(goes: (pending: Pending) => boolean): Pending[] {
    return [
      ...this.#takeOutOfHalves(goes),
      ...this.#takeOutOfLater(goes),
      ...this.quarantine.takeOut(goes),
      ...this.#alone.takeOut(goes),
      ...this.#batched.takeOut(goes),
    ]
  }

  #takeOutOfLater(goes: (pending: Pending) => boolean): Pending[] {
    const { out = [], kept = [] } = Object.groupBy(this.#later, pending => (goes(pending) ? 'out' : 'kept'))
    this.#later = kept
    return out
  }

  #takeOutOfHalves(goes: (pending: Pending) => boolean): Pending[] {
    const out = this.#halves.flat().filter(goes)
    if (out.length === 0) return out
    const gone = new Set(out)
    const halves = this.#halves.map(half => half.filter(pending => !gone.has(pending)))
    this.#halves = halves.filter(({ length }) => length > 0)
    return out
  }

  /** Milliseconds until an envelope is due: full, or one of its first commands has waited for `lingerMs`. Infinity: nothing waits but suspects. */
  due(now: number, lingerMs: number, operations: number): number {
    while (this.#later[0] && this.#later[0].readyAt <= now) this.push(this.#later.shift()!)
    if (this.#halves.length > 0 || this.#alone.length > 0 || this.#batched.length >= operations) return 0
    const later = (this.#later[0]?.readyAt ?? Number.POSITIVE_INFINITY) - now
    return Math.min(Math.max(0, this.#batched.lingersSince + lingerMs - now), later)
  }

  /** Takes the next envelope, without suspects; `accept` may dispose of a command instead of having it packed. */
  pack(bounds: EnvelopeBounds, accept: (pending: Pending) => boolean): Pending[] {
    const next = this.#next
    if (!next) return []
    this.#turns.splice(this.#turns.indexOf(next), 1)
    this.#turns.push(next)
    if (next === 'halves') return this.#packHalf(this.#halves.shift()!, bounds, accept)
    return next === 'alone'
      ? this.#alone.take({ ...bounds, operations: 1 }, accept)
      : this.#batched.take(bounds, accept)
  }

  #packHalf(half: Pending[], { operations }: EnvelopeBounds, accept: (pending: Pending) => boolean): Pending[] {
    if (half.length > operations) this.#halves.unshift(half.slice(operations))
    const packed = half.slice(0, operations)
    const held = packed.filter(({ session }) => !session.open)
    if (held.length > 0) this.putBack(held)
    return packed.filter(pending => pending.session.open && accept(pending))
  }
}

const isAlone = ({ command }: Pending) => operations[command.type].alone
