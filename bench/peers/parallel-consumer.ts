import { execFile } from 'node:child_process'
import { mkdir, writeFile } from 'node:fs/promises'
import { delimiter, join } from 'node:path'
import { promisify } from 'node:util'
import { cache, fetchOnce, javaAvailable, javaCommand, maven } from '../../src/cli/local-kafka/maven.ts'
import { Processes } from '../processes.ts'
import type { Program } from '../program.ts'
import { jobOf } from './job.ts'

const version = '0.5.3.3'
const folder = join(cache, `parallel-consumer-${version}`)
const source = join(import.meta.dirname, 'ParallelConsumerPeer.java')

const pom = `<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>busgate</groupId><artifactId>parallel-consumer-peer</artifactId><version>1</version><packaging>pom</packaging>
  <dependencies>
    <dependency>
      <groupId>io.confluent.parallelconsumer</groupId><artifactId>parallel-consumer-vertx</artifactId>
      <version>${version}</version>
    </dependency>
    <dependency><groupId>org.apache.avro</groupId><artifactId>avro</artifactId><version>1.12.2</version></dependency>
    <dependency><groupId>org.slf4j</groupId><artifactId>slf4j-simple</artifactId><version>2.0.13</version></dependency>
  </dependencies>
</project>
`

const flags = ['-Xmx512m', '-XX:+UseParallelGC', '-XX:-UsePerfData', '-Dorg.slf4j.simpleLogger.defaultLogLevel=warn']

/**
 * Confluent's parallel-consumer on Vert.x, from Maven Central.
 * @throws Error that says what to do when it cannot be fetched or compiled
 */
export async function findParallelConsumer(): Promise<Program> {
  const java = await javaAvailable()
  if (!java.ok) throw new Error(`--peer parallel-consumer: ${java.reason}`)
  await fetchOnce(folder, async part => {
    await writeFile(join(part, 'pom.xml'), pom)
    await maven(part, 'copy-dependencies')
  })
  const classes = join(folder, 'classes')
  await mkdir(classes, { recursive: true })
  const classPath = [classes, join(folder, '*')].join(delimiter)
  await promisify(execFile)(`${javaCommand()}c`, ['-cp', classPath, '-d', classes, source]).catch((cause: Error) => {
    throw new Error(
      `--peer parallel-consumer: ${javaCommand()}c does not compile it; it needs a JDK, not a JRE alone`,
      {
        cause,
      },
    )
  })
  return {
    name: `parallel-consumer ${version}`,
    does: ({ kinds, hooks }) => kinds === 'sms' && !hooks,
    start: async options => ({
      processes: new Processes(
        Array.from({ length: options.scenario.processes }, () => ({
          command: javaCommand(),
          args: [...flags, '-cp', classPath, 'ParallelConsumerPeer', JSON.stringify(jobOf(options))],
        })),
      ),
      commits: async () => null,
    }),
  }
}
