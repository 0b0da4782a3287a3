import { expect } from 'vitest'
import type { BusRecord, SessionListener } from '../../src/bus/port.ts'
import { unpackCheckpoint } from '../../src/bus/session/checkpoint.ts'
import { CommitCycle } from '../../src/bus/session/commit-cycle.ts'
import type { Acquired, Committed, Part, PartitionDriver } from '../../src/bus/session/driver.ts'
import { Ledger } from '../../src/bus/session/ledger.ts'
import { PartitionSession } from '../../src/bus/session/session.ts'
import { IN_DOUBT, NEW } from '../../src/bus/session/window.ts'
import { ManualClock, settled } from '../support/clock.ts'
import { buildLog, commitDueMs, result, shareOf } from '../support/sessions.ts'
import type { ActionName } from './model.ts'
import { INTENDED, KNOWN, type Process as ModelProcess, NONE, OPEN, RELEASED, SETTLED, type World } from './world.ts'

/** Commits that end when the model says so. */
class Commits {
  last: Part | null = null
  #ended = Promise.withResolvers<void>()

  commit(part: Part): Promise<void> {
    this.last = part
    this.#ended = Promise.withResolvers()
    return this.#ended.promise
  }

  end(error?: Error): void {
    if (error) this.#ended.reject(error)
    else this.#ended.resolve()
  }
}

/** A driver whose take-over ends when the model says so. */
class Driver implements PartitionDriver {
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
}

/** One process, with the code that ships where the model has its session, its ledger and its commits. */
class RealProcess {
  /** Passes only while a commit is to begin. */
  readonly clock = new ManualClock()
  readonly ledger = new Ledger()
  readonly tag: string
  readonly commits: Commits
  session: PartitionSession | null = null
  driver = new Driver()
  told: Committed | null = null
  /** Counts how often it was given the partition. */
  holding = 0
  foundSeq: number | null = null
  confirmed: Committed | null = null
  readonly fresh = new Set<number>()
  readonly doubted = new Set<number>()
  /** The sessions that asked for the POSTs that may begin or have begun. */
  readonly askedBy = new Map<number, PartitionSession>()
  readonly cycle: CommitCycle

  /** @param commits those of its predecessor, whose last one may still land */
  constructor(tag: string, commits = new Commits()) {
    this.tag = tag
    this.commits = commits
    this.cycle = new CommitCycle({
      clock: this.clock,
      transact: ([part]) => commits.commit(part!),
      failed: error => this.session?.end('commit', error),
    })
  }
}

/** Real sessions that do what a way through the model says. After each step both must know the same. */
export class RealSessions {
  readonly #world: World
  readonly #log
  readonly #processes: RealProcess[]
  #committed: Committed = { offset: 0, metadata: null }
  readonly #results = new Set<string>()
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
      drain: () => process.session?.hold(),
      stop: () => process.session?.hold(),
      hearSync: () => this.#hearSync(process, model),
      beginTakeOver: () => this.#begin(process, model),
      readCheckpoint: () => {
        process.told = this.#committed
      },
      open: () => this.#open(process),
      beginCommit: () => this.#commit(process, model),
      end: () => this.#land(process, true),
      endAndLose: () => this.#land(process, false),
      hearDone: () => process.commits.end(),
      hearRefused: () => process.commits.end(new Error('refused')),
      loseAnswer: () => process.commits.end(new Error('no answer')),
      post: () => expect(process.askedBy.get(way)?.alive).toBe(true),
      hearNotSent: () => this.#release(process, way),
      giveUpPost: () => this.#release(process, way),
      crash: () => {
        this.#processes[id] = new RealProcess(`${process.tag} after death ${++this.#deaths}`, process.commits)
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
      cycle: process.cycle,
      backlog: shareOf({ records: 1000, bytes: 1 << 20 }),
      lookBack: 0,
      startAt: low => low,
      shortTo: end => end,
      lookBackMs: 0,
      dataLost: () => {},
      known: { foundSeq: process.foundSeq, confirmed: process.confirmed },
      committed: (_records, _windowUsed, checkpoint) => {
        if (holding === process.holding) process.confirmed = checkpoint
      },
      lost: () => {
        process.session = null
      },
    })
    process.session = session
    if (model.held) session.hold()
    session.start().catch(() => {
      session.close()
      if (process.session === session) process.session = null
    })
  }

  async #open(process: RealProcess): Promise<void> {
    const { records, end } = this.#log
    process.driver.acquiring.resolve({ committed: process.told, low: 0, high: end })
    await settled()
    const session = process.session!
    process.foundSeq ??= session.taken?.foundSeq ?? null
    const { position } = session
    const rest = records.filter(({ offset }) => offset >= position)
    const batch = { topic: this.#log.topic, partition: 0, fetchedOffset: position, records: rest }
    session.accept({ ...batch, nextOffset: end, highWatermark: end })
  }

  async #commit(process: RealProcess, model: ModelProcess): Promise<void> {
    const { session, askedBy, commits } = process
    const intents: number[] = []
    model.cells.forEach(({ kind, ledger }, k) => {
      if (kind === INTENDED) intents.push(k)
      if (kind === SETTLED && process.doubted.delete(k)) session!.settle(k, result(k))
      else if (kind === SETTLED && ledger === KNOWN) askedBy.get(k)!.settle(k, result(k))
    })
    if (intents.length > 0) {
      void session!.intend(intents).then(may => {
        if (may) for (const k of intents) askedBy.set(k, session!)
      })
    }
    for (const k of intents) process.fresh.delete(k)
    const before = commits.last
    await process.clock.pass(commitDueMs)
    expect(commits.last).not.toBe(before)
    const { offset, metadata } = commits.last!
    const { tag, seq, window } = unpackCheckpoint(offset, metadata)
    expect([tag, seq]).toEqual([process.tag, model.part - 1])
    expect(model.cells.map((_, k) => window.get(k))).toEqual(model.cells.map(({ sent }) => sent))
  }

  #land({ commits }: RealProcess, stored: boolean): void {
    const { records, offset, metadata } = commits.last!
    for (const { key } of records) {
      expect(this.#results).not.toContain(String(key))
      this.#results.add(String(key))
    }
    if (stored) this.#committed = { offset, metadata }
  }

  #release(process: RealProcess, offset: number): void {
    const session = process.askedBy.get(offset)!
    session.release(offset)
    if (session === process.session) process.fresh.add(offset)
  }

  #hearSync(process: RealProcess, model: ModelProcess): void {
    const { session, driver } = process
    if (model.session !== NONE) {
      session!.resume()
      if (model.held) session!.hold()
      return
    }
    if (model.holding && session && !session.started) driver.acquiring.reject(new Error('the generation is over'))
    else session?.close()
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
