import { once } from 'node:events'
import { connect } from 'node:net'
import { plainKafka } from '../kafka.ts'

/** The codecs in the attributes of the batches of partition 0: a fetch of version 4 and its answer, by hand. */
export async function codecsOf(broker: string, topic: string): Promise<Set<number>> {
  const leader = await leaderOf(broker, topic)
  const [host, port] = leader.split(':')
  const body = Buffer.concat([
    ...[int16(1), int16(4), int32(1), string('test')],
    ...[int32(-1), int32(100), int32(1), int32(10 ** 6), Buffer.of(0)], // replica, wait, least, most, isolation
    ...[int32(1), string(topic), int32(1), int32(0), Buffer.alloc(8), int32(10 ** 6)],
  ])
  const socket = connect(Number(port), host)
  socket.write(Buffer.concat([int32(body.length), body]))
  let answer = Buffer.alloc(0)
  while (answer.length < 4 || answer.length < 4 + answer.readInt32BE()) {
    const [chunk] = (await once(socket, 'data')) as [Buffer]
    answer = Buffer.concat([answer, chunk])
  }
  socket.destroy()
  // Size, correlation, throttle, 1 topic, its name, 1 partition, its number, error, two offsets, no aborted ones, size.
  let at = 4 + 4 + 4 + 4 + 2 + Buffer.byteLength(topic) + 4 + 4 + 2 + 16 + 4 + 4
  const found = new Set<number>()
  for (; at < answer.length; at += 12 + answer.readInt32BE(at + 8)) found.add(answer.readInt16BE(at + 21) & 7)
  return found
}

async function leaderOf(broker: string, topic: string): Promise<string> {
  const admin = plainKafka([broker]).admin()
  await admin.connect()
  const { brokers: nodes } = await admin.describeCluster()
  const { topics } = await admin.fetchTopicMetadata({ topics: [topic] })
  await admin.disconnect()
  const { host, port } = nodes.find(({ nodeId }) => nodeId === topics[0]!.partitions[0]!.leader)!
  return `${host}:${port}`
}

function int32(value: number): Buffer {
  const bytes = Buffer.alloc(4)
  bytes.writeInt32BE(value)
  return bytes
}

function int16(value: number): Buffer {
  const bytes = Buffer.alloc(2)
  bytes.writeInt16BE(value)
  return bytes
}

const string = (text: string) => Buffer.concat([int16(Buffer.byteLength(text)), Buffer.from(text)])
