import type { Clock } from '../../clock.ts'
import type { TopicPartition } from '../port.ts'
import type { RecordLimits } from '../record-limits.ts'
import type { Acquired, Part } from '../session/driver.ts'
import type { GroupMember, MemberOf } from '../session/member.ts'
import { ProducerTurns } from '../session/producer-turns.ts'
import type { MemoryBroker, ProducerEpoch } from './broker.ts'
import type { MemoryGroup } from './group.ts'

export interface MemorySharedCommitsOptions {
  broker: MemoryBroker
  groupId: string
  group: MemoryGroup
  member: GroupMember
  tag: string
  limits: RecordLimits
  clock: Clock
  /** Runs one step at the broker, across the simulated network. */
  atBroker: <T>(step: string, act: () => T) => Promise<T>
}

/** One transactional producer for all partitions of a process, like the Kafka adapter's. */
export class MemorySharedCommits {
  readonly #options: MemorySharedCommitsOptions
  readonly #turns: ProducerTurns<ProducerEpoch>

  constructor(options: MemorySharedCommitsOptions) {
    const { broker, groupId, tag, atBroker } = options
    this.#options = options
    const id = `${groupId}-process/${tag}`
    this.#turns = new ProducerTurns(() => atBroker(`acquire ${id}`, () => ({ id, epoch: broker.fence(id) })))
  }

  commit(parts: readonly Part[]): Promise<void> {
    const { synced } = this.#options.member // a decision belongs to its generation
    return this.#turns.take(producer => this.#commit(producer, parts, synced))
  }

  async #commit(producer: ProducerEpoch, parts: readonly Part[], of: MemberOf): Promise<void> {
    const { broker, groupId, group, limits, clock, atBroker } = this.#options
    const name = parts.map(nameOf).join(' ')
    const wanted = parts.flatMap(part => part.records)
    await limits.produce(wanted, records =>
      atBroker(`commit ${name}`, () => {
        group.checkCommit(of)
        broker.write(producer, { groupId, records, offsets: parts }, clock.now())
      }),
    )
    await atBroker(`commit end ${name}`, () => broker.endTransaction(producer))
  }

  /** Reads the committed offset, which no transaction can change any more. */
  async acquire(tp: TopicPartition): Promise<Acquired> {
    const { broker, groupId, group, member, atBroker } = this.#options
    const { synced } = member
    await this.#turns.take(async () => {}) // a commit in flight may belong to the partition's previous session
    return atBroker(`acquire ${nameOf(tp)}`, () => {
      group.checkCommit(synced)
      broker.abort(groupId, tp)
      return { committed: broker.committed(groupId, tp), low: broker.start(tp), high: broker.end(tp) }
    })
  }
}

const nameOf = ({ topic, partition }: TopicPartition) => `${topic}/${partition}`
