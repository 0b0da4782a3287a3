import type { Random } from './random.ts'
import { takeOpened } from './sealing.ts'

/** The process that waits for an entry. It may be frozen, cut off from the bus, or dead. */
export interface Owner {
  readonly name: string
  /** In virtual milliseconds. */
  readonly startedAt: number
  dead: boolean
  /** It does nothing until then, in virtual milliseconds. */
  frozenUntil: number
  /** Nothing passes between it and the bus until then, in virtual milliseconds. */
  cutUntil: number
}

/**
 * `request`: to the broker, which gets it whatever becomes of its sender; `answer`: from the broker; `http`: an event
 * of a request to the gateway; `timer`: of a process; `world`: an event without a process.
 */
export type Kind = 'request' | 'answer' | 'http' | 'timer' | 'world'

export interface Entry {
  kind: Kind
  owner: Owner | null
  label: string
  /** The earliest time, in virtual milliseconds. */
  at: number
  /** Whether a frozen process made this request: it is written when the process continues. */
  unwritten: boolean
  run: () => void
}

const nextTick = () => new Promise<void>(resolve => process.nextTick(resolve))

/** Resolves when all promises are settled that need neither a timer nor a port. */
async function settled(): Promise<void> {
  await nextTick()
  for (let opened = takeOpened(); opened; opened = takeOpened()) {
    await opened
    await nextTick()
  }
}

/**
 * Virtual time, and everything that can happen next. Each step runs one of the entries that are due, chosen by the
 * seed. If none is due, time jumps to the next one.
 */
export class Scheduler {
  now = 0
  /** The owner of the entry that runs. */
  running: Owner | null = null
  /** Called before every entry; may kill its owner. */
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

  /** Suspends the owner until then. Its timers do not count that time. */
  suspend(owner: Owner, until: number): void {
    owner.frozenUntil = Math.max(owner.frozenUntil, until)
    for (const entry of this.#entries) {
      if (entry.kind === 'timer' && entry.owner === owner) entry.at += until - this.now
    }
  }

  /** Kills a process: drops its entries, except the written requests that `keep` selects. */
  kill(owner: Owner, keep: (entry: Entry) => boolean): void {
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
