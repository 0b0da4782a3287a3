import { once } from 'node:events'
import net, { type AddressInfo, type Socket } from 'node:net'
import { Reader, Writer } from '@platformatic/kafka'
import { onTestFinished } from 'vitest'

/** A received request. */
export interface Asked {
  key: number
  version: number
  /** Reads the bytes field at the start of the body. */
  bytes(): Buffer
  socket: Socket
  /** Starts a response. */
  fields(): WireWriter
}

/** Writes the response; null: sends none. */
export type Handler = (asked: Asked) => WireWriter | null | Promise<WireWriter | null>

export const keys = {
  produce: 0,
  fetch: 1,
  metadata: 3,
  offsetFetch: 9,
  coordinator: 10,
  heartbeat: 12,
  handshake: 17,
  apiVersions: 18,
  endTxn: 26,
  authenticate: 36,
}
/** The first flexible version of each request. */
const flexibleFrom: Record<number, number> = { 0: 9, 1: 12, 3: 9, 10: 3, 12: 4, 17: 99, 18: 3, 26: 3, 36: 2 }

/**
 * One broker on a real socket, to test connections: broken ones, authentication, versions. Its handlers come from the test, and
 * it records the requests. fake-cluster.ts tests the requests themselves, without encoding.
 */
export class FakeBroker {
  readonly #server = net.createServer(socket => this.#take(socket))
  readonly #handlers = new Map<number, Handler>()
  readonly #sockets = new Set<Socket>()
  /** Api keys and versions of all requests except ApiVersions. */
  readonly asked: [key: number, version: number][] = []
  /** The answer to ApiVersions. */
  readonly supportedVersions = new Map<number, [min: number, max: number]>([
    [keys.produce, [0, 11]],
    [keys.fetch, [0, 12]],
    [keys.metadata, [0, 12]],
    [keys.offsetFetch, [0, 8]],
    [keys.coordinator, [0, 6]],
    [keys.heartbeat, [0, 4]],
    [keys.handshake, [0, 1]],
    [keys.authenticate, [0, 2]],
  ])
  #port = 0

  static async start(): Promise<FakeBroker> {
    const broker = new FakeBroker()
    broker.on(keys.apiVersions, asked => broker.#answerVersions(asked))
    broker.#server.listen(0, '127.0.0.1')
    await once(broker.#server, 'listening')
    broker.#port = (broker.#server.address() as AddressInfo).port
    onTestFinished(() => broker.stop())
    return broker
  }

  get place(): string {
    return `127.0.0.1:${this.#port}`
  }

  get port(): number {
    return this.#port
  }

  get connections(): number {
    return this.#sockets.size
  }

  on(key: number, handler: Handler): void {
    this.#handlers.set(key, handler)
  }

  /** The number of requests with this api key. */
  count(key: number): number {
    return this.asked.filter(([asked]) => asked === key).length
  }

  async stop(): Promise<void> {
    this.breakAll()
    this.#server.close()
  }

  breakAll(): void {
    for (const socket of this.#sockets) socket.destroy()
  }

  #take(socket: Socket): void {
    let read = Buffer.alloc(0)
    let previous: Promise<void> = Promise.resolve()
    this.#sockets.add(socket)
    socket.on('error', () => {})
    socket.on('close', () => this.#sockets.delete(socket))
    socket.on('data', chunk => {
      read = Buffer.concat([read, chunk])
      while (read.length >= 4 && read.length >= 4 + read.readInt32BE(0)) {
        const request = read.subarray(4, 4 + read.readInt32BE(0))
        read = read.subarray(4 + request.length)
        previous = previous.then(() => this.#answer(request, socket)) // one at a time, as brokers do
      }
    })
  }

  async #answer(request: Buffer, socket: Socket): Promise<void> {
    const [key, version, correlation] = [request.readInt16BE(0), request.readInt16BE(2), request.readInt32BE(4)]
    const isFlexible = version >= (flexibleFrom[key] ?? Number.POSITIVE_INFINITY)
    const bodyAt = 10 + Math.max(0, request.readInt16BE(8)) + (isFlexible ? 1 : 0)
    const bytes = () => Reader.from(request.subarray(bodyAt)).readBytes(isFlexible)
    if (key !== keys.apiVersions) this.asked.push([key, version])
    const fields = () => {
      const header = new WireWriter(isFlexible).int32(correlation)
      return isFlexible && key !== keys.apiVersions ? header.tags() : header
    }
    const answer = await this.#handlers.get(key)?.({ key, version, bytes, socket, fields })
    if (answer) socket.write(framed(answer.tags().bytes))
  }

  #answerVersions({ version, fields }: Asked): WireWriter {
    const to = fields()
    to.int16(0).array([...this.supportedVersions], ([key, [min, max]]) => void to.int16(key).int16(min).int16(max))
    return version >= 1 ? to.int32(0) : to
  }
}

export function framed(answer: Buffer): Buffer {
  const length = Buffer.alloc(4)
  length.writeInt32BE(answer.length)
  return Buffer.concat([length, answer])
}

export interface FakeTopic {
  topic: string
  errorCode?: number
  /** Changes when the topic is recreated. Default: none, as of a cluster without topic ids. */
  id?: number
  /** The leader's node id of each partition. */
  leaders: number[]
}

/** Answers Metadata in version 11. Node ids are positions in the list, counted from 1. */
export function metadataOf(brokers: readonly FakeBroker[], topics: readonly FakeTopic[] = []): Handler {
  return ({ fields }) => {
    const to = fields().int32(0)
    const nodes = brokers.map(({ port }, i) => ({ id: i + 1, port }))
    to.array(nodes, ({ id, port }) => void to.int32(id).string('127.0.0.1').int32(port).string(null))
    to.string('cluster').int32(1)
    return to.array([...topics], ({ topic, errorCode = 0, id = 0, leaders }) => {
      to.int16(errorCode).string(topic).int64(0).int64(id).boolean(false)
      to.array([...leaders.entries()], ([partition, leader]) => {
        to.int16(0).int32(partition).int32(leader).int32(0)
        for (const _ of ['replicas', 'in sync', 'offline']) to.values([], () => {})
      }).int32(0)
    })
  }
}

/** Answers FindCoordinator in version 3. */
export function coordinatorIs(id: number, { port }: FakeBroker): Handler {
  return ({ fields }) => fields().int32(0).int16(0).string(null).int32(id).string('127.0.0.1').int32(port)
}

/** Writes a response. In flexible versions lengths are varints and each structure ends with tagged fields. */
class WireWriter {
  readonly #flexible: boolean
  readonly #to = Writer.create()

  constructor(flexible: boolean) {
    this.#flexible = flexible
  }

  get bytes(): Buffer {
    return this.#to.buffer
  }

  int16(value: number): this {
    this.#to.appendInt16(value)
    return this
  }

  int32(value: number): this {
    this.#to.appendInt32(value)
    return this
  }

  int64(value: number): this {
    this.#to.appendInt64(BigInt(value))
    return this
  }

  boolean(value: boolean): this {
    this.#to.appendBoolean(value)
    return this
  }

  string(value: string | null): this {
    this.#to.appendString(value, this.#flexible)
    return this
  }

  buffer(value: Buffer): this {
    this.#to.appendBytes(value, this.#flexible)
    return this
  }

  /** Writes an array of structures. */
  array<T>(items: T[], write: (item: T) => void): this {
    return this.values(items, item => {
      write(item)
      this.tags()
    })
  }

  /** Writes an array of single fields. */
  values<T>(items: T[], write: (item: T) => void): this {
    this.#to.appendArray(items, (_, item) => write(item), this.#flexible, false)
    return this
  }

  /** Ends a structure, without tagged fields. */
  tags(): this {
    if (this.#flexible) this.#to.appendTaggedFields()
    return this
  }
}
