import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { startChild } from './child.ts'

export const kafkaVersion = '4.3.0'
export const registryVersion = '2.6.13.Final'

/** At the root of the project, ignored by git. To fetch everything afresh, delete it. */
const cache = join(import.meta.dirname, '../../../.cache')
const kafkaFolder = join(cache, `kafka-${kafkaVersion}`)
const registryFolder = join(cache, `apicurio-registry-${registryVersion}`)

const dependencyPlugin = 'org.apache.maven.plugins:maven-dependency-plugin:3.8.1'

// Kafka comes without an implementation of slf4j and would start and fail in silence. Of its tools the console consumer
// is used, which needs nothing of what they depend on.
const pom = `<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>busgate</groupId><artifactId>local-kafka</artifactId><version>1</version><packaging>pom</packaging>
  <dependencies>
    <dependency>
      <groupId>org.apache.kafka</groupId><artifactId>kafka_2.13</artifactId><version>${kafkaVersion}</version>
    </dependency>
    <dependency>
      <groupId>org.apache.kafka</groupId><artifactId>kafka-tools</artifactId><version>${kafkaVersion}</version>
      <exclusions><exclusion><groupId>*</groupId><artifactId>*</artifactId></exclusion></exclusions>
    </dependency>
    <dependency>
      <groupId>org.apache.logging.log4j</groupId><artifactId>log4j-slf4j-impl</artifactId><version>2.25.4</version>
    </dependency>
  </dependencies>
</project>
`

/** Whether everything has been fetched before: then Maven is not needed. */
export function fetched(): boolean {
  return existsSync(kafkaFolder) && existsSync(registryFolder)
}

/** The class path of Apache Kafka. */
export async function kafkaClassPath(log: (line: string) => void): Promise<string> {
  await fetchOnce(kafkaFolder, async folder => {
    log(`fetching Apache Kafka ${kafkaVersion} from Maven Central (44 MB, only this once)`)
    await writeFile(join(folder, 'pom.xml'), pom)
    await maven(folder, 'copy-dependencies')
  })
  return join(kafkaFolder, '*')
}

/** The jar that runs Apicurio Registry with its schemas in memory. */
export async function registryJar(log: (line: string) => void): Promise<string> {
  await fetchOnce(registryFolder, async folder => {
    log(`fetching Apicurio Registry ${registryVersion} from Maven Central (136 MB, only this once)`)
    await maven(folder, 'unpack', `-Dartifact=io.apicurio:apicurio-registry-app:${registryVersion}:tar.gz:all`)
  })
  return join(registryFolder, `apicurio-registry-app-${registryVersion}-runner.jar`)
}

/** Fills a folder of its own and then renames it, so that of several processes at it the first wins. */
async function fetchOnce(target: string, fetch: (folder: string) => Promise<void>): Promise<void> {
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

async function maven(folder: string, goal: string, ...options: string[]): Promise<void> {
  const args = ['-q', '-B', '-Dstyle.color=never', `${dependencyPlugin}:${goal}`, `-DoutputDirectory=${folder}`]
  const child = startChild('mvn', [...args, ...options], {
    cwd: folder,
    logFile: join(folder, 'maven.log'),
    scratch: folder,
  })
  const { ok, how } = await child.ended
  if (ok) return
  throw new Error(
    `Maven ${how} and has fetched nothing. It needs Maven Central or a mirror of it (~/.m2/settings.xml): ` +
      `check both and start again. The last lines of its log:\n${child.tail()}`,
  )
}
