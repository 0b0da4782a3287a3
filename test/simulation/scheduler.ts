import type { Random } from './random.ts'

/** Whoever waits at a port: a process that may be frozen, cut off from the bus, or dead. */
export interface Owner {
  readonly name: string
  dead: boolean
  /** Virtual milliseconds: until then it does nothing. */
  frozenUntil: number
  /** Until then nothing passes between it and the bus. */
  cutUntil: number
}

/**
 * What waits. `request`: on its way to the broker, whatever becomes of its sender; `answer`: on its way back;
 * `http`: something its sender hears of a request; `timer`; `world`: nobody's but the world's own.
 */
export type Kind = 'request' | 'answer' | 'http' | 'timer' | 'world'

export interface Entry {
  kind: Kind
  owner: Owner | null
  label: string
  /** Virtual milliseconds: not before. */
  at: number
  /** A request that its sender makes while it stands still: it is written when the sender goes on. */
  unwritten: boolean
  run: () => void
}

/** Resolves when everything that needs neither time nor a port has happened: promises only, no timer is involved. */
const settled = () => new Promise<void>(resolve => process.nextTick(resolve))

/**
 * Everything that can happen next, and virtual time. Each step lets one of the things happen that are due, chosen by
 * the seed; when none is due, time jumps to the next one.
 */
export class Scheduler {
  now = 0
  /** Whose step is happening. */
  running: Owner | null = null
  /** Sees every step before it happens, and may stop its owner. */
  before: (entry: Entry) => void = () => {}
  after: (entry: Entry) => void = () => {}
  readonly #random: Random
  #entries: Entry[] = []

  constructor(random: Random) {
    this.#random = random
  }

  /** @returns a function that cancels */
  add(kind: Kind, owner: Owner | null, label: string, delayMs: number, run: () => void): () => void {
    if (owner?.dead) return () => {}
    const unwritten = kind === 'request' && owner!.frozenUntil > this.now
    const entry: Entry = { kind, owner, label, at: this.now + Math.ceil(delayMs), unwritten, run }
    this.#entries.push(entry)
    return () => this.#remove(entry)
  }

  /** The owner does nothing until then, and its timers do not count that time. */
  suspend(owner: Owner, until: number): void {
    owner.frozenUntil = Math.max(owner.frozenUntil, until)
    for (const entry of this.#entries) {
      if (entry.kind === 'timer' && entry.owner === owner) entry.at += until - this.now
    }
  }

  /** Drops what waits for a dead process, but for requests that it had written already. */
  bury(owner: Owner, keep: (entry: Entry) => boolean): void {
    owner.dead = true
    this.#entries = this.#entries.filter(entry => entry.owner !== owner || keep(entry))
  }

  /** @returns false when nothing is left to happen */
  async step(): Promise<boolean> {
    const entry = this.#choose()
    if (!entry) return false
    this.before(entry)
    if (this.#remove(entry)) {
      this.running = entry.owner
      entry.run()
      await settled()
      this.after(entry)
    }
    return true
  }

  #choose(): Entry | undefined {
    let due = this.#due()
    if (due.length === 0 && this.#entries.length > 0) {
      this.now = Math.min(...this.#entries.map(readyAt))
      due = this.#due()
    }
    return due.length > 1 ? this.#random.pick(due) : due[0]
  }

  #due(): Entry[] {
    return this.#entries.filter(entry => readyAt(entry) <= this.now)
  }

  #remove(entry: Entry): boolean {
    const index = this.#entries.indexOf(entry)
    if (index >= 0) this.#entries.splice(index, 1)
    return index >= 0
  }
}

function readyAt({ kind, owner, at, unwritten }: Entry): number {
  if (!owner || kind === 'world') return at
  if (kind === 'request') return Math.max(at, owner.cutUntil, unwritten ? owner.frozenUntil : 0)
  if (kind === 'answer') return Math.max(at, owner.cutUntil, owner.frozenUntil)
  return Math.max(at, owner.frozenUntil)
}
