import { defineApi } from './api.ts'

export interface NewTopic {
  topic: string
  partitions: number
  /** -1: as many as the brokers' default. */
  replicas: number
  config: Record<string, string>
}

export interface CreateTopicsRequest {
  topics: readonly NewTopic[]
  limitMs: number
}

export interface CreatedTopic {
  topic: string
  errorCode: number
  errorMessage: string | null
}

export const createTopics = defineApi<CreateTopicsRequest, { topics: CreatedTopic[] }>({
  name: 'CreateTopics',
  key: 19,
  versions: [2, 5],
  flexible: 5,
  write(to, { topics, limitMs }) {
    to.array(topics, ({ topic, partitions, replicas, config }) => {
      to.string(topic).int32(partitions).int16(replicas)
      to.array([], () => {}) // replicas by hand
      to.array(Object.entries(config), ([name, value]) => void to.string(name).string(value))
    })
    to.int32(limitMs).boolean(false)
  },
  read(from, version) {
    from.skip(4) // throttle time
    const topics = from.array(() => {
      const topic = { topic: from.string(), errorCode: from.int16(), errorMessage: from.nullableString() }
      if (version < 5) return topic
      from.skip(6) // numbers of partitions and replicas
      from.array(() => {
        for (const _ of ['name', 'value']) from.nullableString()
        from.skip(3) // read-only, source, sensitive
      })
      return topic
    })
    return { topics }
  },
})

export const resourceTypes = { topic: 2, broker: 4 }

export interface DescribeConfigsRequest {
  type: keyof typeof resourceTypes
  name: string
  /** Names of the settings that are asked for. */
  keys: readonly string[]
}

/** Asks for the settings of one resource, whose code is that of the answer. The values come by their names in Kafka. */
export const describeConfigs = defineApi<
  DescribeConfigsRequest,
  { errorCode: number; errorMessage: string | null; values: Map<string, string> }
>({
  name: 'DescribeConfigs',
  key: 32,
  versions: [1, 4],
  flexible: 4,
  write(to, { type, name, keys }, version) {
    to.array([name], resource => {
      to.int8(resourceTypes[type]).string(resource)
      to.values(keys, key => to.string(key))
    })
    to.boolean(false) // synonyms
    if (version >= 3) to.boolean(false) // documentation
  },
  read(from, version) {
    from.skip(4) // throttle time
    const [found] = from.array(() => {
      const head = { errorCode: from.int16(), errorMessage: from.nullableString() }
      from.skip(1).string() // the resource
      const values = from.array((): [string, string] => {
        const entry: [string, string] = [from.string(), from.nullableString() ?? '']
        from.skip(3) // read-only, source, sensitive
        from.array(() => {
          for (const _ of ['name', 'value']) from.nullableString()
          from.skip(1)
        })
        if (version >= 3) from.skip(1).nullableString() // type and documentation
        return entry
      })
      return { ...head, values: new Map(values) }
    })
    return found!
  },
})
