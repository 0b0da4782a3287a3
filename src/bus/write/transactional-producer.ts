import { type Clock, limited } from '../../clock.ts'
import type { Compression } from '../batches/codecs.ts'
import { listTransactions } from '../cluster/apis.ts'
import type { Brokers } from '../cluster/brokers.ts'
import { committedOffsets, isUnstable } from '../cluster/committed-offsets.ts'
import { ProtocolError, passes } from '../cluster/errors.ts'
import { askPatiently, Patience } from '../cluster/patience.ts'
import type { OutgoingRecord, TopicPartition } from '../port.ts'
import type { RecordLimits } from '../record-limits.ts'
import { Chunker } from './chunks.ts'
import { initialiseProducer, type Producer } from './producer.ts'
import { type CommittedOffset, type CommittingMember, Transaction } from './transaction.ts'

export interface TransactionalProducerOptions {
  brokers: Pick<Brokers, 'ask' | 'leader' | 'refresh' | 'partitions' | 'nodes'>
  clock: Clock
  /** Whoever initialises the same one later takes over from this producer. */
  transactionalId: string
  /** The progress that is committed is this group's. */
  groupId: string
  compression: Compression
  limits: RecordLimits
}

export interface Commit {
  records: readonly OutgoingRecord[]
  /** Offsets to commit, at least one: a transaction in which nothing was written cannot be ended everywhere. */
  offsets: readonly CommittedOffset[]
  /** Progress of an older generation than the group's is refused, and the records with it. */
  member: CommittingMember
}

/** The longest pause until it is asked again whether progress is there. */
const longestPauseMs = 50
/** Late requests of the fenced come within some seconds, and not one after the other for ever. */
const mostTries = 20
/** How long one broker may take to list its transactions; the others are not waited for any longer. */
const listMs = 1000

type OpenState = 'Ongoing' | 'PrepareCommit' | 'PrepareAbort' | 'PrepareEpochFence'
const openStates: OpenState[] = ['Ongoing', 'PrepareCommit', 'PrepareAbort', 'PrepareEpochFence']

/** A generation that no group comes to. */
const strayMember: CommittingMember = { memberId: 'busgate-fencing-check', generation: 2 ** 31 - 2, instanceId: null }
const fences = new Set(['ILLEGAL_GENERATION', 'UNKNOWN_MEMBER_ID', 'FENCED_INSTANCE_ID'])
const epochIsOver = new Set(['INVALID_PRODUCER_EPOCH', 'PRODUCER_FENCED'])
/** More rebalances than there can be between two of its tries. */
const mostProofs = 10
const isOneOf = (types: ReadonlySet<string>, error: unknown) => error instanceof ProtocolError && types.has(error.type)

/**
 * Commits records and progress in one transaction after the other. Whatever fails ends its use until `init` begins anew:
 * whether a transaction was committed is told by the group's stable offsets then, never by the error.
 */
export class TransactionalProducer {
  readonly #options: TransactionalProducerOptions
  readonly #chunker: Chunker
  /** Null: `init` comes first. */
  #producer: Producer | null = null
  /** Whether progress that it committed since it was initialised was found with the group. */
  #found = false
  /** How often it was initialised: what a commit of an earlier life says does not count. */
  #lives = 0

  constructor(options: TransactionalProducerOptions) {
    this.#options = options
    this.#chunker = new Chunker(options.brokers, options.limits)
  }

  /** Fences whoever had this id, and ends the transaction that it left open. */
  async init(): Promise<void> {
    this.#producer = null
    this.#found = false
    const life = ++this.#lives
    const { brokers, clock, transactionalId } = this.#options
    const producer = await initialiseProducer(brokers, transactionalId, new Patience(clock))
    if (life === this.#lives) this.#producer = producer
  }

  /**
   * One transaction. Begin the next one some 3 ms later: the broker still ends this one, and asks for patience.
   * @throws Error and cannot be used any more; when a record was too large, `RecordLimits` will have it shorter next time
   */
  async commit(commit: Commit): Promise<void> {
    await this.#commit(commit)
    if (!this.#found) await this.#find(commit)
  }

  async #commit({ records, offsets, member }: Commit): Promise<void> {
    await this.#use(producer =>
      this.#options.limits.produce(records, async fitting => {
        const chunks = await this.#chunker.chunks(fitting)
        const transaction = this.#transaction(producer)
        await transaction.begin(chunks.flat(), offsets.length > 0)
        await transaction.write(chunks, offsets, member)
        await transaction.end(true)
      }),
    )
  }

  async #find({ offsets, member }: Commit): Promise<void> {
    const { brokers, clock, groupId } = this.#options
    const patience = new Patience(clock)
    const life = this.#lives
    await keepProgress(
      groupId,
      () => missingProgress({ brokers, groupId, patience }, offsets),
      missing => this.#commit({ records: [], offsets: missing, member }),
    )
    if (life === this.#lives) this.#found = true
  }

  /**
   * Writes progress and takes it back. A coordinator that has just begun tells of older progress than was confirmed, until
   * the first write that it confirms itself.
   */
  async barrierWrite(tp: TopicPartition, member: CommittingMember): Promise<void> {
    await this.#use(async producer => {
      const transaction = this.#transaction(producer)
      await transaction.begin([], true)
      await transaction.write([], [{ ...tp, offset: 0, metadata: '' }], member)
      await transaction.end(false)
    })
  }

  /** @throws Error when the brokers let members of generations that are over commit: then none may be trusted to be alone */
  async proveFencing(tp: TopicPartition): Promise<void> {
    for (let proofs = 1; ; proofs++) {
      const refusal = await this.barrierWrite(tp, strayMember).then(
        () => null,
        error => error,
      )
      if (refusal === null) throw this.#unfenced()
      await this.init()
      if (isOneOf(fences, refusal)) return
      // members that take partitions over end the transactions of whoever is no member, as this process is none yet
      if (!isOneOf(epochIsOver, refusal) || proofs === mostProofs) throw refusal
    }
  }

  #unfenced(): Error {
    return new Error(
      `the brokers do not check the generation of group ${this.#options.groupId} when a transaction commits ` +
        'offsets (KIP-447), so two workers could send the same command: use Apache Kafka 3.0 or newer',
    )
  }

  /** Aborts the open transaction of that id, and fences the process that has it. */
  async abortTransactionOf(transactionalId: string): Promise<void> {
    const { brokers, clock } = this.#options
    await initialiseProducer(brokers, transactionalId, new Patience(clock))
  }

  /** Ids with this prefix whose transactions are open now, as far as brokers tell. */
  async ongoing(prefix: string): Promise<string[]> {
    const { brokers, clock } = this.#options
    const ofNode = async (node: number) => {
      const listed = brokers.ask({ node }, listTransactions, [openStates, [], -1n, null])
      const { transactionStates } = await limited(clock, listMs, listed) // with the time to connect
      return transactionStates.map(({ transactionalId }) => transactionalId)
    }
    await brokers.refresh()
    const lists = await Promise.allSettled(brokers.nodes().map(ofNode))
    return lists.flatMap(list => (list.status === 'fulfilled' ? list.value.filter(id => id.startsWith(prefix)) : []))
  }

  async #use(work: (producer: Producer) => Promise<void>): Promise<void> {
    const producer = this.#producer
    const life = this.#lives
    if (!producer) {
      throw new Error(
        `${this.#options.transactionalId}: a transaction is open, or one has failed since the producer was initialised`,
      )
    }
    this.#producer = null
    await work(producer)
    if (life === this.#lives) this.#producer = producer
  }

  #transaction(producer: Producer): Transaction {
    return new Transaction({ ...this.#options, producer, patience: new Patience(this.#options.clock) })
  }
}

/**
 * Makes sure that the coordinator has what was committed. Those before Kafka 4.0 keep what open transactions are to change
 * by producer and not by epoch, so that a late request of whoever was fenced takes it away, and the progress of a
 * transaction whose end was confirmed is forgotten (seen with 3.9.1, in 286 of 300 tries). Without a late request nothing
 * is found missing.
 * @param missing asks what the coordinator does not have, once no open transaction is about to change it
 */
async function keepProgress<T>(
  groupId: string,
  missing: () => Promise<readonly T[]>,
  commitAgain: (offsets: readonly T[]) => Promise<void>,
): Promise<void> {
  for (let tries = 0; ; tries++) {
    const offsets = await missing()
    if (offsets.length === 0) return
    if (tries === mostTries) {
      throw new Error(`group ${groupId} lost the offsets that its coordinator confirmed`)
    }
    await commitAgain(offsets)
  }
}

/** Tells which of these the group's coordinator does not have, once no open transaction is about to change them. */
async function missingProgress(
  { brokers, groupId, patience }: { brokers: Pick<Brokers, 'ask'>; groupId: string; patience: Patience },
  offsets: readonly CommittedOffset[],
): Promise<readonly CommittedOffset[]> {
  const patient: Pick<Brokers, 'ask'> = {
    ask: (target, api, request) => askPatiently({ brokers, target, patience, mayPass: passes }, api, request),
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
    if (!isUnstable(refused) || !(await patience.pause(tries, longestPauseMs))) throw refused.error
  }
}
