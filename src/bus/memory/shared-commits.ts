import { type Clock, sleep } from '../../clock.ts'
import type { OutgoingRecord, TopicPartition } from '../port.ts'
import type { RecordLimits } from '../record-limits.ts'
import { Claims } from '../session/claims.ts'
import type { Acquired, Committed, Part, SharedCommits } from '../session/driver.ts'
import type { GroupMember, MemberOf } from '../session/member.ts'
import type { MemoryBroker, ProducerEpoch } from './broker.ts'
import type { MemoryGroup } from './group.ts'

export interface MemorySharedCommitsOptions {
  broker: MemoryBroker
  groupId: string
  group: MemoryGroup
  member: () => GroupMember
  /** Names the process. */
  tag: string
  limits: RecordLimits
  clock: Clock
  /** One step at the broker, over the network. */
  atBroker: <T>(step: string, act: () => T) => Promise<T>
}

const askAgainMs = 20

/** One transactional producer for all partitions of a process, as the Kafka adapter has it. */
export class MemorySharedCommits implements SharedCommits {
  readonly #options: MemorySharedCommitsOptions
  readonly #prefix: string
  readonly #claims: Claims
  #initialising: Promise<ProducerEpoch> | null = null
  #last: Promise<unknown> = Promise.resolve()

  constructor(options: MemorySharedCommitsOptions) {
    this.#options = options
    this.#prefix = `${options.groupId}-process-`
    this.#claims = new Claims(options.tag, options.member)
  }

  commit(parts: readonly Part[]): Promise<void> {
    return this.#inTurn(parts, this.#options.member().synced) // what is decided in one generation is committed in it
  }

  #inTurn(parts: readonly Part[], of: MemberOf): Promise<void> {
    const committed = this.#last.then(() => this.#commit(parts, of)).catch(error => this.#giveUp(error))
    this.#last = committed.catch(() => {})
    return committed
  }

  async #commit(parts: readonly Part[], of: MemberOf): Promise<void> {
    await this.#write(await this.#producer(), parts, of)
  }

  async #write(producer: ProducerEpoch, parts: readonly Part[], of: MemberOf): Promise<void> {
    const { broker, groupId, group, limits, clock, atBroker } = this.#options
    const name = parts.map(nameOf).join(' ')
    const records = parts.flatMap(part => part.records)
    await limits.produce(records, async fitting => {
      const fittingParts = partsOf(parts, fitting)
      await atBroker(`commit ${name}`, () => {
        group.checkCommit(of)
        broker.write(producer, groupId, fittingParts, clock.now())
      })
    })
    await atBroker(`commit end ${name}`, () => broker.endTransaction(producer))
  }

  /**
   * Ends the process's transaction at once, though no partition may be left to this process: others wait for what it
   * holds.
   */
  #giveUp(error: unknown): never {
    this.#initialising = null
    void this.#producer().catch(() => {})
    throw error
  }

  #producer(): Promise<ProducerEpoch> {
    const { broker, tag, atBroker } = this.#options
    const id = this.#prefix + tag
    const initialising = this.#initialising ?? atBroker(`acquire ${id}`, () => ({ id, epoch: broker.fence(id) }))
    this.#initialising = initialising
    initialising.catch(() => {
      if (this.#initialising === initialising) this.#initialising = null
    })
    return initialising
  }

  /** Takes the partition over for a session that commits by itself. */
  acquireApart(tp: TopicPartition, fence: () => void): Promise<Acquired> {
    this.#claims.forget(tp)
    return this.#takeOverAfterCommits(tp, fence)
  }

  async #takeOverAfterCommits(tp: TopicPartition, fence: () => void): Promise<Acquired> {
    await this.#last // it may hold a part of the session that the partition had before
    await this.#producer()
    return this.#takeOver(tp, fence)
  }

  acquire(tp: TopicPartition): Promise<Acquired> {
    const { broker, groupId } = this.#options
    const producer = { id: `${groupId}-${tp.topic}-${tp.partition}`, epoch: 0 }
    const afterCommits = (fence: () => void) => this.#takeOverAfterCommits(tp, fence)
    return this.#claims.acquire(tp, {
      read: () => afterCommits(() => {}),
      fenceAndRead: () =>
        afterCommits(() => {
          producer.epoch = broker.fence(producer.id)
        }),
      commit: (offset, metadata, of) => this.#write(producer, [{ ...tp, records: [], offset, metadata }], of),
    })
  }

  /** Fences, ends what the dead have left open, waits for what the living have, and reads what was committed last. */
  async #takeOver(tp: TopicPartition, fence: () => void): Promise<Acquired> {
    const { broker, groupId, clock, atBroker } = this.#options
    for (let first = true; ; first = false) {
      const acquired = await atBroker(`acquire ${nameOf(tp)}`, () => {
        if (first) fence() // once: whoever has fenced it since is the next owner
        this.#bury()
        const committed = broker.committed(groupId, tp)
        return broker.isUnstable(groupId, tp) ? null : { committed, low: broker.start(tp), high: broker.end(tp) }
      })
      if (acquired) return acquired
      await sleep(clock, askAgainMs)
    }
  }

  async committed(tps: readonly TopicPartition[]): Promise<readonly (Committed | null)[]> {
    const { broker, groupId, atBroker } = this.#options
    return atBroker('commits of the group', () => tps.map(tp => broker.committed(groupId, tp)))
  }

  #bury(): void {
    const { broker, member } = this.#options
    const living = member().processes
    if (!living) return
    for (const id of broker.openTransactions()) {
      if (id.startsWith(this.#prefix) && !living.includes(id.slice(this.#prefix.length))) broker.fence(id)
    }
  }
}

/** The parts with these records in the place of their own, which are as many. */
function partsOf(parts: readonly Part[], records: readonly OutgoingRecord[]): Part[] {
  let from = 0
  return parts.map(part => {
    const to = from + part.records.length
    const own = records.slice(from, to)
    from = to
    return { ...part, records: own }
  })
}

const nameOf = ({ topic, partition }: TopicPartition) => `${topic}/${partition}`
