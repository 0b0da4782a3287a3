import { writeFile } from 'node:fs/promises'
import { delimiter, join } from 'node:path'
import { startChild } from '../support/local-kafka/child.ts'
import { cache, fetchOnce, javaCommand, jvmFlags, kafkaVersion, maven } from '../support/local-kafka/maven.ts'
import { freePorts } from '../support/local-kafka/ports.ts'
import { copyJars, eventually } from './jars.ts'

const debezium = '3.6.0.Final'
const apicurio = '2.6.13.Final'

export interface Connect {
  /** Lists the failed tasks with their errors. */
  failures(): Promise<string[]>
  stop(): Promise<void>
}

/**
 * Starts Kafka Connect as `connect-standalone.sh` does. Downloads it and its plug-ins from Maven Central the first time.
 * @param worker settings of the worker, without address and plug-ins
 * @param connectors files in the folder
 */
export async function startConnect(
  folder: string,
  worker: string,
  connectors: readonly string[],
  log: (line: string) => void,
): Promise<Connect> {
  const home = join(cache, `connect-${kafkaVersion}-debezium-${debezium}`)
  await fetchOnce(home, async part => {
    log(
      `fetching Kafka Connect ${kafkaVersion} and Debezium's JDBC sink ${debezium} from Maven Central, only this once`,
    )
    const logger = ['org.apache.logging.log4j:log4j-slf4j-impl:2.25.4', 'org.apache.logging.log4j:log4j-core:2.25.4']
    await copyJars(join(part, 'libs'), {
      whole: [
        `org.apache.kafka:connect-runtime:${kafkaVersion}`,
        `org.apache.kafka:connect-json:${kafkaVersion}`,
        ...logger,
      ],
    })
    const converter = { whole: [`io.apicurio:apicurio-registry-utils-converter:${apicurio}`] }
    // Connect includes these itself.
    await copyJars(
      join(part, 'plugins/apicurio'),
      converter,
      '-DexcludeArtifactIds=connect-api,connect-json,kafka-clients',
    )
    const artifact = `io.debezium:debezium-connector-jdbc:${debezium}:tar.gz:plugin`
    const otherDrivers = ['ojdbc', 'mssql', 'mysql', 'mariadb'].map(name => `**/${name}*`).join()
    await maven(join(part, 'plugins'), 'unpack', `-Dartifact=${artifact}`, `-Dmdep.unpack.excludes=${otherDrivers}`)
  })
  const [port] = await freePorts(1)
  const address = `http://127.0.0.1:${port}`
  const own = `listeners=${address}\nplugin.path=${join(home, 'plugins')}\noffset.flush.interval.ms=1000\n`
  await writeFile(join(folder, 'worker.properties'), `${worker}\n${own}`)
  const classPath = [join(home, 'libs/*'), join(home, 'libs')].join(delimiter)
  const program = [
    '-cp',
    classPath,
    'org.apache.kafka.connect.cli.ConnectStandalone',
    'worker.properties',
    ...connectors,
  ]
  const child = startChild(javaCommand(), [...jvmFlags, '-Xmx512m', ...program], {
    cwd: folder,
    logFile: join(folder, 'connect.log'),
  })
  const tasks = async () => {
    const response = await fetch(`${address}/connectors?expand=status`)
    const all = (await response.json()) as Record<string, { status: { tasks: { state: string; trace?: string }[] } }>
    return Object.entries(all).flatMap(([name, { status }]) => status.tasks.map(task => ({ name, ...task })))
  }
  const stop = async () => {
    child.signal('SIGKILL')
    await child.ended
  }
  const started = async () => {
    if (!child.running()) throw new Error(`Kafka Connect ${(await child.ended).how}:\n${child.tail()}`)
    return (await tasks().catch(() => [])).length === connectors.length
  }
  try {
    await eventually('Kafka Connect', started, child.tail) // it scans all jars for plug-ins
  } catch (error) {
    await stop()
    throw error
  }
  return {
    failures: async () =>
      (await tasks()).filter(({ state }) => state === 'FAILED').map(({ name, trace }) => `${name}: ${trace}`),
    stop,
  }
}
