import { type Clock, sleep } from '../../clock.ts'
import type { Telemetry } from '../../telemetry/events.ts'
import type { Compression } from '../batches/codecs.ts'
import type { Brokers } from '../cluster/brokers.ts'
import type { Acquired, Part } from '../driver.ts'
import type { GroupMember, MemberOf } from '../membership/member.ts'
import { placeName } from '../partitions.ts'
import type { TopicPartition } from '../port.ts'
import type { PartitionOffsets } from '../read/partition-offsets.ts'
import type { RecordLimits } from '../record-limits.ts'
import { RequestBatcher } from '../request-batcher.ts'
import { committedOffsets, type GroupProgress, isUnstable, untilSettled } from './committed-offsets.ts'
import type { CommittingMember } from './transaction.ts'
import { TransactionalProducer } from './transactional-producer.ts'

export interface KafkaSharedCommitsOptions {
  brokers: Brokers
  logs: Pick<PartitionOffsets, 'ends'>
  clock: Clock
  groupId: string
  /** Name of this process; never used by another process, later ones included. */
  process: string
  instanceId?: string | undefined
  member: Pick<GroupMember, 'synced' | 'processes' | 'isMember'>
  compression: Compression
  limits: RecordLimits
  telemetry: Telemetry
}

const askAgainMs = 10
/** Brokers abort a dead process's transaction within 20 s, should this process lack the right to do so. */
const unstableForMs = 30_000
/** Ending a dead process's transaction takes less. After a longer wait, a process may have discarded confirmed offsets. */
const settlesWithinMs = 5_000

/**
 * The process's transactional producer. Each transaction commits for all of its partitions. The transactional id contains the
 * process's name, so that new owners know which open transactions belong to dead processes.
 */
export class KafkaSharedCommits {
  readonly #options: KafkaSharedCommitsOptions
  readonly #prefix: string
  readonly #producer: TransactionalProducer
  readonly #progress: RequestBatcher<TopicPartition, GroupProgress>
  readonly #hanging: RequestBatcher<TopicPartition, undefined>

  constructor(options: KafkaSharedCommitsOptions) {
    const { groupId, process } = options
    this.#options = options
    this.#prefix = `${groupId}-process/`
    this.#producer = new TransactionalProducer({ ...options, transactionalId: this.#prefix + process })
    this.#progress = new RequestBatcher(tps => this.#readBehindBarrier(tps))
    this.#hanging = new RequestBatcher(tps => this.#endHangingTransactions(tps))
  }

  /** @throws Error when the brokers do not fence members of old generations */
  proveFencing(tp: TopicPartition): Promise<void> {
    return this.#producer.proveFencing(tp).catch(error => {
      if (error?.type !== 'TRANSACTIONAL_ID_AUTHORIZATION_FAILED') throw error
      const { groupId } = this.#options
      throw new Error(
        `${error.message}. Grant this client the rights Describe and Write on transactional ids that begin with ${groupId}-.`,
        { cause: error },
      )
    })
  }

  commit(parts: readonly Part[]): Promise<void> {
    const member = this.#committing(this.#options.member.synced) // a decision belongs to its generation
    const records = parts.flatMap(part => part.records)
    return this.#producer.commit({ records, offsets: parts, member })
  }

  /**
   * Takes the partition over, batched with other take-overs.
   * @throws Error when this process is no member of the group's current generation
   */
  async acquire(tp: TopicPartition): Promise<Acquired> {
    const { brokers, clock, logs } = this.#options
    const started = clock.monotonic()
    let areEnded = false
    for (;;) {
      const progress = await this.#progress.get(tp)
      const { committed, error } = progress
      const waitedMs = clock.monotonic() - started
      if (error && !isUnstable(progress)) throw error
      if (!error) {
        const [ends, topicId] = [await logs.ends(tp), brokers.topicId(tp.topic)]
        return { committed, ...ends, topicId, lacksCommit: waitedMs > settlesWithinMs }
      }
      if (waitedMs > 2 * unstableForMs) throw error
      if (waitedMs > unstableForMs && !areEnded) {
        await this.#hanging.get(tp)
        areEnded = true
      } else await sleep(clock, askAgainMs)
    }
  }

  /**
   * A broker that stops can lose the end of a transaction in the offsets topic (seen with Kafka 4.3.0 on one node). If that
   * process dies before its next commit, the partitions stay unstable for ever.
   */
  async #endHangingTransactions(tps: readonly TopicPartition[]): Promise<readonly undefined[]> {
    const { telemetry, member } = this.#options
    const dead = await this.#dead('known')
    for (const id of dead) await this.#producer.endHangingOf(id, tps[0]!, this.#committing(member.synced))
    const ended = tps.map(() => undefined)
    if (dead.length === 0) return ended
    const names = tps.map(placeName).join(', ')
    const message =
      `a broker lost the end of a transaction that committed offsets of ${names}: the offsets are discarded, and commands ` +
      'whose request began last may be sent again'
    telemetry.emit('bus.log', { level: 'warn', message })
    return ended
  }

  /** Listed transactional ids of dead processes. Only a member knows which processes are dead: others get none. */
  async #dead(which: 'open' | 'known'): Promise<string[]> {
    const { process, member } = this.#options
    if (!member.isMember) return []
    const ids = await this.#producer.ids(this.#prefix, which)
    const { processes: living } = member
    return ids.filter(id => {
      const name = id.slice(this.#prefix.length)
      return name !== process && !name.includes('/') && !living.includes(name)
    })
  }

  /**
   * Reads committed offsets after an aborted write by this process. A newly elected coordinator answers with older offsets
   * than were confirmed until it confirms a write itself (seen with Kafka 4.3.0). The read waits for the aborted write too,
   * which would otherwise make its partition unstable.
   */
  async #readBehindBarrier(tps: readonly TopicPartition[]): Promise<readonly GroupProgress[]> {
    const { brokers, groupId, clock, member } = this.#options
    const dead = await this.#dead('open') // their transactions block readers and new owners
    await Promise.all(dead.map(id => this.#producer.abortTransactionOf(id)))
    await this.#producer.barrierWrite(tps, () => this.#committing(member.synced))
    return untilSettled(() => committedOffsets(brokers, groupId, tps), clock)
  }

  #committing({ memberId, generation }: MemberOf): CommittingMember {
    return { memberId, generation, instanceId: this.#options.instanceId ?? null }
  }
}
