import { type Clock, limited } from '../../clock.ts'
import type { Compression } from '../batches/codecs.ts'
import { listTransactions } from '../cluster/apis.ts'
import type { Brokers } from '../cluster/brokers.ts'
import { isTransient, type ProtocolError } from '../cluster/errors.ts'
import { askWithRetries, RetryBudget } from '../cluster/retry-budget.ts'
import type { OutgoingRecord, TopicPartition } from '../port.ts'
import type { RecordLimits } from '../record-limits.ts'
import { Chunker } from '../write/chunks.ts'
import { initialiseProducer, type Producer } from '../write/producer.ts'
import { committedOffsets, isUnstable, untilSettled } from './committed-offsets.ts'
import { ProducerTurns } from './producer-turns.ts'
import { type CommittedOffset, type CommittingMember, Transaction, type TransactionContent } from './transaction.ts'

export interface TransactionalProducerOptions {
  brokers: Pick<Brokers, 'ask' | 'leader' | 'refresh' | 'partitions' | 'nodes'>
  clock: Clock
  /** A producer that initialises the same id later fences this one. */
  transactionalId: string
  groupId: string
  compression: Compression
  limits: RecordLimits
}

export interface Commit extends Omit<TransactionContent, 'chunks'> {
  records: readonly OutgoingRecord[]
}

/** Longest pause between checks of committed offsets. */
const longestPauseMs = 50
const listMs = 1000

type OpenState = 'Ongoing' | 'PrepareCommit' | 'PrepareAbort' | 'PrepareEpochFence'
const openStates: OpenState[] = ['Ongoing', 'PrepareCommit', 'PrepareAbort', 'PrepareEpochFence']

/** A generation that no group reaches. */
const strayMember: CommittingMember = { memberId: 'busgate-fencing-check', generation: 0x7fff_fffe, instanceId: null }
const fences = new Set(['ILLEGAL_GENERATION', 'UNKNOWN_MEMBER_ID', 'FENCED_INSTANCE_ID'])
const epochIsOver = new Set(['INVALID_PRODUCER_EPOCH', 'PRODUCER_FENCED'])
/** More than the number of rebalances possible between two attempts. */
const mostProofs = 10
const isOneOf = (types: ReadonlySet<string>, error: unknown) => types.has((error as ProtocolError).type)

/**
 * Commits records and offsets in consecutive transactions, initialised again after each that failed. Whether a failed one was
 * committed is then read from the group's stable offsets, never derived from the error.
 */
export class TransactionalProducer {
  readonly #options: TransactionalProducerOptions
  readonly #chunker: Chunker
  readonly #turns: ProducerTurns<Producer>
  /** The last producer of which a commit was read back from the coordinator. */
  #found: Producer | null = null

  constructor(options: TransactionalProducerOptions) {
    this.#options = options
    this.#chunker = new Chunker(options.brokers, options.limits)
    this.#turns = new ProducerTurns(() => this.#initialise(options.transactionalId))
  }

  /**
   * Runs one transaction. Begin the next one some 3 ms later: until the broker has completed this one, it answers
   * CONCURRENT_TRANSACTIONS.
   * @throws Error; if a record was too large, `RecordLimits` shortens it next time
   */
  commit(commit: Commit): Promise<void> {
    return this.#turns.take(async producer => {
      await this.#commit(producer, commit)
      if (this.#found !== producer) await this.#find(producer, commit)
      this.#found = producer
    })
  }

  #commit(producer: Producer, { records, ...content }: Commit): Promise<void> {
    return this.#options.limits.produce(records, async fitting => {
      const chunks = await this.#chunker.chunks(fitting)
      await new Transaction({ ...this.#options, producer }).run({ ...content, chunks }, true)
    })
  }

  /**
   * Verifies that the coordinator has the committed offsets, and commits missing ones again. Before Kafka 4.0, coordinators
   * track pending offsets by producer and not by epoch, so a late request of a fenced producer makes them forget the offsets
   * of a confirmed transaction (seen with 3.9.1, in 286 of 300 attempts). Without such a request nothing is missing. They
   * arrive within some seconds, so the number of attempts is limited by time alone.
   */
  async #find(producer: Producer, { offsets, member }: Commit): Promise<void> {
    const { clock, groupId } = this.#options
    const retries = new RetryBudget(clock)
    for (let tries = 0; ; tries++) {
      const missing = await missingProgress({ ...this.#options, retries }, offsets)
      if (missing.length === 0) return
      if (!(await retries.pause(tries, longestPauseMs)))
        throw new Error(`group ${groupId} lost the offsets that its coordinator confirmed`)
      await this.#commit(producer, { records: [], offsets: missing, member })
    }
  }

  /**
   * Commits an offset and aborts it. Until its first own write, a newly elected coordinator may answer with older offsets
   * than were confirmed. Waits for the last commit to settle, because coordinators before Kafka 4.0 confirm a commit before
   * they apply it.
   * @param member called once it has settled: the group may have a new generation by then
   */
  barrierWrite(tps: readonly TopicPartition[], member: () => CommittingMember): Promise<void> {
    const { brokers, groupId, clock } = this.#options
    return this.#turns.take(async producer => {
      await untilSettled(() => committedOffsets(brokers, groupId, tps), clock)
      await this.#abortedWrite(producer, tps[0]!, member())
    })
  }

  /** @throws Error when the brokers accept commits of old generations, so that two workers could own a partition */
  async proveFencing(tp: TopicPartition): Promise<void> {
    for (let proofs = 1; ; proofs++) {
      const written = this.#turns.take(producer => this.#abortedWrite(producer, tp, strayMember))
      const refusal = await written.then(
        () => null,
        error => error,
      )
      if (refusal === null) throw this.#unfenced()
      if (isOneOf(fences, refusal)) return
      // members that take partitions over abort the transactions of non-members, such as this process now
      if (!isOneOf(epochIsOver, refusal) || proofs === mostProofs) throw refusal
    }
  }

  #unfenced(): Error {
    return new Error(
      `the brokers do not check the generation of group ${this.#options.groupId} when a transaction commits ` +
        'offsets (KIP-447), so two workers could send the same command: use Apache Kafka 3.0 or newer',
    )
  }

  /** Aborts the open transaction of that id and fences its process. */
  async abortTransactionOf(transactionalId: string): Promise<void> {
    await this.#initialise(transactionalId)
  }

  /**
   * Discards offsets that a finished transaction of that id left pending, and fences its process. The end of this id's next
   * transaction is the only way.
   */
  async endHangingOf(transactionalId: string, tp: TopicPartition, member: CommittingMember): Promise<void> {
    await this.#abortedWrite(await this.#initialise(transactionalId), tp, member, transactionalId)
  }

  /** Transactional ids with this prefix, from the brokers that answer; with an open transaction, or all that are known. */
  async ids(prefix: string, which: 'open' | 'known'): Promise<string[]> {
    const { brokers, clock } = this.#options
    const states = which === 'open' ? openStates : []
    const ofNode = async (node: number) => {
      const listed = brokers.ask({ node }, listTransactions, [states, [], -1n, null])
      const { transactionStates } = await limited(clock, listMs, listed) // including the time to connect
      return transactionStates.map(({ transactionalId }) => transactionalId)
    }
    await brokers.refresh()
    const lists = await Promise.allSettled(brokers.nodes().map(ofNode))
    return lists.flatMap(list => (list.status === 'fulfilled' ? list.value.filter(id => id.startsWith(prefix)) : []))
  }

  /** Fences the previous producer of this id and aborts its open transaction. */
  #initialise(transactionalId: string): Promise<Producer> {
    const { brokers, clock } = this.#options
    return initialiseProducer(brokers, transactionalId, new RetryBudget(clock))
  }

  #abortedWrite(
    producer: Producer,
    tp: TopicPartition,
    member: CommittingMember,
    transactionalId = this.#options.transactionalId,
  ): Promise<void> {
    const content = { chunks: [], offsets: [{ ...tp, offset: 0, metadata: '' }], member }
    return new Transaction({ ...this.#options, transactionalId, producer }).run(content, false)
  }
}

/** The offsets that the coordinator lacks, once no open transaction can change them. */
async function missingProgress(
  { brokers, groupId, retries }: Pick<TransactionalProducerOptions, 'brokers' | 'groupId'> & { retries: RetryBudget },
  offsets: readonly CommittedOffset[],
): Promise<readonly CommittedOffset[]> {
  const patient: Pick<Brokers, 'ask'> = {
    ask: (target, api, request) => askWithRetries({ brokers, target, retries, isRetryable: isTransient }, api, request),
  }
  for (let tries = 0; ; tries++) {
    const progress = await committedOffsets(patient, groupId, offsets)
    const refused = progress.find(({ error }) => error)
    if (!refused) {
      return offsets.filter(({ offset, metadata }, i) => {
        const { committed } = progress[i]!
        return committed?.offset !== offset || (committed.metadata ?? '') !== metadata
      })
    }
    if (!isUnstable(refused) || !(await retries.pause(tries, longestPauseMs))) throw refused.error
  }
}
