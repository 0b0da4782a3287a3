/** Erases messages from busgate.messages: node erase.js ACCOUNT ID … writes a tombstone for each. */
import { SchemaRegistry, SchemaType } from '@kafkajs/confluent-schema-registry'
import avsc from 'avsc'
import { Kafka, logLevel } from 'kafkajs'

const {
  KAFKA_BROKERS = 'localhost:9092',
  REGISTRY_URL = 'http://localhost:8081',
  MESSAGES_TOPIC = 'busgate.messages',
} = process.env
const [account, ...ids] = process.argv.slice(2)

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
const registry = new SchemaRegistry({ host: REGISTRY_URL }, { [SchemaType.AVRO]: { typeHook } })

// The same key in the same bytes as Flink writes it, so that it is on the same partition.
const keySchema = await registry.getLatestSchemaId(`${MESSAGES_TOPIC}-key`)
const tombstones = await Promise.all(
  ids.map(async id => ({ key: await registry.encode(keySchema, { account, id: BigInt(id) }), value: null })),
)

const kafka = new Kafka({ brokers: KAFKA_BROKERS.split(','), logLevel: logLevel.ERROR })
const producer = kafka.producer()
await producer.connect()
await producer.send({ topic: MESSAGES_TOPIC, messages: tombstones })
await producer.disconnect()
console.log(`${tombstones.length} tombstones written to ${MESSAGES_TOPIC}`)
