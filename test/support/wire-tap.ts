import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'

const apis = {
  Produce: 0,
  Fetch: 1,
  Metadata: 3,
  OffsetFetch: 9,
  FindCoordinator: 10,
  JoinGroup: 11,
  Heartbeat: 12,
  LeaveGroup: 13,
  SyncGroup: 14,
  InitProducerId: 22,
  AddPartitionsToTxn: 24,
  AddOffsetsToTxn: 25,
  EndTxn: 26,
  TxnOffsetCommit: 28,
} as const
/** The protocol's name of a request. */
export type Api = keyof typeof apis
const names = new Map(Object.entries(apis).map(([name, key]) => [key as number, name as Api]))

/** A request to a broker, or its response. */
export interface Passage {
  kind: 'request' | 'answer'
  /** Null: a request that is not listed in `apis`. */
  api: Api | null
  /** The number of the connection, counted from 0. */
  connection: number
}

/** `swallow`: it is dropped and the connection stays open. `cut`: the connection breaks too. Undefined: it passes. */
export type Fate = 'swallow' | 'cut' | undefined
/** Decides the fate of a request or response. Until it resolves, what follows in the same direction of the connection waits. */
export type Rule = (passage: Passage) => Fate | Promise<Fate>

/** A proxy in front of one broker that can drop or delay Kafka requests and responses. */
export type WireTap = Awaited<ReturnType<typeof openWireTap>>

const retryMs = 100

/**
 * Opens a tap on a free port of 127.0.0.1. While its broker refuses connections, the tap refuses them too, as a client would
 * see without it.
 */
export async function openWireTap() {
  const rules = new Set<Rule>()
  const sockets = new Set<Socket>()
  let target = { host: '127.0.0.1', port: 0 }
  let connections = 0
  let closed = false
  let refusing = false

  const decide: Rule = async passage => {
    for (const rule of rules) {
      const fate = await rule(passage)
      if (fate) return fate
    }
    return undefined
  }

  const server = createServer({ noDelay: true }, client => {
    const broker = connect({ ...target, noDelay: true })
    for (const socket of [client, broker]) {
      sockets.add(socket)
      socket.on('error', () => {}) // 'close' follows
      socket.once('close', () => sockets.delete(socket))
    }
    broker.once('error', () => {
      if (broker.bytesRead === 0) void refuse()
    })
    void passBothWays(client, broker, connections++, decide)
  })

  async function refuse(): Promise<void> {
    if (refusing || closed) return
    refusing = true
    server.close()
    while (!closed && !((await accepts(target)) && (await listens()))) await pause(retryMs)
    refusing = false
  }

  /** False while another connection holds the port: it is in the range of outgoing ones. */
  function listens(): Promise<boolean> {
    server.listen(port, '127.0.0.1')
    return succeeds(once(server, 'listening'))
  }

  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return {
    port,
    address: `127.0.0.1:${port}`,
    /** Sets the broker's own address. */
    forwardTo(address: string): void {
      const { hostname, port } = new URL(`tcp://${address}`)
      target = { host: hostname, port: Number(port) }
    },
    /** The number of connections so far. */
    connections: () => connections,
    /** Adds a rule. The first rule that returns a fate wins. @returns a function that removes the rule */
    addRule(rule: Rule): () => void {
      rules.add(rule)
      return () => void rules.delete(rule)
    },
    close() {
      closed = true
      server.close()
      for (const socket of sockets) socket.destroy()
    },
  }
}

async function passBothWays(client: Socket, broker: Socket, connection: number, rule: Rule): Promise<void> {
  const asked = new Map<number, Api | null>()
  const cut = () => {
    client.destroy()
    broker.destroy()
  }
  const request = (frame: Buffer): Passage => {
    const api = names.get(frame.readInt16BE(4)) ?? null
    asked.set(frame.readInt32BE(8), api)
    return { kind: 'request', api, connection }
  }
  const answer = (frame: Buffer): Passage => {
    const correlation = frame.readInt32BE(4)
    const api = asked.get(correlation) ?? null
    asked.delete(correlation)
    return { kind: 'answer', api, connection }
  }
  await Promise.all([
    pass(client, broker, async frame => rule(request(frame)), cut),
    pass(broker, client, async frame => rule(answer(frame)), cut),
  ])
}

/** Forwards all frames that arrived, even if the sender then broke the connection. */
async function pass(from: Socket, to: Socket, decide: (frame: Buffer) => Promise<Fate>, cut: () => void) {
  try {
    for await (const frame of frames(from)) {
      const fate = await decide(frame)
      if (fate === 'cut') cut()
      if (fate === undefined && !to.write(frame)) await once(to, 'drain')
    }
  } catch {
    // One side has closed.
  } finally {
    to.end()
  }
}

/** Each frame begins with its length, which excludes the length field. */
async function* frames(socket: Socket): AsyncGenerator<Buffer> {
  let parts: Buffer[] = []
  let length = 0
  for await (const chunk of socket as AsyncIterable<Buffer>) {
    parts.push(chunk)
    length += chunk.length
    if (length < 4) continue
    if (parts[0]!.length < 4) parts = [Buffer.concat(parts)]
    if (length < 4 + parts[0]!.readInt32BE()) continue
    let bytes = Buffer.concat(parts)
    while (bytes.length >= 4 && bytes.length >= 4 + bytes.readInt32BE()) {
      const end = 4 + bytes.readInt32BE()
      yield bytes.subarray(0, end)
      bytes = bytes.subarray(end)
    }
    parts = [bytes]
    length = bytes.length
  }
}

async function accepts(target: { host: string; port: number }): Promise<boolean> {
  const socket = connect(target)
  const accepted = await succeeds(once(socket, 'connect'))
  socket.destroy()
  return accepted
}

const succeeds = (event: Promise<unknown>) =>
  event.then(
    () => true,
    () => false,
  )
