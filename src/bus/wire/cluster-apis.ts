import { defineApi } from './api.ts'

export interface VersionRange {
  min: number
  max: number
}

export interface Versions {
  errorCode: number
  /** The versions that are spoken, by the number of the API. */
  ranges: Map<number, VersionRange>
  /** Levels of the cluster's finalised features. */
  features: Map<string, number>
}

const finalizedFeatures = 2

/** Asks a broker which versions it speaks. One that does not know the version it is asked in answers in version 0. */
export const apiVersions = defineApi<{ software: string }, Versions>({
  name: 'ApiVersions',
  key: 18,
  versions: [0, 3],
  flexible: 3,
  write(to, { software }, version) {
    if (version >= 3) to.string(software).string('1')
  },
  read(from, version) {
    const errorCode = from.int16()
    const ranges = new Map<number, VersionRange>()
    const features = new Map<string, number>()
    if (errorCode) return { errorCode, ranges, features }
    from.array(() => ranges.set(from.int16(), { min: from.int16(), max: from.int16() }))
    if (version >= 1) from.skip(4)
    if (version < 3) return { errorCode, ranges, features }
    from.tagged((tag, fields) => {
      if (tag !== finalizedFeatures) return
      fields.array(() => {
        features.set(fields.string(), fields.int16())
        fields.skip(2)
      })
    })
    return { errorCode, ranges, features }
  },
})

export interface MetadataRequest {
  topics: readonly string[]
  /** Whether the answer shall tell what this account may do. */
  rights?: boolean
}

export interface NodeAddress {
  id: number
  host: string
  port: number
}

export interface PartitionMetadata {
  errorCode: number
  partition: number
  /** -1 while there is none. */
  leader: number
  replicas: number[]
  inSync: number[]
}

export interface TopicMetadata {
  errorCode: number
  topic: string
  /** Tells a topic from another one that had its name; empty: the broker is too old to say. */
  id: string
  partitions: PartitionMetadata[]
  /** Bits of org.apache.kafka.common.acl.AclOperation. */
  operations: number
}

export interface ClusterMetadata {
  nodes: NodeAddress[]
  controller: number
  topics: TopicMetadata[]
}

/** Creates no topic. */
export const metadata = defineApi<MetadataRequest, ClusterMetadata>({
  name: 'Metadata',
  key: 3,
  versions: [4, 12],
  flexible: 9,
  write(to, { topics, rights = false }, version) {
    to.array(topics, topic => {
      if (version >= 10) to.int64(0).int64(0) // no topic id
      to.string(topic)
    }).boolean(false)
    if (version >= 8 && version <= 10) to.boolean(false)
    if (version >= 8) to.boolean(rights)
  },
  read(from, version) {
    from.skip(4) // throttle time
    const nodes = from.array(() => {
      const node = { id: from.int32(), host: from.string(), port: from.int32() }
      from.nullableString() // rack
      return node
    })
    from.nullableString() // cluster id
    const controller = from.int32()
    const topics = from.array(() => {
      const errorCode = from.int16()
      const topic = from.string()
      const id = version >= 10 ? `${from.bigint()}/${from.bigint()}` : ''
      from.skip(1) // whether it is internal
      const partitions = from.array(() => {
        const partition = { errorCode: from.int16(), partition: from.int32(), leader: from.int32() }
        if (version >= 7) from.skip(4) // leader epoch
        const [replicas, inSync] = [from.values(() => from.int32()), from.values(() => from.int32())]
        if (version >= 5) from.values(() => from.int32()) // replicas that are offline
        return { ...partition, replicas, inSync }
      })
      return { errorCode, topic, id, partitions, operations: version >= 8 ? from.int32() : 0 }
    })
    return { nodes, controller, topics }
  },
})

const coordinatorKinds = { group: 0, transaction: 1 }
export type CoordinatorKind = keyof typeof coordinatorKinds

export const findCoordinator = defineApi<
  { kind: CoordinatorKind; name: string },
  { errorCode: number; errorMessage: string | null; node: NodeAddress }
>({
  name: 'FindCoordinator',
  key: 10,
  versions: [1, 3],
  flexible: 3,
  write: (to, { kind, name }) => void to.string(name).int8(coordinatorKinds[kind]),
  read(from) {
    from.skip(4) // throttle time
    return {
      errorCode: from.int16(),
      errorMessage: from.nullableString(),
      node: { id: from.int32(), host: from.string(), port: from.int32() },
    }
  },
})
