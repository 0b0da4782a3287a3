import { expect } from 'vitest'
import type { OutgoingRecord, Session, SessionListener } from '../../src/bus/port.ts'
import { unpackCheckpoint } from '../../src/bus/session/checkpoint.ts'
import { Ledger } from '../../src/bus/session/ledger.ts'
import { PartitionSession } from '../../src/bus/session/session.ts'
import { DONE, IN_DOUBT, INTENT } from '../../src/bus/session/window.ts'
import { ManualClock, settled } from '../support/clock.ts'
import { commitsOf, type Ending, PartitionLog, ScriptedDriver, shareOf } from '../support/sessions.ts'

/** What a worker knows of one session: commands to be sent, and commands that another one may have sent. */
interface Work {
  process: Process
  session: PartitionSession
  driver: ScriptedDriver
  ready: Set<number>
  /** Were ready, and are forgotten for now. */
  shelved: Set<number>
  recalled: Set<number>
  /** Asked for, and not answered yet. */
  intended: Set<number>
  doubted: Set<number>
  /** Left as intents by another process, as the checkpoint had it when the session began. */
  foreign: Set<number>
}

interface Process {
  tag: string
  ledger: Ledger
  work: Work | null
}

interface Post {
  work: Work
  offset: number
}

const offsetOf = (record: OutgoingRecord) => Number(record.key)

/**
 * Two processes that fight for one partition, and what must hold whatever they do. A POST is what happens after an
 * intent was answered with true; the truth about POSTs and results is kept here, apart from every session.
 */
export class SessionModel {
  readonly log = new PartitionLog()
  readonly clock = new ManualClock()
  readonly #processes: Process[] = ['one', 'two'].map(tag => ({ tag, ledger: new Ledger(), work: null }))
  /** Every session there ever was. */
  readonly #works: Work[] = []
  readonly #posts: Post[] = []
  /** Offsets with a POST that was not taken back since. */
  readonly #posted = new Set<number>()
  readonly #lookBack: number
  /** What did not hold, seen where an error would have been taken for the broker's. */
  readonly #faults: unknown[] = []
  #lastSeq = 0

  constructor(lookBack: number) {
    this.#lookBack = lookBack
    this.log.onCommitted = () => this.#check(() => this.#checkCommit())
  }

  /** @throws what did not hold until now. */
  verify(): void {
    if (this.#faults.length > 0) throw this.#faults[0]
  }

  #check(check: () => void): void {
    try {
      check()
    } catch (error) {
      this.#faults.push(error)
    }
  }

  /** A process takes the partition over, or opens its session anew. */
  async open(which: number): Promise<void> {
    const process = this.#process(which)
    this.close(which)
    const driver = new ScriptedDriver(this.log)
    const session: PartitionSession = new PartitionSession({
      topic: 'commands',
      partition: 0,
      driver,
      ledger: process.ledger,
      tag: process.tag,
      listener: this.#listener,
      clock: this.clock,
      cycle: commitsOf(this.clock, driver, error => session.end('commit', error)),
      backlog: shareOf({ records: 8, bytes: 1 << 20 }),
      lookBack: this.#lookBack,
      startAt: low => low,
      shortTo: end => end,
      lookBackMs: Number.POSITIVE_INFINITY,
      dataLost: () => {},
      known: { foundSeq: null, confirmed: null },
      committed: () => {},
      lost: () => {},
    })
    const [ready, shelved, recalled] = [new Set<number>(), new Set<number>(), new Set<number>()]
    const [intended, doubted] = [new Set<number>(), new Set<number>()]
    const foreign = this.#foreignTo(process)
    const work: Work = { process, session, driver, ready, shelved, recalled, intended, doubted, foreign }
    driver.onCommit = (base, metadata) => this.#check(() => this.#checkIntents(work, base, metadata))
    process.work = work
    this.#works.push(work)
    void session.start()
    await settled()
  }

  /** The partition is taken away, or its session ends by itself. */
  close(which: number): void {
    this.#process(which).work?.session.close()
  }

  /** A process does some of its work, and nothing goes wrong. */
  async work(which: number, count: number): Promise<void> {
    const { work } = this.#process(which)
    work?.driver.acquired()
    await settled()
    this.deliver(which, count, false)
    await this.intend(which, count)
    await this.clock.pass(25)
    work?.driver.endCommit()
    await settled()
  }

  /** The broker answers a take-over. */
  async acquired(which: number): Promise<void> {
    this.#pick(this.#works, which, ({ driver }) => driver.acquiring)?.driver.acquired()
    await settled()
  }

  /** The broker ends a commit of any session, the present one or one of the past. */
  async endCommit(which: number, ending: Ending): Promise<void> {
    this.#pick(this.#works, which, ({ driver }) => driver.committing)?.driver.endCommit(ending)
    await settled()
  }

  /** A batch arrives; pausing does not keep back what is on its way. */
  deliver(which: number, most: number, onItsWay: boolean): void {
    const work = this.#process(which).work
    if (!work?.session.alive || (work.driver.paused && !onItsWay)) return
    if (!work.session.accept(work.driver.fetch(most))) work.driver.seek(work.session.position)
  }

  /** A batch of another life of the partition arrives. */
  deliverStray(which: number, distance: number): void {
    const work = this.#process(which).work
    if (!work?.session.alive || !work.session.started) return
    const { position } = work.session
    work.driver.position = position + distance
    expect(work.session.accept(work.driver.fetch(3))).toBe(false)
    work.driver.seek(work.session.position)
    expect(work.session.position).toBe(position)
  }

  async intend(which: number, count: number): Promise<void> {
    const work = this.#process(which).work
    const offsets = [...(work?.ready ?? [])].slice(0, count)
    if (!work || offsets.length === 0) return
    for (const offset of offsets) {
      work.ready.delete(offset)
      work.intended.add(offset)
    }
    void work.session.intend(offsets).then(begin => {
      for (const offset of offsets) {
        work.intended.delete(offset)
        if (begin) this.#check(() => this.#begin(work, offset))
        else if (work.session.alive) work.ready.add(offset)
      }
    })
    await settled()
  }

  /** A POST comes to an end, whatever became of its session. */
  async finish(which: number, sent: boolean): Promise<void> {
    const post = this.#posts.splice(which % Math.max(1, this.#posts.length), 1)[0]
    if (!post) return
    const { work, offset } = post
    if (sent) {
      work.session.settle(offset, [resultOf(offset)])
    } else {
      this.#posted.delete(offset)
      work.session.release(offset)
      if (work.session.alive) work.ready.add(offset)
    }
    await settled()
  }

  /** A command that is not to be sent, or the doubt that an earlier owner left. */
  settle(which: number, doubt: boolean): void {
    const work = this.#process(which).work
    if (!work?.session.alive) return
    const offsets = doubt ? work.doubted : work.ready
    const [offset] = offsets
    if (offset === undefined) return
    offsets.delete(offset)
    work.session.settle(offset, [resultOf(offset)])
  }

  /** A process forgets the youngest commands that it has not begun to send. */
  shelve(which: number, count: number): void {
    const work = this.#process(which).work
    if (!work?.session.alive) return
    const offsets = [...work.ready].slice(-count)
    for (const offset of offsets) {
      work.ready.delete(offset)
      work.shelved.add(offset)
    }
    work.session.shelve(offsets)
  }

  /** Wants some of those back that were shelved, any of them. */
  recall(which: number, count: number, from = 0): void {
    const work = this.#process(which).work
    if (!work?.session.alive) return
    const offsets = [...work.shelved].slice(from, from + count)
    for (const offset of offsets) {
      work.shelved.delete(offset)
      work.recalled.add(offset)
    }
    work.session.recall(offsets)
  }

  /** A session of the past is told what became of commands that it had delivered and nobody began to send. */
  async meddle(which: number, how: 'settle' | 'release' | 'intend'): Promise<void> {
    const work = this.#pick(this.#works, which, ({ session, ready }) => !session.alive && ready.size > 0)
    if (!work) return
    const offset = [...work.ready][which % work.ready.size]!
    if (how === 'settle') work.session.settle(offset, [resultOf(offset)])
    if (how === 'release') work.session.release(offset)
    if (how === 'intend') expect(await work.session.intend([offset])).toBe(false)
    await settled()
  }

  /** The group re-joins, and the partition stays. */
  rejoin(which: number, over: boolean): void {
    const session = this.#process(which).work?.session
    if (!session?.alive) return
    if (over) session.resume()
    else void session.quiesce(5_000)
  }

  /**
   * In the end nothing goes wrong any more: everything has exactly one result. One process takes over for it, unless it
   * may go on with the session that is open.
   */
  async conclude(which: number, goOn: boolean): Promise<void> {
    const last = this.#process(which).work
    if (!goOn || !last?.session.alive || !last.driver.current) await this.open(which)
    const { work, ledger } = this.#process(which)
    const { session, driver } = work!
    this.rejoin(which, true)
    for (let i = 0; i < 20 + this.log.records.length; i++) {
      while (this.#posts.length > 0) await this.finish(0, true)
      for (const _ of [...work!.doubted]) this.settle(which, true)
      this.recall(which, Number.POSITIVE_INFINITY)
      await this.work(which, 3)
      this.verify()
    }
    expect(this.log.published.map(offsetOf).sort(byNumber)).toEqual(this.log.records.map(({ offset }) => offset))
    expect(session).toMatchObject({ alive: true, open: true, lag: 0, windowUsed: 0 })
    expect(ledger.size).toBe(0)
    expect(driver.paused).toBe(false)
  }

  readonly #listener: SessionListener = {
    opened: () => {},
    history: (session, records) => {
      for (const { offset } of records) this.#check(() => this.#past(this.#workOf(session), offset))
    },
    records: (session, records) => {
      for (const { offset } of records) this.#check(() => this.#delivered(this.#workOf(session), offset))
    },
    recalled: (session, records) => {
      for (const { offset } of records) this.#check(() => this.#cameBack(this.#workOf(session), offset))
    },
    inDoubt: (session, records) => {
      for (const { offset } of records) this.#check(() => this.#doubted(this.#workOf(session), offset))
    },
    resumed: () => {},
    closed: () => {},
    fatal: () => {},
  }

  #past({ driver }: Work, offset: number): void {
    if (driver.current) expect(this.#isPublished(offset) || this.#posted.has(offset)).toBe(true)
  }

  #doubted({ foreign, doubted, driver }: Work, offset: number): void {
    expect(foreign).toContain(offset)
    expect(doubted).not.toContain(offset)
    if (driver.current) expect(this.#isPublished(offset)).toBe(false)
    doubted.add(offset)
  }

  #delivered(work: Work, offset: number): void {
    expect(work.foreign).not.toContain(offset)
    for (const known of [work.ready, work.shelved, work.recalled]) expect(known).not.toContain(offset)
    if (work.driver.current) {
      expect(this.#posted).not.toContain(offset)
      expect(this.#isPublished(offset)).toBe(false)
    }
    work.ready.add(offset)
  }

  #cameBack(work: Work, offset: number): void {
    expect(work.recalled).toContain(offset)
    work.recalled.delete(offset)
    this.#delivered(work, offset)
  }

  /** An intent was answered with true. */
  #begin(work: Work, offset: number): void {
    expect(this.#posted).not.toContain(offset)
    expect(this.#isPublished(offset)).toBe(false)
    const { tag, window } = this.#checkpoint()
    expect([tag, window.get(offset)]).toEqual([work.process.tag, INTENT])
    this.#posted.add(offset)
    this.#posts.push({ work, offset })
  }

  /** A commit says of no command that it may have been sent, but of those that may. */
  #checkIntents({ driver, intended }: Work, base: number, metadata: string): void {
    if (!driver.current) return
    const { window } = unpackCheckpoint(base, metadata)
    for (const { offset } of this.log.records) {
      const may = intended.has(offset) || this.#posts.some(post => post.offset === offset)
      if (window.get(offset) === INTENT) expect([offset, may]).toEqual([offset, true])
    }
  }

  #checkCommit(): void {
    const published = this.log.published.map(offsetOf)
    expect(new Set(published).size).toBe(published.length)
    const { seq, window } = this.#checkpoint()
    expect(seq).toBeGreaterThan(this.#lastSeq)
    this.#lastSeq = seq
    for (const { offset } of this.log.records) expect(window.get(offset) === DONE).toBe(this.#isPublished(offset))
    for (const offset of this.#posted) expect([INTENT, IN_DOUBT, DONE]).toContain(window.get(offset))
  }

  #checkpoint() {
    const { offset, metadata } = this.log.committed!
    return unpackCheckpoint(offset, metadata)
  }

  #foreignTo({ tag }: Process): Set<number> {
    if (!this.log.committed) return new Set()
    const { tag: last, window } = this.#checkpoint()
    const offsets = this.log.records.map(({ offset }) => offset)
    const left = (offset: number) => window.get(offset) === IN_DOUBT || (tag !== last && window.get(offset) === INTENT)
    return new Set(offsets.filter(left))
  }

  #isPublished(offset: number): boolean {
    return this.log.published.some(record => offsetOf(record) === offset)
  }

  #process(which: number): Process {
    return this.#processes[which % 2]!
  }

  #workOf(session: Session): Work {
    return this.#works.find(work => work.session === session)!
  }

  #pick<T>(from: readonly T[], which: number, condition: (item: T) => boolean): T | undefined {
    const fitting = from.filter(condition)
    return fitting[which % Math.max(1, fitting.length)]
  }
}

const byNumber = (a: number, b: number) => a - b
const resultOf = (offset: number): OutgoingRecord => ({
  topic: 'results',
  key: Buffer.from(String(offset)),
  value: null,
})
