import { type Clock, sleep } from '../../clock.ts'
import type { Compression } from '../batches/codecs.ts'
import type { Brokers } from '../cluster/brokers.ts'
import { type GroupProgress, isUnstable, untilSettled } from '../cluster/committed-offsets.ts'
import { Gathered } from '../gathered.ts'
import type { TopicPartition } from '../port.ts'
import type { PartitionOffsets } from '../read/partition-offsets.ts'
import type { RecordLimits } from '../record-limits.ts'
import type { Acquired, Committed, Part, SharedCommits } from '../session/driver.ts'
import type { GroupMember, MemberOf } from '../session/member.ts'
import { ProducerTurns } from '../session/producer-turns.ts'
import type { CommittingMember } from '../write/transaction.ts'
import { TransactionalProducer } from '../write/transactional-producer.ts'

export interface KafkaSharedCommitsOptions {
  brokers: Brokers
  logs: Pick<PartitionOffsets, 'ends' | 'committed'>
  clock: Clock
  groupId: string
  /** Names this process, to all that come after it too. */
  process: string
  instanceId?: string | undefined
  member: () => Pick<GroupMember, 'synced' | 'processes' | 'isMember'>
  compression: Compression
  limits: RecordLimits
}

const askAgainMs = 10
/** A transaction of the dead is ended by brokers within 20 s, should nobody be let do it. */
const unstableForMs = 60_000

/**
 * The transactional producer of a process, whose every transaction carries what all its partitions have to commit. Its id
 * holds the name of the process, so that whoever takes partitions over knows which open transactions are of the dead.
 */
export class KafkaSharedCommits implements SharedCommits {
  readonly #options: KafkaSharedCommitsOptions
  readonly #prefix: string
  readonly #producer: TransactionalProducer
  readonly #progress: Gathered<TopicPartition, GroupProgress>
  readonly #turns: ProducerTurns<void>

  constructor(options: KafkaSharedCommitsOptions) {
    const { groupId, process } = options
    this.#options = options
    this.#prefix = `${groupId}-process/`
    this.#producer = new TransactionalProducer({ ...options, transactionalId: this.#prefix + process })
    this.#turns = new ProducerTurns(() => this.#producer.init())
    this.#progress = new Gathered(tps => this.#readBehindBarrier(tps))
  }

  /** @throws Error when the brokers do not fence members of generations that are over */
  proveFencing(tp: TopicPartition): Promise<void> {
    const proven = this.#turns.take(() => this.#producer.proveFencing(tp))
    return proven.catch(error => {
      if (error?.type !== 'TRANSACTIONAL_ID_AUTHORIZATION_FAILED') throw error
      const { groupId } = this.#options
      throw new Error(
        `${error.message}. Grant this client the rights Describe and Write on transactional ids that begin with ${groupId}-.`,
        { cause: error },
      )
    })
  }

  commit(parts: readonly Part[]): Promise<void> {
    const member = this.#committing(this.#options.member().synced) // what is decided in one generation is committed in it
    const records = parts.flatMap(part => part.records)
    return this.#turns.take(() => this.#producer.commit({ records, offsets: parts, member }))
  }

  /**
   * Takes the partition over, together with all others that are taken over now.
   * @throws Error when this process is no member of the group's generation any more
   */
  async acquire(tp: TopicPartition): Promise<Acquired> {
    const { clock, logs } = this.#options
    const started = clock.monotonic()
    for (;;) {
      const progress = await this.#progress.get(tp)
      if (!isUnstable(progress)) return { committed: settled(progress), ...(await logs.ends(tp)) }
      if (clock.monotonic() - started > unstableForMs) throw progress.error
      await sleep(clock, askAgainMs)
    }
  }

  /** Readers and new owners wait for what the open transactions of dead processes hold. Only a member knows who is dead. */
  async #abortDeadTransactions(): Promise<void> {
    const { process, member } = this.#options
    const { isMember, processes: living } = member()
    if (!isMember) return
    const open = await this.#producer.ongoing(this.#prefix)
    const dead = open.filter(id => {
      const name = id.slice(this.#prefix.length)
      return name !== process && !name.includes('/') && !living.includes(name)
    })
    await Promise.all(dead.map(id => this.#producer.abortTransactionOf(id)))
  }

  /**
   * Reads behind a write of this process, which is aborted: a coordinator that has just begun answers with older offsets
   * than were confirmed, until it confirms a write itself (seen with Kafka 4.3.0). The write waits for what this process
   * committed last, because coordinators before Kafka 4.0 confirm it first and know it later. The aborted write is waited
   * for as well: another one would hold its partition up again.
   */
  async #readBehindBarrier(tps: readonly TopicPartition[]): Promise<readonly GroupProgress[]> {
    const { clock, member } = this.#options
    await this.#abortDeadTransactions()
    await this.#turns.take(async () => {
      await untilSettled(() => this.#ask(tps), clock)
      await this.#producer.barrierWrite(tps[0]!, this.#committing(member().synced))
    })
    return untilSettled(() => this.#ask(tps), clock)
  }

  #ask(tps: readonly TopicPartition[]): Promise<GroupProgress[]> {
    const { logs, groupId } = this.#options
    return logs.committed(groupId, tps)
  }

  #committing({ memberId, generation }: MemberOf): CommittingMember {
    return { memberId, generation, instanceId: this.#options.instanceId ?? null }
  }
}

/** @throws what the coordinator says of the partition */
function settled({ committed, error }: GroupProgress): Committed | null {
  if (error) throw error
  return committed
}
