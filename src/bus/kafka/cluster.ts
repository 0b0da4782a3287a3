import { createRequire } from 'node:module'
import kafkajs, { type Assigner, type Kafka } from 'kafkajs'
import { decodeFetch } from './fetch-response.ts'
import type { ApiRequest, ConnectionPool, InternalBroker, InternalCluster } from './internals.ts'
import { offsetFetchKey, stableOffsetFetch } from './offset-fetch.ts'

/** kafkajs's own view of the brokers, with connections of its own. */
export interface OpenCluster {
  cluster: InternalCluster
  close(): Promise<void>
}

const apis = { fetch: 1, listOffsets: 2, metadata: 3 }

const require = createRequire(import.meta.url)
const { createErrorFromCode } = require('kafkajs/src/protocol/error') as { createErrorFromCode(code: number): Error }

/** The error that kafkajs makes of a code in an answer of the protocol; its `type` is the name of the code. */
export function protocolError(code: number): Error {
  return createErrorFromCode(code)
}

/**
 * Connects to the brokers without a group. The factory of a consumer's assigner is the one place that is handed its
 * cluster, and a consumer that never runs joins no group. What its brokers answer about several partitions comes with
 * the error codes in it, where kafkajs would throw the first one and withhold the rest.
 */
export async function openCluster(kafka: Kafka): Promise<OpenCluster> {
  let cluster: InternalCluster | undefined
  const consumer = kafka.consumer({
    groupId: 'none',
    allowAutoTopicCreation: false,
    partitionAssigners: [
      config => {
        cluster = config.cluster as unknown as InternalCluster
        return kafkajs.PartitionAssigners.roundRobin(config) as Assigner
      },
    ],
  })
  const { brokerPool } = cluster!
  const createBroker = brokerPool.createBroker
  brokerPool.createBroker = options => {
    connectOnce(options.connectionPool)
    return withErrorCodes(createBroker(options))
  }
  await consumer.connect()
  return { cluster: cluster!, close: () => consumer.disconnect() }
}

/** Requests that come together while there is no connection would open one each, of which kafkajs forgets all but the last. */
function connectOnce(pool: ConnectionPool): void {
  const getConnection = pool.getConnection.bind(pool)
  const opening = new Map<number, Promise<unknown>>()
  pool.getConnection = (index = 0) => {
    const connection = opening.get(index) ?? getConnection(index).finally(() => opening.delete(index))
    opening.set(index, connection)
    return connection
  }
}

/** The broker sets its lookup anew with each connection. */
function withErrorCodes(broker: InternalBroker): InternalBroker {
  let lookup = broker.lookupRequest
  Object.defineProperty(broker, 'lookupRequest', {
    set: value => {
      lookup = value
    },
    get: () => (apiKey: number, definitions: unknown) => {
      if (apiKey === offsetFetchKey) return stableOffsetFetch
      const request = lookup(apiKey, definitions)
      return Object.values(apis).includes(apiKey) ? unchecked(apiKey, request) : request
    },
  })
  return broker
}

/** `parse` is where kafkajs looks for error codes and throws. */
function unchecked(apiKey: number, request: ApiRequest): ApiRequest {
  return args => {
    const made = request(args)
    const { apiVersion } = made.request
    const decode =
      apiKey === apis.fetch ? async (payload: Buffer) => decodeFetch(payload, apiVersion) : made.response.decode
    return { ...made, response: { decode, parse: async data => data } }
  }
}
