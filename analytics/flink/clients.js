/** The registry client and the Kafka client of read.js and erase.js, from the environment. */
import { SchemaRegistry, SchemaType } from '@kafkajs/confluent-schema-registry'
import avsc from 'avsc'
import { Kafka, logLevel } from 'kafkajs'

const { KAFKA_BROKERS = 'localhost:9092', REGISTRY_URL = 'http://localhost:8081' } = process.env
export const { MESSAGES_TOPIC = 'busgate.messages' } = process.env

// JavaScript numbers hold 53 bits; ids have 64.
const long = avsc.types.LongType.__with({
  fromBuffer: bytes => bytes.readBigInt64LE(),
  toBuffer: value => Buffer.from(BigInt64Array.of(value).buffer),
  fromJSON: BigInt,
  toJSON: String,
  isValid: value => typeof value === 'bigint',
  compare: (a, b) => Number(a > b) - Number(a < b),
})
const typeHook = schema => (schema === 'long' ? long : undefined)
export const registry = new SchemaRegistry({ host: REGISTRY_URL }, { [SchemaType.AVRO]: { typeHook } })
export const kafka = new Kafka({ brokers: KAFKA_BROKERS.split(','), logLevel: logLevel.ERROR })
