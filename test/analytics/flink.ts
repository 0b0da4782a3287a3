import { execFile } from 'node:child_process'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { startChild, untilReady } from '../support/local-kafka/child.ts'
import { cache, javaCommand, jvmFlags } from '../support/local-kafka/maven.ts'
import { freePorts } from '../support/local-kafka/ports.ts'
import { fetchJars } from './jars.ts'

const version = '2.3.0'
const apacheFlink = (name: string, itsVersion = version) => `org.apache.flink:${name}:${itsVersion}`

/** The jars in the folder lib of Flink's distribution, and the two connectors of the example. */
const jars = {
  whole: [
    ...['runtime', 'streaming-java', 'clients', 'connector-files', 'json'].map(name => apacheFlink(`flink-${name}`)),
    ...['api-java-bridge', 'runtime', 'planner-loader'].map(name => apacheFlink(`flink-table-${name}`)),
    'org.apache.logging.log4j:log4j-slf4j-impl:2.25.4',
    'org.apache.logging.log4j:log4j-core:2.25.4',
  ],
  alone: [
    ...['sql-client', 'sql-gateway', 'python'].map(name => apacheFlink(`flink-${name}`)),
    apacheFlink('flink-sql-avro-confluent-registry'),
    apacheFlink('flink-sql-connector-kafka', '5.0.0-2.2'),
  ],
}

/** The packages that Flink's own scripts open. */
const opened = ['lang', 'net', 'io', 'nio', 'lang.reflect', 'text', 'time', 'util', 'util.concurrent']
const opens = opened.map(name => `--add-opens=java.base/java.${name}=ALL-UNNAMED`)

/** A cluster of one job manager and one task manager, as `start-cluster.sh` starts it. */
export interface Flink {
  /** Runs the statements of a file as `sql-client.sh -f` does. */
  run(sqlFile: string): Promise<void>
  stop(): Promise<void>
}

/** Starts a cluster with its files in the folder. Downloads Flink from Maven Central the first time. */
export async function startFlink(folder: string, log: (line: string) => void): Promise<Flink> {
  const lib = join(cache, `flink-${version}`)
  await fetchJars(lib, `Apache Flink ${version} (220 MB)`, jars, log)
  const [rpcPort, restPort] = (await freePorts(2)) as [number, number]
  const env = { ...process.env, FLINK_CONF_DIR: join(folder, 'conf') }
  await mkdir(env.FLINK_CONF_DIR, { recursive: true })
  await writeFile(join(env.FLINK_CONF_DIR, 'config.yaml'), settings(folder, rpcPort, restPort))
  const flags = [...jvmFlags, '-Xmx512m', ...opens, '-cp', join(lib, '*')]

  const start = (name: string, main: string) => {
    const logFile = join(folder, `${name}.log`)
    const args = [...flags, `org.apache.flink.runtime.${main}`, '--configDir', env.FLINK_CONF_DIR]
    return startChild(javaCommand(), args, { cwd: folder, env, logFile })
  }
  const workers = async () => {
    const response = await fetch(`http://127.0.0.1:${restPort}/overview`)
    return ((await response.json()) as { taskmanagers: number }).taskmanagers
  }

  const jobManager = start('job-manager', 'entrypoint.StandaloneSessionClusterEntrypoint')
  await untilReady("Flink's job manager", async () => (await workers()) === 0, jobManager)
  const taskManager = start('task-manager', 'taskexecutor.TaskManagerRunner')
  await untilReady("Flink's task manager", async () => (await workers()) === 1, taskManager)

  return {
    async run(sqlFile) {
      const client = ['org.apache.flink.table.client.SqlClient', 'embedded', '-f', sqlFile]
      const { stdout } = await promisify(execFile)(javaCommand(), [...flags, ...client], { cwd: folder, env })
      if (!stdout.includes('Job ID: ')) {
        throw new Error(`Flink runs no job of ${sqlFile}:\n${stdout.slice(stdout.indexOf('[ERROR]'))}`)
      }
    },
    async stop() {
      for (const child of [taskManager, jobManager]) child.signal('SIGKILL')
      await Promise.all([taskManager.ended, jobManager.ended])
    },
  }
}

const settings = (folder: string, rpcPort: number, restPort: number) => `\
jobmanager.rpc.address: 127.0.0.1
jobmanager.rpc.port: ${rpcPort}
jobmanager.bind-host: 127.0.0.1
rest.address: 127.0.0.1
rest.bind-address: 127.0.0.1
rest.port: ${restPort}
heartbeat.interval: 2 s
heartbeat.timeout: 10 s
execution.checkpointing.dir: file://${folder}/checkpoints
taskmanager.host: 127.0.0.1
taskmanager.bind-host: 127.0.0.1
taskmanager.numberOfTaskSlots: 1
taskmanager.cpu.cores: 1.0
taskmanager.memory.framework.heap.size: 128m
taskmanager.memory.framework.off-heap.size: 128m
taskmanager.memory.task.heap.size: 256m
taskmanager.memory.task.off-heap.size: 0m
taskmanager.memory.managed.size: 64m
taskmanager.memory.network.min: 64m
taskmanager.memory.network.max: 64m
taskmanager.memory.jvm-metaspace.size: 256m
taskmanager.memory.jvm-overhead.min: 192m
taskmanager.memory.jvm-overhead.max: 192m
`
