import { type Clock, sleep } from '../../clock.ts'
import type { OutgoingRecord, TopicPartition } from '../port.ts'
import type { RecordLimits } from '../record-limits.ts'
import type { Acquired, Part, SharedCommits } from '../session/driver.ts'
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
  #initialising: Promise<ProducerEpoch> | null = null
  #last: Promise<unknown> = Promise.resolve()

  constructor(options: MemorySharedCommitsOptions) {
    this.#options = options
    this.#prefix = `${options.groupId}-process-`
  }

  commit(parts: readonly Part[]): Promise<void> {
    const { synced } = this.#options.member() // what is decided in one generation is committed in it
    const committed = this.#last.then(() => this.#commit(parts, synced)).catch(error => this.#giveUp(error))
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

  /** Aborts what the dead have left open, waits for what the living have, and reads what was committed last. */
  async acquire(tp: TopicPartition): Promise<Acquired> {
    const { broker, groupId, group, clock, member, atBroker } = this.#options
    const { synced } = member()
    await this.#last // it may hold a part of the session that the partition had before
    await this.#producer()
    for (;;) {
      const acquired = await atBroker(`acquire ${nameOf(tp)}`, () => {
        group.checkCommit(synced)
        this.#abortDeadTransactions()
        const committed = broker.committed(groupId, tp)
        return broker.isUnstable(groupId, tp) ? null : { committed, low: broker.start(tp), high: broker.end(tp) }
      })
      if (acquired) return acquired
      await sleep(clock, askAgainMs)
    }
  }

  #abortDeadTransactions(): void {
    const { broker, member } = this.#options
    const living = member().processes
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
