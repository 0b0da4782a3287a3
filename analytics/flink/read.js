/** Reads busgate.messages up to its end and prints the row of each message: node read.js */
import { kafka, MESSAGES_TOPIC, registry } from './clients.js'

const messages = new Map()
const seen = { records: 0, tombstones: 0 }

async function take({ key, value }) {
  const { account, id } = await registry.decode(key)
  seen.records += 1
  if (value === null) {
    seen.tombstones += 1
    messages.delete(`${account} ${id}`)
  } else {
    messages.set(`${account} ${id}`, await registry.decode(value))
  }
}

const admin = kafka.admin()
await admin.connect()
const offsets = await admin.fetchTopicOffsets(MESSAGES_TOPIC)
const ends = new Map(
  offsets.filter(({ low, high }) => low !== high).map(({ partition, high }) => [partition, BigInt(high)]),
)

const groupId = `${MESSAGES_TOPIC}-${process.pid}`
const consumer = kafka.consumer({ groupId })
await consumer.connect()
await consumer.subscribe({ topic: MESSAGES_TOPIC, fromBeginning: true })
const { promise: end, resolve: atEnd } = Promise.withResolvers()
if (ends.size === 0) atEnd()
await consumer.run({
  async eachMessage({ partition, message }) {
    await take(message)
    if (BigInt(message.offset) + 1n >= (ends.get(partition) ?? 0n)) ends.delete(partition)
    if (ends.size === 0) atEnd()
  },
})
await end
await consumer.disconnect()
await admin.deleteGroups([groupId])
await admin.disconnect()

for (const row of messages.values())
  console.log(JSON.stringify(row, (_, value) => (typeof value === 'bigint' ? String(value) : value)))
console.error(JSON.stringify(seen))
