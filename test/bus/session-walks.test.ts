import { expect, test } from 'vitest'
import type { Committed } from '../../src/bus/driver.ts'
import type { BusRecord, Session, SessionListener } from '../../src/bus/port.ts'
import { Random } from '../simulation/random.ts'
import { settled } from '../support/clock.ts'
import {
  buildLog,
  buildOwner,
  commitDueMs,
  type Ending,
  type OpenSession,
  type PartitionLog,
  result,
} from '../support/sessions.ts'

/** The number of random walks. RUNS=5000 finds rarer failures. */
const runs = Number(process.env.RUNS ?? 100)
const commands = 5

/** The partition, its owner, and what the gateway knows of its commands. */
interface World {
  log: PartitionLog
  random: Random
  /** Commands whose POST was perhaps executed. */
  posted: Set<number>
  /** The process to which the group has assigned the partition. */
  owner: Sender | null
}

type Post = [offset: number, by: Session]

/** A process that sends what its sessions give it. */
class Sender {
  readonly process: ReturnType<typeof buildOwner>
  readonly #world: World
  readonly #known: { foundSeq: number | null; confirmed: Committed | null; lastEnd: number } = {
    foundSeq: null,
    confirmed: null,
    lastEnd: 0,
  }
  #open: OpenSession | null = null
  /** Commands of the open session that may be sent, and that are in doubt. */
  readonly #fresh = new Set<number>()
  readonly #doubted = new Set<number>()
  /** Commands whose POST may begin, and has begun. */
  readonly #ready: Post[] = []
  readonly #inFlight: Post[] = []

  constructor(world: World, tag: string) {
    this.#world = world
    const nothing = () => {}
    const addTo = (to: Set<number>) => (session: Session, records: readonly BusRecord[]) => {
      if (session === this.#open?.session) for (const { offset } of records) to.add(offset)
    }
    const listener: SessionListener = {
      ...{ opened: nothing, history: nothing, resumed: nothing, closed: nothing, fatal: nothing },
      records: addTo(this.#fresh),
      inDoubt: addTo(this.#doubted),
    }
    const committed = (_records: number, _used: number, checkpoint: Committed) => {
      this.#known.confirmed = checkpoint
    }
    this.process = buildOwner(world.log, { tag, listener, known: this.#known, committed })
  }

  get #session(): OpenSession['session'] | null {
    return this.#open?.session.alive ? this.#open.session : null
  }

  /** Opens the next session after the last commit has ended. */
  async begin(): Promise<void> {
    await this.endCommit()
    this.#open?.session.close()
    this.#open = null
    this.#fresh.clear()
    this.#doubted.clear()
    this.#open = await this.process.open()
    this.#known.foundSeq ??= this.#open.session.taken!.foundSeq
  }

  /** Another process has owned the partition in between. */
  forget(): void {
    Object.assign(this.#known, { foundSeq: null, confirmed: null })
  }

  read(): void {
    if (this.#session) this.#open!.deliver()
  }

  intend(share = 0.5): void {
    const session = this.#session
    const offsets = [...this.#fresh].filter(() => this.#world.random.chance(share))
    if (!session || offsets.length === 0) return
    for (const offset of offsets) this.#fresh.delete(offset)
    void session.intend(offsets).then(may => {
      for (const offset of offsets) {
        if (may) this.#ready.push([offset, session])
        else this.#release([offset, session])
      }
    })
  }

  /** A POST begins while its session and the lease last. */
  post(): void {
    const post = this.#ready.shift()
    if (!post) return
    const [offset, session] = post
    const { log, posted, owner } = this.#world
    if (!session.alive || owner !== this) {
      this.#release(post)
      return
    }
    expect(posted, 'a command is POSTed once').not.toContain(offset)
    expect(keysOf(log), 'a command that has ended is not POSTed').not.toContain(offset)
    posted.add(offset)
    this.#inFlight.push(post)
  }

  /** The gateway answers: it has sent the command, or not. */
  answer(sent = this.#world.random.chance(0.8)): void {
    const post = this.#inFlight.shift()
    if (!post) return
    const [offset, session] = post
    if (sent) session.settle(offset, result(offset))
    else {
      this.#world.posted.delete(offset)
      this.#release(post)
    }
  }

  #release([offset, session]: Post): void {
    session.release(offset)
    if (session === this.#session) this.#fresh.add(offset)
  }

  settleDoubts(): void {
    for (const offset of this.#doubted) this.#session?.settle(offset, result(offset))
    if (this.#session) this.#doubted.clear()
  }

  commit(): Promise<void> {
    return this.process.clock.pass(commitDueMs)
  }

  async endCommit(ending: Ending = this.#world.random.pick(['ok', 'ok', 'ok', 'ok', 'lost answer', 'failed'])) {
    this.#open?.commits.end(ending)
    await settled()
  }

  /** A rebalance keeps the partition. */
  hold(): void {
    this.#session?.hold()
    this.#session?.resume()
  }

  fail(): void {
    this.#session?.end('fetch', new Error('the log cannot be read'))
  }

  /** Sends and commits everything without a failure. */
  async finish(): Promise<void> {
    if (!this.#session) await this.begin()
    this.read()
    this.settleDoubts()
    this.intend(1)
    await this.commit()
    await this.endCommit('ok')
    while (this.#ready.length > 0) this.post()
    while (this.#inFlight.length > 0) this.answer(true)
    await this.commit()
    await this.endCommit('ok')
  }
}

const keysOf = ({ published }: PartitionLog) => published.map(({ key }) => Number(key))

const usual = [
  'read',
  'intend',
  'intend',
  'commit',
  'commit',
  'endCommit',
  'endCommit',
  'post',
  'post',
  'answer',
] as const
const rare = ['settleDoubts', 'settleDoubts', 'hold', 'fail', 'begin'] as const

/** Two processes take the partition from each other, die, and lose commits and sessions. Then everything succeeds. */
async function walk(seed: number): Promise<void> {
  const random = new Random(seed)
  const log = buildLog(commands)
  const world: World = { log, random, posted: new Set(), owner: null }
  const senders: [Sender, Sender] = [new Sender(world, 'one'), new Sender(world, 'other')]
  let owner = senders[0]
  for (let step = 0; step < 150; step++) {
    const i = random.int(0, 1) as 0 | 1
    if (random.chance(0.02)) {
      await senders[i].endCommit()
      senders[i] = new Sender(world, `process ${step}`)
    }
    if (step === 0 || !senders.includes(owner) || random.chance(0.03)) {
      if (senders[i] !== owner) senders[i].forget()
      owner = world.owner = senders[i]
      await owner.begin()
    }
    const sender = random.chance(0.9) ? owner : senders[i]
    const action = random.pick(random.chance(0.8) ? usual : rare)
    if (action !== 'begin' || sender === owner) await sender[action]()
    await settled()
  }
  for (let round = 0; round < 4; round++) await owner.finish()
  expect(keysOf(log).toSorted(), 'each command ends once').toEqual(log.records.map(({ offset }) => offset))
  expect(log.committed?.offset).toBe(commands)
  expect(owner.process.ledger.size, 'nothing is left over').toBe(0)
}

test('each command is POSTed once and ends once, whatever happens to the owners of its partition', async () => {
  for (let seed = 1; seed <= runs; seed++) {
    await walk(seed).catch(error => {
      throw new Error(`seed ${seed}`, { cause: error })
    })
  }
})
