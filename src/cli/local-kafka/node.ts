import { existsSync } from 'node:fs'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { type Child, startChild } from './child.ts'
import { javaCommand } from './java.ts'
import { type NodeListeners, serverProperties, type Users } from './properties.ts'
import { nodesSeenFrom, untilReady } from './ready.ts'

/** One node of the cluster: a JVM that comes and goes over the same data, at the same address. */
export interface LocalNode {
  /** Resolves when the node answers and has joined the cluster. */
  start(): Promise<void>
  /** An orderly shutdown; after 10 s a kill. */
  stop(): Promise<void>
  kill(): Promise<void>
  freeze(): void
  thaw(): void
  /** @throws Error when it does not run */
  pid(): number
}

export interface NodeOptions {
  node: NodeListeners
  cluster: NodeListeners[]
  /** Keeps the node's configuration, data and log. */
  folder: string
  classPath: string
  scratch: string | undefined
  users: Users
  /** Flags of its JVM. */
  jvm: readonly string[]
  properties: Readonly<Record<string, string>>
}

// Any cluster id does: 16 bytes in base64url.
const clusterId = 'YnVzZ2F0ZS1idXNnYXRlMQ'

export function localNode({
  node,
  cluster,
  folder,
  classPath,
  scratch,
  users,
  jvm,
  ...options
}: NodeOptions): LocalNode {
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
    async start() {
      if (child?.running()) return
      await mkdir(folder, { recursive: true })
      const properties = Object.entries({ ...serverProperties(node, cluster, dataDir, users), ...options.properties })
      await writeFile(config, properties.map(([key, value]) => `${key}=${value}\n`).join(''))
      if (!existsSync(join(dataDir, 'meta.properties'))) await format()
      child = java('kafka.Kafka', config)
      const joined = async () => (await nodesSeenFrom(`${node.host}:${node.port}`)).includes(node.id)
      await untilReady(name, joined, child)
    },
    async stop() {
      await Promise.race([end('SIGTERM'), setTimeout(10_000, undefined, { ref: false })])
      await end('SIGKILL')
    },
    kill: () => end('SIGKILL'),
    freeze: () => child?.signal('SIGSTOP'),
    thaw: () => child?.signal('SIGCONT'),
    pid() {
      if (!child?.running()) throw new Error(`${name} does not run`)
      return child.pid
    },
  }
}
