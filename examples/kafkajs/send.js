// Sends one SMS through busgate, prints its results, and whether it was delivered: node send.js ID PHONE TEXT
import { readFile } from 'node:fs/promises'
import { SchemaRegistry, SchemaType } from '@kafkajs/confluent-schema-registry'
import avsc from 'avsc'
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
  STATUSES_TOPIC = 'busgate.statuses',
  VERDICT_SECONDS = '60',
} = process.env

const kafka = new Kafka({ clientId: 'example', brokers: KAFKA_BROKERS.split(','), logLevel: logLevel.ERROR })
// JavaScript numbers hold 53 bits; ids have 64. Without this type, decoding a larger id of anybody fails.
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

/** Prints the results of a command, up to the final one, and resolves with that. */
function finalResult(id) {
  return find(RESULTS_TOPIC, id, result => {
    console.log(String(result.id), result.outcome, result.errorCode ?? result.msgId)
    return result.final // DUPLICATE: the result of the first command with this id is elsewhere in the topic
  })
}

/** Resolves with the first status event with a verdict on a message (docs/statuses.md); null if none comes in time. */
function verdictOn(result) {
  const isVerdict = event => {
    // Unverified events count only for a message without its own hook: anyone who knows the account's address can make
    // them up.
    const isBelieved = event.verified || result.hooked === false
    return event.account === result.account && isBelieved && event.final
  }
  return find(STATUSES_TOPIC, result.id, isVerdict, AbortSignal.timeout(Number(VERDICT_SECONDS) * 1000))
}

/** Resolves with the first record about a message that is wanted; null if the signal is aborted before. */
async function find(topic, id, isWanted, signal) {
  const consumer = kafka.consumer({
    groupId: `example-kafkajs-${topic}`, // all members of a group should read the same topics
    readUncommitted: false, // the default of kafkajs; its filter has a hole, see docs/producers.md
  })
  const { promise, resolve, reject } = Promise.withResolvers()
  consumer.on('consumer.crash', ({ payload }) => payload.restart || reject(payload.error))
  signal?.addEventListener('abort', () => resolve(null))
  await consumer.connect()
  try {
    await consumer.subscribe({ topic, fromBeginning: true })
    const key = String(id) // of its command, its results and its statuses
    let isFound = false
    await consumer.run({
      async eachMessage({ message }) {
        if (isFound || message.key?.toString() !== key) return
        const record = await registry.decode(message.value)
        isFound = isWanted(record)
        if (isFound) resolve(record)
      },
    })
    return await promise
  } finally {
    await consumer.disconnect()
  }
}

const [idText, phone, text] = process.argv.slice(2)
// A number would lose the zero: 0671234567 would become somebody else's phone.
if (!/^[1-9]\d{0,14}$/.test(phone ?? '')) {
  console.error('Nothing was sent: PHONE must be digits only, in international format such as 380671234567.')
  process.exit(1)
}
const id = BigInt(idText)
await send({
  id,
  phone: BigInt(phone),
  // Names the record of the union.
  message: { 'io.busgate.Sms': { sms_message: text, sms_signature: 'Shop' } },
  correlationId: 'example-kafkajs',
})
const result = await finalResult(id)
const hasStatuses = !['call/otp', 'hlr'].includes(result.type)
if (result.outcome === 'SENT' && hasStatuses) {
  const event = await verdictOn(result)
  // If you keep reading: a later DELIVERED replaces FAILED, and either replaces UNKNOWN (given up).
  console.log(idText, event?.state ?? 'no verdict yet')
}
