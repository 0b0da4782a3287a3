import { expect } from 'vitest'
import type { BusRecord, OutgoingRecord, SessionListener } from '../../src/bus/port.ts'
import { claimOf, unpackCheckpoint } from '../../src/bus/session/checkpoint.ts'
import { CommitCycle } from '../../src/bus/session/commit-cycle.ts'
import type { Acquired, Committed, PartitionDriver } from '../../src/bus/session/driver.ts'
import { Ledger } from '../../src/bus/session/ledger.ts'
import { PartitionSession } from '../../src/bus/session/session.ts'
import { IN_DOUBT, NEW } from '../../src/bus/session/window.ts'
import { ManualClock, settled } from '../support/clock.ts'
import { buildLog, commitDueMs, commitsOf, result, shareOf } from '../support/sessions.ts'
import type { ActionName } from './model.ts'
import { CLAIMING, KNOWN, MEMBER, NONE, OPEN, RELEASED } from './states.ts'
import type { Process as ModelProcess, World } from './world.ts'

interface Commit {
  records: readonly OutgoingRecord[]
  committed: Committed
}

/** Commits that end when the model says so. */
class Commits {
  committing: PromiseWithResolvers<void> | null = null
  readonly commits: Commit[] = []

  commit(records: readonly OutgoingRecord[], offset: number, metadata: string): Promise<void> {
    this.commits.push({ records, committed: { offset, metadata } })
    this.committing = Promise.withResolvers()
    return this.committing.promise
  }
}

/** A driver whose steps end when the model says so. */
class Driver extends Commits implements PartitionDriver {
  readonly acquiring = Promise.withResolvers<Acquired>()

  acquire(): Promise<Acquired> {
    return this.acquiring.promise
  }
  async offsetAt(): Promise<number> {
    return 0
  }
  seek(): void {}
  pause(): void {}
  resume(): void {}
  async release(): Promise<void> {}
}

/** One process, with the code that ships where the model has its session and its ledger. */
class RealProcess {
  /** Passes only while a commit is to begin. */
  readonly clock = new ManualClock()
  readonly ledger = new Ledger()
  readonly tag: string
  session: PartitionSession | null = null
  driver = new Driver()
  told: Committed | null = null
  claim: Committed | null = null
  /** What this process commits for all its partitions, and what the one before it did, which died. */
  shared = new Commits()
  sharedBefore = new Commits()
  cycle: CommitCycle | null = null
  /** Counts how often it was given the partition. */
  holding = 0
  foundSeq: number | null = null
  confirmed: Committed | null = null
  readonly fresh = new Set<number>()
  readonly doubted = new Set<number>()
  /** The sessions that asked for the POSTs that may begin or have begun. */
  readonly askedBy = new Map<number, PartitionSession>()

  constructor(tag: string) {
    this.tag = tag
  }

  sharedCycle(): CommitCycle {
    const { shared } = this
    this.cycle ??= new CommitCycle({
      clock: this.clock,
      interval: () => 20,
      transact: ([part]) => shared.commit(part!.records, part!.offset, part!.metadata),
      failed: error => {
        this.cycle = null
        this.session?.end('commit', error)
      },
    })
    return this.cycle
  }
}

/** Real sessions that do what a way through the model says. After each step both must know the same. */
export class RealSessions {
  readonly #world: World
  readonly #log
  readonly #processes: RealProcess[]
  #committed: Committed = { offset: 0, metadata: null }
  readonly #results: OutgoingRecord[] = []
  #deaths = 0

  constructor(world: World) {
    this.#world = world
    this.#log = buildLog(world.offsets.length)
    this.#processes = world.processes.map(({ id }) => new RealProcess(`process ${id}`))
  }

  /** Does what the model has just done. */
  async follow(name: ActionName, id: number, way: number): Promise<void> {
    const process = this.#processes[id]!
    const model = this.#world.processes[id]!
    const steps: Partial<Record<ActionName, () => unknown>> = {
      drain: () => void process.session?.quiesce(5_000),
      stop: () => void process.session?.quiesce(5_000),
      hearSync: () => this.#hearSync(process, model),
      beginTakeOver: () => this.#begin(process, model),
      goOnWithTakeOver: () => this.#goOn(process, model),
      goOnUnheard: () => {
        const { offset, metadata } = this.#committed
        process.claim = metadata ? claimOf({ offset, metadata }, process.tag) : null
        expect(process.claim !== null).toBe(model.flight !== NONE)
      },
      landClaim: () => {
        this.#committed = process.claim!
      },
      hearClaim: () => {
        if (model.session !== NONE) process.told = process.claim
      },
      hearClaimRefused: () => this.#failToOpen(process, model),
      loseClaim: () => this.#failToOpen(process, model),
      endTakeOver: () => this.#open(process),
      beginCommit: () => this.#commit(process, process.driver, model),
      beginSharedCommit: () => this.#commit(process, process.shared, model),
      land: () => this.#land(process.driver, true),
      landAndLose: () => this.#land(process.driver, false),
      end: () => this.#land(way === 1 ? process.sharedBefore : process.shared, true),
      hearDone: () => process.driver.committing?.resolve(),
      hearFenced: () => process.driver.committing?.reject(new Error('fenced')),
      loseAnswer: () => process.driver.committing?.reject(new Error('no answer')),
      hearSharedDone: () => process.shared.committing?.resolve(),
      hearRefused: () => process.shared.committing?.reject(new Error('refused')),
      loseSharedAnswer: () => process.shared.committing?.reject(new Error('no answer')),
      post: () => expect(process.askedBy.get(way)?.alive).toBe(true),
      hearNotSent: () => this.#release(process, way),
      giveUpPost: () => this.#release(process, way),
      crash: () => {
        this.#processes[id] = new RealProcess(`${process.tag} after death ${++this.#deaths}`)
        const { driver, claim, shared, sharedBefore } = process
        Object.assign(this.#processes[id], { driver, claim }) // its last commit may land
        this.#processes[id].sharedBefore = shared.commits.length > 0 ? shared : sharedBefore
        process.session?.close()
      },
    }
    await steps[name]?.()
    await settled()
    this.#compare(this.#processes[id]!, model)
  }

  #begin(process: RealProcess, model: ModelProcess): void {
    const { holding } = process
    process.driver = new Driver()
    process.fresh.clear()
    process.doubted.clear()
    const session: PartitionSession = new PartitionSession({
      topic: this.#log.topic,
      partition: this.#log.partition,
      driver: process.driver,
      ledger: process.ledger,
      tag: process.tag,
      listener: this.#listener(process),
      clock: process.clock,
      cycle: model.together
        ? process.sharedCycle()
        : commitsOf(process.clock, process.driver, error => session.end('commit', error)),
      backlog: shareOf({ records: 1000, bytes: 1 << 20 }),
      lookBack: 0,
      leased: () => model.lease === 1,
      finishing: () => model.leaving === 1 || model.phase !== MEMBER,
      startAt: low => low,
      shortTo: end => end,
      lookBackMs: 0,
      dataLost: () => {},
      foundSeq: process.foundSeq,
      confirmed: process.confirmed,
      committed: (_records, _windowUsed, checkpoint) => {
        if (holding === process.holding) process.confirmed = checkpoint
      },
      lost: () => {
        process.session = null
      },
    })
    process.session = session
    if (model.held) void session.quiesce(0)
    session.start().catch(() => {
      process.session?.close()
      process.session = null
    })
  }

  #goOn(process: RealProcess, model: ModelProcess): void {
    process.told = this.#committed
    const { offset, metadata } = process.told
    const claim = model.together && metadata ? claimOf({ offset, metadata }, process.tag) : null
    if (model.session === CLAIMING) expect(claim).not.toBeNull()
    if (model.session === CLAIMING) process.claim = claim
  }

  #failToOpen(process: RealProcess, model: ModelProcess): void {
    if (model.session !== NONE || !process.session || process.session.started) return
    process.driver.acquiring.reject(new Error('the claim was refused'))
  }

  async #open(process: RealProcess): Promise<void> {
    const { records, end } = this.#log
    process.driver.acquiring.resolve({ committed: process.told, low: 0, high: end })
    await settled()
    const { session } = process
    if (!session) return
    process.foundSeq ??= session.foundSeq
    const { position } = session
    const rest = records.filter(({ offset }) => offset >= position)
    const batch = { topic: this.#log.topic, partition: 0, fetchedOffset: position, records: rest }
    session.accept({ ...batch, nextOffset: end, highWatermark: end })
  }

  async #commit(process: RealProcess, to: Commits, model: ModelProcess): Promise<void> {
    const { session, askedBy } = process
    const intents: number[] = []
    model.cells.forEach(({ kind, ledger }, k) => {
      if (kind === 1) intents.push(k)
      if (kind === 2 && process.doubted.delete(k)) session!.settle(k, result(k))
      else if (kind === 2 && ledger === KNOWN) askedBy.get(k)!.settle(k, result(k))
    })
    if (intents.length > 0) {
      void session!.intend(intents).then(may => {
        if (may) for (const k of intents) askedBy.set(k, session!)
      })
    }
    for (const k of intents) process.fresh.delete(k)
    const before = to.commits.length
    await process.clock.pass(commitDueMs)
    expect(to.commits.length).toBe(before + 1)
    const { offset, metadata } = to.commits.at(-1)!.committed
    const { tag, seq, window } = unpackCheckpoint(offset, metadata)
    expect([tag, seq]).toEqual([process.tag, model.flightSeq - 1])
    expect(model.cells.map((_, k) => window.get(k))).toEqual(model.cells.map(({ sent }) => sent))
  }

  #land({ commits }: Commits, stored: boolean): void {
    const { records, committed } = commits.at(-1)!
    this.#results.push(...records)
    if (stored) this.#committed = committed
    expect(new Set(this.#results.map(({ key }) => String(key))).size).toBe(this.#results.length)
  }

  #release(process: RealProcess, offset: number): void {
    const session = process.askedBy.get(offset)!
    session.release(offset)
    if (session === process.session) process.fresh.add(offset)
  }

  #hearSync(process: RealProcess, model: ModelProcess): void {
    if (model.session !== NONE) {
      process.session!.resume()
      if (model.held) void process.session!.quiesce(5_000)
      return
    }
    process.session?.close()
    process.session = null
    if (model.found === 0) {
      process.holding++
      process.foundSeq = null
      process.confirmed = null
    }
  }

  #listener(process: RealProcess): SessionListener {
    const add = (to: Set<number>) => (_: unknown, records: readonly BusRecord[]) => {
      for (const { offset } of records) to.add(offset)
    }
    const nothing = () => {}
    const past = { opened: nothing, history: nothing, resumed: nothing, closed: nothing, fatal: nothing }
    return { ...past, records: add(process.fresh), inDoubt: add(process.doubted) }
  }

  #compare(process: RealProcess, model: ModelProcess): void {
    expect(process.session?.started ?? false).toBe(model.session === OPEN)
    expect(process.session !== null).toBe(model.session !== NONE)
    expect(process.foundSeq).toBe(model.found === 0 ? null : model.found - 1)
    model.cells.forEach(({ state, ledger }, k) => {
      expect([k, process.ledger.has(k)]).toEqual([k, ledger !== NONE])
      const outcome = process.ledger.outcome(k)
      const known = outcome === 'released' ? RELEASED : outcome ? KNOWN : NONE
      expect([k, known]).toEqual([k, ledger === RELEASED || ledger === KNOWN ? ledger : NONE])
      if (model.session !== OPEN) return
      expect([k, process.fresh.has(k)]).toEqual([k, state === NEW])
      expect([k, process.doubted.has(k)]).toEqual([k, state === IN_DOUBT])
    })
  }
}
