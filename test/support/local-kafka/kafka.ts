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
  /** Keeps the data for the next start. Default: a temporary folder, which `stop` removes. */
  dataDir?: string
  /** One node, or three that replicate to each other (250 MB of memory each). Default 1. */
  nodes?: 1 | 3
  /** Users and passwords for SASL/PLAIN, on a second listener (`outerBrokers`). They may do what ACLs allow. */
  users?: Users
  /** Ports on 127.0.0.1 of a proxy for each node, node 1 first, which forwards to the node's address in `outerBrokers`. */
  proxies?: readonly number[]
  /** Broker settings of a node that override the defaults. */
  properties?: (id: number) => Readonly<Record<string, string>>
  /** JVM flags. Default: `jvmFlags`, for a short test on a busy machine. */
  jvm?: readonly string[]
  /** Logs each step that takes long. */
  log?: (line: string) => void
}

/** A running Apache Kafka. Its nodes have the ids 1, 2, 3; the default id is 1. */
export type LocalKafka = Awaited<ReturnType<typeof startKafka>>

/**
 * Starts Apache Kafka from Maven Central on 127.0.0.1 and creates its internal topics.
 * It ends when this process ends, even by kill -9.
 * @throws Error with the last lines of the node's log if it does not start
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
    // Temporary data needs no orderly shutdown.
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
     * The second address of every node, for users and proxies. Empty without both.
     * Clients of `brokers` need no login, may do everything, and pass no proxy.
     */
    outerBrokers,
    /** Contains a folder for each node with its configuration, data and log. Removed by `stop` unless `dataDir` was given. */
    folder,
    /**
     * Kills a node with SIGKILL, like a crash. A single node needs 11 s to return, until its former session times out.
     * Kafka 4.3.0 may then have skipped the marker of a transaction committed just before ("likely deleted already" in
     * node.log): read_committed consumers wait for ever. Use three nodes to test exactly-once.
     */
    killNode: (id?: number) => nodeOf(id).kill(),
    /** Stops a node with SIGTERM, like a planned shutdown. */
    stopNode: (id?: number) => nodeOf(id).stop(),
    /** Restarts a killed or stopped node on its data. Resolves when it has rejoined; its replicas may still lag. */
    startNode: (id?: number) => nodeOf(id).start(),
    /** Freezes a node with SIGSTOP: its connections stay open and get no answers. */
    freezeNode: (id?: number) => nodeOf(id).freeze(),
    thawNode: (id?: number) => nodeOf(id).thaw(),
    /** The node's process id. @throws Error if the node is not running */
    pidOf: (id?: number) => nodeOf(id).pid(),
    /** Stops all nodes and removes temporary data. */
    stop,
  }
}

interface AddressOptions extends Pick<LocalKafkaOptions, 'proxies'> {
  /** Whether every node has a second address. */
  outer: boolean
}

async function addresses(count: number, { outer, proxies }: AddressOptions): Promise<NodeListeners[]> {
  const ids = Array.from({ length: count }, (_, i) => i + 1)
  const ports = await freePorts(3 * count)
  return ids.map((id, i) => {
    const [clients, controllerPort, outerPort] = ports.slice(3 * i, 3 * i + 3) as [number, number, number]
    const proxyPort = proxies?.[i] ?? outerPort
    return { id, host: '127.0.0.1', port: clients, controllerPort, ...(outer && { outerPort, proxyPort }) }
  })
}
