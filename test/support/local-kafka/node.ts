import { existsSync } from 'node:fs'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { type Child, nodesSeenFrom, startChild, untilReady } from './child.ts'
import { javaCommand } from './maven.ts'

/** The addresses at which a node listens for clients and other nodes (`port`) and for controllers. */
export interface NodeListeners {
  id: number
  host: string
  port: number
  controllerPort: number
  /** A second listener for clients, for users or a proxy. Default: none. */
  outerPort?: number
  /** The advertised port of the second listener: that of the proxy. Default: `outerPort`. */
  proxyPort?: number
}

/** Passwords by user name. */
export type Users = Readonly<Record<string, string>>

/**
 * The server.properties of one node of a KRaft cluster in which every node is broker and controller.
 * Three nodes keep three replicas, with min.insync.replicas=2; one node keeps one. Internal topics have one partition: they are
 * created faster, and a test knows which node is the coordinator.
 */
export function serverProperties(
  node: NodeListeners,
  cluster: NodeListeners[],
  dataDir: string,
  users: Users = {},
): Record<string, string> {
  const replicas = String(Math.min(cluster.length, 3))
  const minIsr = cluster.length < 3 ? '1' : '2'
  const { host, port, controllerPort, outerPort, proxyPort = outerPort } = node
  const at = (outer?: number) => `PLAINTEXT://${host}:${port}${outer === undefined ? '' : `,OUTER://${host}:${outer}`}`
  return {
    'process.roles': 'broker,controller',
    'node.id': String(node.id),
    'controller.quorum.voters': cluster.map(({ id, host, controllerPort }) => `${id}@${host}:${controllerPort}`).join(),
    'controller.listener.names': 'CONTROLLER',
    listeners: `${at(outerPort)},CONTROLLER://${host}:${controllerPort}`,
    'advertised.listeners': at(proxyPort),
    'log.dirs': dataDir,
    'default.replication.factor': replicas,
    'min.insync.replicas': minIsr,
    'offsets.topic.replication.factor': replicas,
    'offsets.topic.num.partitions': '1',
    'transaction.state.log.replication.factor': replicas,
    'transaction.state.log.min.isr': minIsr,
    'transaction.state.log.num.partitions': '1',
    'share.coordinator.state.topic.replication.factor': replicas,
    'share.coordinator.state.topic.min.isr': minIsr,
    'share.coordinator.state.topic.num.partitions': '1',
    'group.initial.rebalance.delay.ms': '0',
    'auto.create.topics.enable': 'false',
    // The default would take half of the heap.
    'log.cleaner.dedupe.buffer.size': '4194304',
    ...(outerPort !== undefined && outerListener(users)),
  }
}

function outerListener(users: Users): Record<string, string> {
  const secure = Object.keys(users).length > 0
  const outer = secure ? 'SASL_PLAINTEXT' : 'PLAINTEXT'
  return {
    'listener.security.protocol.map': `PLAINTEXT:PLAINTEXT,OUTER:${outer},CONTROLLER:PLAINTEXT`,
    ...(secure && accessControl(users)),
  }
}

/** Users may do what ACLs allow. The listener without a login stays open to all, as the nodes themselves need it. */
function accessControl(users: Users): Record<string, string> {
  const logins = Object.entries(users).map(([name, password]) => `user_${name}="${password}"`)
  const login = `org.apache.kafka.common.security.plain.PlainLoginModule required ${logins.join(' ')};`
  return {
    'authorizer.class.name': 'org.apache.kafka.metadata.authorizer.StandardAuthorizer',
    'super.users': 'User:ANONYMOUS',
    'sasl.enabled.mechanisms': 'PLAIN',
    'listener.name.outer.plain.sasl.jaas.config': login,
  }
}

export interface NodeOptions {
  node: NodeListeners
  cluster: NodeListeners[]
  /** Contains the node's configuration, data and log. */
  folder: string
  classPath: string
  scratch: string | undefined
  users: Users
  /** JVM flags. */
  jvm: readonly string[]
  properties: Readonly<Record<string, string>>
}

// An arbitrary cluster id: 16 bytes in base64url.
const clusterId = 'YnVzZ2F0ZS1idXNnYXRlMQ'

/** One node of the cluster: a JVM that can be restarted on the same data and address. */
export function localNode({ node, cluster, folder, classPath, scratch, users, jvm, ...options }: NodeOptions) {
  const dataDir = join(folder, 'data')
  const config = join(folder, 'server.properties')
  const name = `Kafka's node ${node.id}`
  let child: Child | undefined

  const java = (...command: string[]) => {
    const log = ['-Dorg.apache.logging.log4j.level=INFO', `-Djava.io.tmpdir=${folder}`]
    const args = [...jvm, ...log, '-cp', classPath, ...command]
    return startChild(javaCommand(), args, { cwd: folder, logFile: join(folder, 'node.log'), scratch })
  }

  const format = async () => {
    const tool = java('kafka.tools.StorageTool', 'format', '-t', clusterId, '-c', config)
    const { ok, how } = await tool.ended
    if (!ok) throw new Error(`${name} could not format ${dataDir}: StorageTool ${how}. Its last lines:\n${tool.tail()}`)
  }

  const end = async (signal: 'SIGTERM' | 'SIGKILL') => {
    child?.signal(signal)
    await child?.ended
  }

  return {
    /** Resolves when the node answers and has joined the cluster. */
    async start(): Promise<void> {
      if (child?.running()) return
      await mkdir(folder, { recursive: true })
      const properties = Object.entries({ ...serverProperties(node, cluster, dataDir, users), ...options.properties })
      await writeFile(config, properties.map(([key, value]) => `${key}=${value}\n`).join(''))
      if (!existsSync(join(dataDir, 'meta.properties'))) await format()
      child = java('kafka.Kafka', config)
      const joined = async () => (await nodesSeenFrom(`${node.host}:${node.port}`)).includes(node.id)
      await untilReady(name, joined, child)
    },
    /** Shuts down in order; kills after 10 s. */
    async stop(): Promise<void> {
      await Promise.race([end('SIGTERM'), setTimeout(10_000, undefined, { ref: false })])
      await end('SIGKILL')
    },
    kill: () => end('SIGKILL'),
    freeze: () => child?.signal('SIGSTOP'),
    thaw: () => child?.signal('SIGCONT'),
    /** @throws Error if the node is not running */
    pid(): number {
      if (!child?.running()) throw new Error(`${name} is not running`)
      return child.pid
    },
  }
}
