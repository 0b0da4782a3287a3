import { type Clock, sleep } from '../../clock.ts'
import type { Compression } from '../batches/codecs.ts'
import { Gathered } from '../gathered.ts'
import type { TopicPartition } from '../port.ts'
import type { RecordLimits } from '../record-limits.ts'
import { Claims } from '../session/claims.ts'
import type { Acquired, Committed, Part, PartitionDriver, SharedCommits } from '../session/driver.ts'
import type { GroupMember, MemberOf } from '../session/member.ts'
import type { Brokers } from '../wire/brokers.ts'
import type { CommittingMember } from '../wire/transaction-apis.ts'
import { TransactionalProducer } from '../wire/transactional-producer.ts'
import { type GroupProgress, isUnstable, untilSettled } from './committed-offsets.ts'
import type { Logs } from './logs.ts'

export interface KafkaSharedCommitsOptions {
  brokers: Brokers
  logs: Pick<Logs, 'ends' | 'committed'>
  clock: Clock
  groupId: string
  /** Names this process, to all that come after it too. */
  process: string
  instanceId?: string | undefined
  member: () => Pick<GroupMember, 'synced' | 'processes' | 'breaks'>
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
  readonly #claims: Claims
  readonly #progress: Gathered<TopicPartition, GroupProgress>
  #ready: Promise<void> | null = null
  #last: Promise<unknown> = Promise.resolve()

  constructor(options: KafkaSharedCommitsOptions) {
    const { groupId, process, member } = options
    this.#options = options
    this.#prefix = `${groupId}-process/`
    this.#producer = new TransactionalProducer({ ...options, transactionalId: this.#prefix + process })
    this.#claims = new Claims(process, member)
    this.#progress = new Gathered(tps => this.#readBehindWrite(tps))
  }

  /** @throws Error when the brokers do not fence members of generations that are over */
  prove(tp: TopicPartition): Promise<void> {
    return this.#inTurn(async () => {
      await this.#initialised()
      await this.#producer.proveFencing(tp)
    }).catch(error => {
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
    return this.#inTurn(async () => {
      await this.#initialised()
      await this.#producer.commit({ records: parts.flatMap(({ records }) => records), offsets: parts, member })
    })
  }

  async committed(tps: readonly TopicPartition[]): Promise<readonly (Committed | null)[]> {
    return (await this.#ask(tps)).map(settled)
  }

  /** Takes the partition over, together with all others that are taken over now. */
  acquire(tp: TopicPartition): Promise<Acquired> {
    const apart = this.#producerOf(tp)
    return this.#claims.acquire(tp, {
      read: () => this.#read(tp),
      fenceAndRead: async () => {
        await apart.init()
        return this.#read(tp)
      },
      commit: (offset, metadata, of) =>
        apart.commit({ records: [], offsets: [{ ...tp, offset, metadata }], member: this.#committing(of) }),
    })
  }

  /**
   * Commits for one epoch of a partition that commits by itself: fenced by that epoch, whatever the group knows of this
   * process.
   */
  apart(tp: TopicPartition): Pick<PartitionDriver, 'acquire' | 'commit'> {
    const { clock } = this.#options
    const producer = this.#producerOf(tp)
    this.#claims.forget(tp)
    const ask = () => this.#ask([tp])
    return {
      acquire: async () => {
        await this.#last // it may hold a part of the session that the partition had before
        await this.#initialised()
        await producer.init()
        await this.bury()
        await untilSettled(ask, clock)
        await producer.probe(tp)
        return this.#whenStable(tp, async () => (await ask())[0]!)
      },
      commit: (records, offset, metadata) =>
        producer.commit({ records, offsets: [{ ...tp, offset, metadata }], member: null }),
    }
  }

  /** Ends the transactions of processes that are no members any more: others would wait for what they hold. */
  async bury(): Promise<void> {
    const { process, member } = this.#options
    const living = member().processes
    if (!living) return
    const open = await this.#producer.ongoing(this.#prefix)
    const dead = open.filter(id => {
      const name = id.slice(this.#prefix.length)
      return name !== process && !name.includes('/') && !living.includes(name)
    })
    await Promise.all(dead.map(id => this.#producer.bury(id)))
  }

  #producerOf({ topic, partition }: TopicPartition): TransactionalProducer {
    const transactionalId = `${this.#options.groupId}-${topic}-${partition}`
    return new TransactionalProducer({ ...this.#options, transactionalId })
  }

  #read(tp: TopicPartition): Promise<Acquired> {
    return this.#whenStable(tp, () => this.#progress.get(tp))
  }

  async #whenStable(tp: TopicPartition, ask: () => Promise<GroupProgress>): Promise<Acquired> {
    const { clock, logs } = this.#options
    const started = clock.monotonic()
    for (;;) {
      const progress = await ask()
      if (!isUnstable(progress)) {
        const { low, high } = await logs.ends(tp)
        return { committed: settled(progress), low, high }
      }
      if (clock.monotonic() - started > unstableForMs) throw progress.error
      await sleep(clock, askAgainMs)
    }
  }

  /**
   * Reads behind a write of this process, which is taken back: a coordinator that has just begun answers with older
   * offsets than were confirmed, until the first write that is confirmed to it (seen with Kafka 4.3.0).
   */
  async #readBehindWrite(tps: readonly TopicPartition[]): Promise<readonly GroupProgress[]> {
    const { clock, member } = this.#options
    const ask = () => this.#ask(tps)
    await this.bury()
    await this.#inTurn(async () => {
      await this.#initialised()
      await untilSettled(ask, clock)
      await this.#producer.probe(tps[0]!, this.#committing(member().synced))
    })
    return ask()
  }

  #ask(tps: readonly TopicPartition[]): Promise<GroupProgress[]> {
    const { logs, groupId } = this.#options
    return logs.committed(groupId, tps)
  }

  #committing({ memberId, generation }: MemberOf): CommittingMember {
    return { memberId, generation, instanceId: this.#options.instanceId ?? null }
  }

  /** One transaction at a time. After one that failed the next producer begins at once: others wait for what it holds. */
  #inTurn(work: () => Promise<void>): Promise<void> {
    const done = this.#last.then(work)
    this.#last = done.catch(() => {
      this.#ready = null
      void this.#initialised().catch(() => {})
    })
    return done
  }

  #initialised(): Promise<void> {
    if (this.#ready !== null) return this.#ready
    const ready = this.#producer.init()
    this.#ready = ready
    ready.catch(() => {
      if (this.#ready === ready) this.#ready = null
    })
    return ready
  }
}

/** @throws what the coordinator says of the partition */
function settled({ committed, error }: GroupProgress): Committed | null {
  if (error) throw error
  return committed
}
