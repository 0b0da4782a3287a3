// Sends one SMS through busgate and prints its results: node send.js ID PHONE TEXT
import { readFile } from 'node:fs/promises'
import { SchemaRegistry, SchemaType } from '@kafkajs/confluent-schema-registry'
import { Kafka, logLevel, Partitioners } from 'kafkajs'

if (Number.parseInt(process.versions.node, 10) < 22) {
  console.error(`Nothing was sent: this program needs Node.js 22 or newer, and this is ${process.versions.node}.`)
  process.exit(1)
}

const {
  KAFKA_BROKERS = 'localhost:9092',
  REGISTRY_URL = 'http://localhost:8081',
  COMMANDS_TOPIC = 'busgate.commands',
  RESULTS_TOPIC = 'busgate.results',
} = process.env

const kafka = new Kafka({ clientId: 'example', brokers: KAFKA_BROKERS.split(','), logLevel: logLevel.ERROR })
const registry = new SchemaRegistry({ host: REGISTRY_URL })
const schemaFile = new URL('../../schemas/send-command.avsc', import.meta.url)

/**
 * Resolves when every in-sync replica holds the command. If it rejects, the command was perhaps written: send it again with
 * the same id and text.
 */
async function send(command) {
  // Without spaces, as busgate registers it: Apicurio looks schemas up by their text.
  const schema = JSON.stringify(JSON.parse(await readFile(schemaFile, 'utf8')))
  // Looked up, never registered: busgate's operator does that.
  const schemaId = await registry.getRegistryIdBySchema(`${COMMANDS_TOPIC}-value`, { type: SchemaType.AVRO, schema })
  const value = await registry.encode(schemaId, command)
  const producer = kafka.producer({
    idempotent: true, // acks=all, and a retried record is written once
    maxInFlightRequests: 1, // idempotence needs it in kafkajs
    createPartitioner: Partitioners.DefaultPartitioner, // as in Java and busgate
  })
  await producer.connect()
  try {
    await producer.send({ topic: COMMANDS_TOPIC, acks: -1, messages: [{ key: String(command.id), value }] })
  } finally {
    await producer.disconnect()
  }
}

/** Prints the results of one command, up to the final one. */
async function printResults(id) {
  // Committed records only: the default of kafkajs. Its filter has a hole, see docs/producers.md.
  const consumer = kafka.consumer({ groupId: 'example-kafkajs', readUncommitted: false })
  const { promise: ended, resolve, reject } = Promise.withResolvers()
  consumer.on('consumer.crash', ({ payload }) => payload.restart || reject(payload.error))
  await consumer.connect()
  try {
    await consumer.subscribe({ topic: RESULTS_TOPIC, fromBeginning: true })
    await consumer.run({
      async eachMessage({ message }) {
        const result = await registry.decode(message.value)
        if (result.id !== id) return
        console.log(result.id, result.outcome, result.errorCode ?? result.msgId)
        if (result.final) resolve() // DUPLICATE: the result of the first command with this id is elsewhere in the topic
      },
    })
    await ended
  } finally {
    await consumer.disconnect()
  }
}

const [id, phone, text] = process.argv.slice(2)
// A number would lose the zero: 0671234567 would become somebody else's phone.
if (!/^[1-9]\d{0,14}$/.test(phone ?? '')) {
  console.error('Nothing was sent: PHONE must be digits only, in international format such as 380671234567.')
  process.exit(1)
}
await send({
  id: Number(id),
  phone: Number(phone),
  // Names the record of the union.
  message: { 'io.busgate.Sms': { sms_message: text, sms_signature: 'Shop' } },
  correlationId: 'example-kafkajs',
})
await printResults(Number(id))
