import { createRequire } from 'node:module'

/** What kafkajs 2.2.4 has behind its public face and these commands need. The version is pinned for it. */

export interface Encoder {
  writeInt8(value: number): Encoder
  writeBoolean(value: boolean): Encoder
  writeArray(items: readonly string[]): Encoder
  writeUVarInt(value: number): Encoder
  writeUVarIntString(value: string): Encoder
}

export interface Decoder {
  readInt16(): number
  readInt32(): number
  readInt64(): { toString(): string }
  readBoolean(): boolean
  readString(): string
  readBytes(): Buffer | null
  readArray<T>(read: (decoder: Decoder) => T): T[]
  readUVarInt(): number
  readUVarIntString(): string
}

/** A request that kafkajs does not know, as its connections take it. */
export interface Request<T> {
  request: { apiKey: number; apiVersion: number; apiName: string; encode(): Promise<Encoder> }
  response: { decode(payload: Buffer): Promise<T>; parse(data: T): Promise<T> }
}

export interface VersionRange {
  minVersion: number
  maxVersion: number
}

/** A node of the cluster, connected and signed in. */
export interface Node {
  /** By number of the API. */
  versions: Record<number, VersionRange>
  connectionPool: { send<T>(request: Request<T>): Promise<T> }
  findGroupCoordinator(asked: {
    groupId: string
    coordinatorType: number
  }): Promise<{ coordinator: { nodeId: number } }>
  describeConfigs(asked: { resources: ConfigResource[] }): Promise<{ resources: { configEntries: ConfigEntry[] }[] }>
  initProducerId(asked: { transactionalId?: string; transactionTimeout: number }): Promise<Producer>
  addOffsetsToTxn(asked: Producer & { transactionalId: string; groupId: string }): Promise<unknown>
  endTxn(asked: Producer & { transactionalId: string; transactionResult: boolean }): Promise<unknown>
}

interface Producer {
  producerId: string
  producerEpoch: number
}

interface ConfigResource {
  type: number
  name: string
  configNames: readonly string[]
}

interface ConfigEntry {
  configName: string
  configValue: string | null
}

export interface NodeFinder {
  findBroker(asked: { nodeId: string }): Promise<Node>
  brokerPool: { seedBroker: Node }
}

const require = createRequire(import.meta.url)
const EncoderClass = require('kafkajs/src/protocol/encoder') as new () => Encoder
const DecoderClass = require('kafkajs/src/protocol/decoder') as new (payload: Buffer) => Decoder
const { createErrorFromCode } = require('kafkajs/src/protocol/error') as { createErrorFromCode(code: number): Error }
const apiKeys = require('kafkajs/src/protocol/requests/apiKeys') as Record<string, number>
const { requests } = require('kafkajs/src/protocol/requests') as { requests: Record<string, { versions: string[] }> }

export function request<T>(
  api: { key: number; version: number; name: string },
  write: (encoder: Encoder) => Encoder,
  read: (decoder: Decoder) => T,
): Request<T> {
  return {
    request: {
      apiKey: api.key,
      apiVersion: api.version,
      apiName: api.name,
      encode: async () => write(new EncoderClass()),
    },
    response: { decode: async payload => read(new DecoderClass(payload)), parse: async data => data },
  }
}

/** The error that kafkajs makes of a code; its `type` is the code's name. */
export function errorOf(code: number): Error & { type: string } {
  return createErrorFromCode(code) as Error & { type: string }
}

/** The names of kafkajs's requests that a node does not understand in any version that kafkajs speaks. */
export function unspoken({ versions }: Pick<Node, 'versions'>, names: readonly string[]): string[] {
  return names.filter(name => {
    const range = versions[apiKeys[name]!]
    const spoken = requests[name]!.versions.map(Number)
    return !range || !spoken.some(version => version >= range.minVersion && version <= range.maxVersion)
  })
}
