/** Erases messages from busgate.messages: node erase.js ACCOUNT ID … writes a tombstone for each. */
import { kafka, MESSAGES_TOPIC, registry } from './clients.js'

const [account, ...ids] = process.argv.slice(2)

// The same key in the same bytes as Flink writes it, so that it is on the same partition.
const keySchema = await registry.getLatestSchemaId(`${MESSAGES_TOPIC}-key`)
const tombstones = await Promise.all(
  ids.map(async id => ({ key: await registry.encode(keySchema, { account, id: BigInt(id) }), value: null })),
)

const producer = kafka.producer()
await producer.connect()
await producer.send({ topic: MESSAGES_TOPIC, messages: tombstones })
await producer.disconnect()
console.log(`${tombstones.length} tombstones written to ${MESSAGES_TOPIC}`)
