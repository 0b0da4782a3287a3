import { type Decoder, errorOf, type Node, request } from './wire.ts'

/** What an account may do with a topic or a group, as far as it matters here. */
export type Right = 'READ' | 'WRITE' | 'DESCRIBE' | 'DESCRIBE_CONFIGS'

/** Bits of `authorized_operations`: the codes of org.apache.kafka.common.acl.AclOperation. */
const bits: Record<Right, number> = { READ: 3, WRITE: 4, DESCRIBE: 8, DESCRIBE_CONFIGS: 10 }

export interface TopicAnswer {
  topic: string
  /** 0: it is there; 3: it is not; 29: this account may not see it. */
  errorCode: number
  partitions: { leader: number; replicas: number; inSync: number }[]
  rights: Set<Right>
}

export interface ClusterAnswer {
  nodes: { id: number; host: string; port: number }[]
  topics: TopicAnswer[]
}

const metadata = { key: 3, version: 8, name: 'Metadata' }

/** Version 8 tells the rights; kafkajs stops at 6. Creates nothing. @throws Error for brokers before 2.3 */
export async function describeTopics(node: Node, topics: readonly string[]): Promise<ClusterAnswer> {
  const { maxVersion = 0 } = node.versions[metadata.key] ?? {}
  if (maxVersion < metadata.version) throw new Error('the brokers are older than Apache Kafka 2.3')
  return node.connectionPool.send(
    request(
      metadata,
      encoder => encoder.writeArray(topics).writeBoolean(false).writeBoolean(false).writeBoolean(true),
      readCluster,
    ),
  )
}

function readCluster(decoder: Decoder): ClusterAnswer {
  decoder.readInt32() // throttle time
  const nodes = decoder.readArray(each => {
    const node = { id: each.readInt32(), host: each.readString(), port: each.readInt32() }
    each.readString() // rack
    return node
  })
  decoder.readString() // cluster id
  decoder.readInt32() // controller
  return { nodes, topics: decoder.readArray(readTopic) }
}

function readTopic(decoder: Decoder): TopicAnswer {
  const errorCode = decoder.readInt16()
  const topic = decoder.readString()
  decoder.readBoolean() // internal
  const partitions = decoder.readArray(each => {
    each.readInt16() // error code
    each.readInt32() // partition
    const leader = each.readInt32()
    each.readInt32() // leader epoch
    const [replicas, inSync] = [readInts(each), readInts(each)]
    readInts(each) // offline replicas
    return { leader, replicas: replicas.length, inSync: inSync.length }
  })
  return { errorCode, topic, partitions, rights: rightsOf(decoder.readInt32()) }
}

/** @throws KafkaJSProtocolError: GROUP_AUTHORIZATION_FAILED when the group may not even be seen */
export async function describeGroup(node: Node, groupId: string): Promise<Set<Right>> {
  const answer = await node.connectionPool.send(
    request(
      { key: 15, version: 3, name: 'DescribeGroups' },
      encoder => encoder.writeArray([groupId]).writeBoolean(true),
      decoder => {
        decoder.readInt32() // throttle time
        return decoder.readArray(readGroup)[0]!
      },
    ),
  )
  if (answer.errorCode !== 0) throw errorOf(answer.errorCode)
  return answer.rights
}

function readGroup(decoder: Decoder): { errorCode: number; rights: Set<Right> } {
  const errorCode = decoder.readInt16()
  for (const _ of ['group', 'state', 'protocol type', 'protocol']) decoder.readString()
  decoder.readArray(member => {
    for (const _ of ['member', 'client', 'host']) member.readString()
    for (const _ of ['metadata', 'assignment']) member.readBytes()
  })
  return { errorCode, rights: rightsOf(decoder.readInt32()) }
}

/** When the open transaction of this id began, by the clock of its coordinator; null when the broker cannot tell. */
export async function transactionBegan(node: Node, transactionalId: string): Promise<number | null> {
  const api = { key: 65, version: 0, name: 'DescribeTransactions' }
  if (!node.versions[api.key]) return null
  return node.connectionPool.send(
    request(
      api,
      // A flexible version: the tags of the header, a compact array of one, the tags of the body.
      encoder => encoder.writeInt8(0).writeUVarInt(2).writeUVarIntString(transactionalId).writeUVarInt(0),
      decoder => {
        decoder.readUVarInt() // tags of the header
        decoder.readInt32() // throttle time
        decoder.readUVarInt() // length of the array
        const errorCode = decoder.readInt16()
        for (const _ of ['transactional id', 'state']) decoder.readUVarIntString()
        decoder.readInt32() // time-out
        const began = Number(decoder.readInt64())
        return errorCode === 0 && began > 0 ? began : null
      },
    ),
  )
}

function readInts(decoder: Decoder): number[] {
  return decoder.readArray(each => each.readInt32())
}

function rightsOf(operations: number): Set<Right> {
  return new Set((Object.keys(bits) as Right[]).filter(right => operations & (1 << bits[right])))
}
