import type { ProducerIdentity } from '../batches/encode-batch.ts'
import type { TopicPartition } from '../port.ts'
import { type Api, type ApiDefinition, defineApi } from './api.ts'
import type { WireReader, WireWriter } from './fields.ts'
import { type BrokerAnswer, byTopic, readPartitionCodes, refusalIn, writePartitions } from './partition-codes.ts'

/** Owned names the producer whose transaction a request is about. */
export interface Owned extends ProducerIdentity {
  transactionalId: string
}

/** A member of the group, as of one generation (KIP-447). */
export interface CommittingMember {
  memberId: string
  generation: number
  instanceId: string | null
}

export interface CommittedOffset extends TopicPartition {
  offset: number
  metadata: string
}

export interface OffsetsRequest extends Owned {
  groupId: string
  member: CommittingMember
  offsets: readonly CommittedOffset[]
}

export interface InitProducerIdRequest {
  /** Null: it has no transactions. */
  transactionalId: string | null
  transactionTimeoutMs: number
  /** Goes on as another epoch, but only if nobody has come since (KIP-360). */
  from: ProducerIdentity | null
}

const nobody: ProducerIdentity = { producerId: -1n, epoch: -1 }

export const initProducerId = defineApi<InitProducerIdRequest, BrokerAnswer & ProducerIdentity>({
  name: 'InitProducerId',
  key: 22,
  versions: [3, 5],
  flexible: 2,
  write(to, { transactionalId, transactionTimeoutMs, from }) {
    const { producerId, epoch } = from ?? nobody
    to.string(transactionalId).int32(transactionTimeoutMs).int64(producerId).int16(epoch)
  },
  read: from => ({ errorCode: codeOf(from), producerId: from.bigint(), epoch: from.int16() }),
})

/** All of the partitions are added, or none. */
export const addPartitionsToTxn = defineApi<Owned & { partitions: readonly TopicPartition[] }, BrokerAnswer>({
  name: 'AddPartitionsToTxn',
  key: 24,
  versions: [3, 3],
  flexible: 3,
  write(to, { partitions, ...owned }) {
    writePartitions(writeOwned(to, owned), partitions)
  },
  read: from => refusalIn(readPartitionCodes(from)),
})

export const addOffsetsToTxn = defineApi<Owned & { groupId: string }, BrokerAnswer>({
  name: 'AddOffsetsToTxn',
  key: 25,
  versions: [3, 4],
  flexible: 3,
  write: (to, { groupId, ...owned }) => void writeOwned(to, owned).string(groupId),
  read: from => ({ errorCode: codeOf(from) }),
})

const offsetCommit: Omit<ApiDefinition<OffsetsRequest, BrokerAnswer>, 'versions'> = {
  name: 'TxnOffsetCommit',
  key: 28,
  flexible: 3,
  write(to, { transactionalId, groupId, producerId, epoch, member, offsets }) {
    to.string(transactionalId).string(groupId).int64(producerId).int16(epoch)
    to.int32(member.generation).string(member.memberId).string(member.instanceId)
    to.array([...byTopic(offsets)], ([topic, ofTopic]) => {
      to.string(topic).array(ofTopic, ({ partition, offset, metadata }) => {
        to.int32(partition).int64(offset).int32(-1).string(metadata) // the leader's epoch is not told
      })
    })
  },
  read: from => refusalIn(readPartitionCodes(from)),
}

/** The group has to be added to the transaction before. Some offset refused is an error of the whole. */
export const txnOffsetCommit: Api<OffsetsRequest, BrokerAnswer> = defineApi({ ...offsetCommit, versions: [3, 4] })
/** The group is added to the transaction by itself (KIP-890). */
export const txnOffsetCommitImplicitly: Api<OffsetsRequest, BrokerAnswer> = defineApi({
  ...offsetCommit,
  versions: [5, 5],
})

const end = {
  name: 'EndTxn',
  key: 26,
  flexible: 3,
  write: (to: WireWriter, { committed, ...owned }: Owned & { committed: boolean }) =>
    void writeOwned(to, owned).boolean(committed),
}

export const endTxn = defineApi<Owned & { committed: boolean }, BrokerAnswer>({
  ...end,
  versions: [3, 4],
  read: from => ({ errorCode: codeOf(from) }),
})

/** Answers with the producer's identity in the next transaction (KIP-890). */
export const endTxnImplicitly = defineApi<Owned & { committed: boolean }, BrokerAnswer & ProducerIdentity>({
  ...end,
  versions: [5, 5],
  read: from => ({ errorCode: codeOf(from), producerId: from.bigint(), epoch: from.int16() }),
})

/** Transactions that the broker coordinates: in one of the states, and of one of the producers, if any are named. */
export const listTransactions = defineApi<
  { states: readonly string[]; producerIds?: readonly bigint[] },
  BrokerAnswer & { transactions: { transactionalId: string; producerId: bigint; state: string }[] }
>({
  name: 'ListTransactions',
  key: 66,
  versions: [0, 0],
  flexible: 0,
  write(to, { states, producerIds = [] }) {
    to.values(states, state => void to.string(state)).values(producerIds, id => void to.int64(id))
  },
  read(from) {
    const errorCode = codeOf(from)
    from.values(() => from.string()) // states that the broker does not know
    const transactions = from.array(() => {
      return { transactionalId: from.string(), producerId: from.bigint(), state: from.string() }
    })
    return { errorCode, transactions }
  },
})

/** The producers that have written to a partition lately. */
export const describeProducers = defineApi<
  TopicPartition,
  BrokerAnswer & { producers: { producerId: bigint; startOffset: number }[] }
>({
  name: 'DescribeProducers',
  key: 61,
  versions: [0, 0],
  flexible: 0,
  write(to, { topic, partition }) {
    to.array([topic], () => void to.string(topic).values([partition], one => void to.int32(one)))
  },
  read(from) {
    from.skip(4) // throttle time
    const [answer] = from
      .array(() => {
        from.string() // topic
        return from.array(() => {
          from.skip(4) // partition
          const head = { errorCode: from.int16(), errorMessage: from.nullableString() ?? '' }
          const producers = from.array(() => {
            const producerId = from.bigint()
            from.skip(4 + 4 + 8 + 4) // epoch, last sequence, last timestamp, epoch of the coordinator
            return { producerId, startOffset: from.int64() } // -1: no transaction of it is open
          })
          return { ...head, producers }
        })
      })
      .flat()
    return answer!
  },
})

function writeOwned(to: WireWriter, { transactionalId, producerId, epoch }: Owned): WireWriter {
  return to.string(transactionalId).int64(producerId).int16(epoch)
}

/** The code at an answer's top, behind the throttle time. */
const codeOf = (from: WireReader) => from.skip(4).int16()
