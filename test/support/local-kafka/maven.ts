import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, rename, rm, writeFile } from 'node:fs/promises'
import { delimiter, join } from 'node:path'
import { promisify } from 'node:util'
import { startChild } from './child.ts'

/** The default version. */
export const kafkaVersion = '4.3.0'
/** Each version needs its own slf4j implementation; without one it would fail without a log line. */
const loggers = {
  '4.3.0': ['org.apache.logging.log4j', 'log4j-slf4j-impl', '2.25.4'],
  '3.9.1': ['org.slf4j', 'slf4j-reload4j', '1.7.36'],
} as const
export type KafkaVersion = keyof typeof loggers
export const kafkaVersions = Object.keys(loggers) as KafkaVersion[]

export const registryVersion = '2.6.13.Final'

/** Delete this folder to download everything again. */
export const cache = join(import.meta.dirname, '../../../.cache')
const kafkaFolder = (version: KafkaVersion) => join(cache, `kafka-${version}`)
const registryFolder = join(cache, `apicurio-registry-${registryVersion}`)

const dependencyPlugin = 'org.apache.maven.plugins:maven-dependency-plugin:3.8.1'

// Of kafka-tools only the console consumer is used, which needs none of its dependencies.
function pom(version: KafkaVersion): string {
  const [group, artifact, loggerVersion] = loggers[version]
  return `<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>busgate</groupId><artifactId>local-kafka</artifactId><version>1</version><packaging>pom</packaging>
  <dependencies>
    <dependency>
      <groupId>org.apache.kafka</groupId><artifactId>kafka_2.13</artifactId><version>${version}</version>
    </dependency>
    <dependency>
      <groupId>org.apache.kafka</groupId><artifactId>kafka-tools</artifactId><version>${version}</version>
      <exclusions><exclusion><groupId>*</groupId><artifactId>*</artifactId></exclusion></exclusions>
    </dependency>
    <dependency>
      <groupId>${group}</groupId><artifactId>${artifact}</artifactId><version>${loggerVersion}</version>
    </dependency>
  </dependencies>
</project>
`
}

/** Configures Log4j 1, which writes nothing without it. Log4j 2 ignores it. */
const log4jProperties = `log4j.rootLogger=INFO, stderr
log4j.appender.stderr=org.apache.log4j.ConsoleAppender
log4j.appender.stderr.target=System.err
log4j.appender.stderr.layout=org.apache.log4j.PatternLayout
log4j.appender.stderr.layout.ConversionPattern=[%d] %p %m (%c)%n
`

/** The class path of Apache Kafka, which is downloaded the first time. */
export async function kafkaClassPath(
  log: (line: string) => void,
  version: KafkaVersion = kafkaVersion,
): Promise<string> {
  const folder = kafkaFolder(version)
  await fetchOnce(folder, async part => {
    log(`fetching Apache Kafka ${version} from Maven Central (44 MB, only this once)`)
    await writeFile(join(part, 'pom.xml'), pom(version))
    await writeFile(join(part, 'log4j.properties'), log4jProperties)
    await maven(part, 'copy-dependencies')
  })
  return [folder, join(folder, '*')].join(delimiter)
}

/** The jar of Apicurio Registry with in-memory storage. */
export async function registryJar(log: (line: string) => void): Promise<string> {
  await fetchOnce(registryFolder, async folder => {
    log(`fetching Apicurio Registry ${registryVersion} from Maven Central (136 MB, only this once)`)
    await maven(folder, 'unpack', `-Dartifact=io.apicurio:apicurio-registry-app:${registryVersion}:tar.gz:all`)
  })
  return join(registryFolder, `apicurio-registry-app-${registryVersion}-runner.jar`)
}

/** Fills a temporary folder and renames it to `target`, so that the first of several processes wins. */
export async function fetchOnce(target: string, fetch: (folder: string) => Promise<void>): Promise<void> {
  if (existsSync(target)) return
  await mkdir(cache, { recursive: true })
  const folder = await mkdtemp(`${target}.part-`)
  try {
    await fetch(folder)
    await rename(folder, target)
  } catch (error) {
    if (!existsSync(target)) throw error
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

/** Runs a goal of Maven's dependency plugin on the folder's pom.xml, with the folder as its output. */
export async function maven(folder: string, goal: string, ...options: string[]): Promise<void> {
  const args = ['-q', '-B', '-Dstyle.color=never', `${dependencyPlugin}:${goal}`, `-DoutputDirectory=${folder}`]
  const child = startChild('mvn', [...args, ...options], {
    cwd: folder,
    logFile: join(folder, 'maven.log'),
    scratch: folder,
  })
  const { ok, how } = await child.ended
  if (ok) return
  throw new Error(
    `Maven ${how} and fetched nothing. It needs Maven Central or a mirror of it (~/.m2/settings.xml): ` +
      `check both and start again. The last lines of its log:\n${child.tail()}`,
  )
}

export type Availability = { ok: true } | { ok: false; reason: string }

/** Flags for a short test on a busy machine: no second compiler, no collector threads, no files in /tmp. */
export const jvmFlags = ['-Xmx256m', '-XX:TieredStopAtLevel=1', '-XX:+UseSerialGC', '-XX:-UsePerfData']

export function javaCommand(): string {
  return process.env.JAVA_HOME ? join(process.env.JAVA_HOME, 'bin', 'java') : 'java'
}

/** Tells whether a local Kafka can be started: it needs Java 17 or newer and, until the cache is filled, Maven. */
export function javaAvailable(): Promise<Availability> {
  answer ??= look()
  return answer
}

/** @throws Error that says what is missing */
export async function requireJava(): Promise<void> {
  const java = await javaAvailable()
  if (!java.ok) throw new Error(java.reason)
}

let answer: Promise<Availability> | undefined

async function look(): Promise<Availability> {
  if (process.platform === 'win32') return missing('A local Kafka is started by a POSIX shell: use WSL or Docker.')
  const version = /version "(\d+)/.exec(await output(javaCommand(), '-version'))?.[1]
  if (!version) return missing(`No JVM answers to "${javaCommand()} -version": install Java 17 or newer.`)
  if (Number(version) < 17) return missing(`${javaCommand()} is too old: install Java 17 or newer, or set JAVA_HOME.`)
  const isFetched = existsSync(kafkaFolder(kafkaVersion)) && existsSync(registryFolder)
  if (isFetched || (await output('mvn', '-v')).includes('Apache Maven')) return { ok: true }
  return missing('No Maven answers to "mvn -v": install Maven 3.8 or newer, it fetches Kafka.')
}

function missing(reason: string): Availability {
  return { ok: false, reason }
}

/** The output of a program; empty if it cannot be run. */
async function output(command: string, argument: string): Promise<string> {
  return promisify(execFile)(command, [argument]).then(
    ({ stdout, stderr }) => stdout + stderr,
    () => '',
  )
}
