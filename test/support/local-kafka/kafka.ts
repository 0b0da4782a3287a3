import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { nodesSeenFrom, untilReady, warmUp } from './child.ts'
import { jvmFlags, type KafkaVersion, kafkaClassPath, kafkaVersion, requireJava } from './maven.ts'
import { localNode, type NodeListeners, type Users } from './node.ts'
import { freePorts } from './ports.ts'

export interface LocalKafkaOptions {
  /** Default 4.3.0. */
  version?: KafkaVersion
  /** Where to keep the data, to go on with it at the next start. A temporary folder when left out, removed at stop. */
  dataDir?: string
  /** One node, or three that replicate to each other (250 MB of memory each). Default 1. */
  nodes?: 1 | 3
  /** Users with their passwords, who may do what ACLs allow them, at addresses of their own (SASL/PLAIN). */
  users?: Users
  /** Ports of 127.0.0.1 where a proxy stands before each node, node 1 first. It leads to the node's place in `outerBrokers`. */
  proxies?: readonly number[]
  /** Further settings of a node, by its id, in place of those made here. */
  properties?: (id: number) => Readonly<Record<string, string>>
  /** Flags of each node's JVM, in place of those for a short life beside other work. */
  jvm?: readonly string[]
  /** Gets a line about each longer step. */
  log?: (line: string) => void
}

/** A running Apache Kafka. Its nodes have the ids 1, 2, 3; what takes an id means node 1 when it is left out. */
export type LocalKafka = Awaited<ReturnType<typeof startKafka>>

/**
 * Starts Apache Kafka from Maven Central on 127.0.0.1, with its internal topics made.
 * It ends with this process, whatever ends that.
 * @throws Error with the end of the node's log when it does not start
 */
export async function startKafka(options: LocalKafkaOptions = {}) {
  const { version = kafkaVersion, nodes: count = 1, users = {}, proxies = [], log = () => {} } = options
  await requireJava()
  const cluster = await addresses(count, { outer: Object.keys(users).length + proxies.length > 0, ...options })
  const classPath = await kafkaClassPath(log, version)
  const scratch = options.dataDir ? undefined : await mkdtemp(join(tmpdir(), 'busgate-kafka-'))
  const folder = options.dataDir ?? (scratch as string)
  const brokers = cluster.map(({ host, port }) => `${host}:${port}`)
  const outerBrokers = cluster.flatMap(({ host, outerPort }) => (outerPort ? [`${host}:${outerPort}`] : []))
  const nodes = cluster.map(node =>
    localNode({
      node,
      cluster,
      folder: join(folder, `node-${node.id}`),
      classPath,
      scratch,
      users,
      jvm: options.jvm ?? jvmFlags,
      properties: options.properties?.(node.id) ?? {},
    }),
  )
  const nodeOf = (id = 1) => {
    const node = nodes[id - 1]
    if (!node) throw new Error(`The local Kafka has no node ${id}; its nodes are 1 to ${count}.`)
    return node
  }
  const stop = async () => {
    // What is removed in a moment needs no orderly shutdown.
    await Promise.all(nodes.map(node => (scratch ? node.kill() : node.stop())))
    if (scratch) await rm(scratch, { recursive: true, force: true })
  }

  try {
    log(`starting Apache Kafka ${version}, ${count === 1 ? 'one node' : `${count} nodes`}`)
    await Promise.all(nodes.map(node => node.start()))
    await untilReady('The Kafka cluster', async () => (await nodesSeenFrom(brokers[0]!)).length === count)
    await warmUp(brokers)
  } catch (error) {
    await stop()
    throw error
  }
  log(`Kafka answers at ${brokers.join(', ')}`)
  return {
    /** The address of every node, node 1 first. */
    brokers,
    /**
     * The second address of every node: users sign in there, proxies lead there. Empty without users and proxies.
     * Whoever comes to `brokers` instead may do everything and meets no proxy.
     */
    outerBrokers,
    /** Keeps a folder for each node, with its configuration, data and log; without `dataDir` until the stop. */
    folder,
    /**
     * Kills a node as a crash does: SIGKILL. A single node's return takes 11 s, until Kafka has given up its former session.
     * Kafka 4.3.0 may then have skipped the marker of a transaction that was committed just before ("likely deleted already"
     * in node.log), so that readers of committed records wait for ever: use three nodes to test exactly-once.
     */
    killNode: (id?: number) => nodeOf(id).kill(),
    /** Stops a node as a planned shutdown does: SIGTERM. */
    stopNode: (id?: number) => nodeOf(id).stop(),
    /** Starts a node that was killed or stopped, over its data; resolves when it has joined again, maybe behind. */
    startNode: (id?: number) => nodeOf(id).start(),
    /** Halts a node as a hang does: SIGSTOP. Connections stay open and nothing answers. */
    freezeNode: (id?: number) => nodeOf(id).freeze(),
    thawNode: (id?: number) => nodeOf(id).thaw(),
    /** The node's process. @throws Error when it does not run */
    pidOf: (id?: number) => nodeOf(id).pid(),
    /** Ends every node and removes temporary data. */
    stop,
  }
}

interface Places extends Pick<LocalKafkaOptions, 'proxies'> {
  /** Whether every node has a second address. */
  outer: boolean
}

async function addresses(count: number, { outer, proxies }: Places): Promise<NodeListeners[]> {
  const ids = Array.from({ length: count }, (_, i) => i + 1)
  const ports = await freePorts(3 * count)
  return ids.map((id, i) => {
    const [clients, controllerPort, outerPort] = ports.slice(3 * i, 3 * i + 3) as [number, number, number]
    const proxyPort = proxies?.[i] ?? outerPort
    return { id, host: '127.0.0.1', port: clients, controllerPort, ...(outer && { outerPort, proxyPort }) }
  })
}
