import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { fetchOnce, maven } from '../support/local-kafka/maven.ts'

/** Jars, named group:artifact:version. */
export interface Jars {
  /** Jars with all their dependencies. */
  whole: readonly string[]
  alone?: readonly string[]
}

/** Downloads jars from Maven Central into the folder, once. @param what their name and size, for the log */
export async function fetchJars(folder: string, what: string, jars: Jars, log: (line: string) => void): Promise<void> {
  await fetchOnce(folder, async part => {
    log(`fetching ${what} from Maven Central, only this once`)
    await copyJars(part, jars)
  })
}

/** @param options of Maven's copy-dependencies */
export async function copyJars(folder: string, { whole, alone = [] }: Jars, ...options: string[]): Promise<void> {
  await mkdir(folder, { recursive: true })
  const nothing = '<exclusions><exclusion><groupId>*</groupId><artifactId>*</artifactId></exclusion></exclusions>'
  const dependencies = [...whole.map(jar => dependency(jar, '')), ...alone.map(jar => dependency(jar, nothing))]
  const pom = `<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>busgate</groupId><artifactId>jars</artifactId><version>1</version><packaging>pom</packaging>
  <dependencies>
    ${dependencies.join('\n    ')}
  </dependencies>
</project>
`
  await writeFile(join(folder, 'pom.xml'), pom)
  await maven(folder, 'copy-dependencies', '-DincludeScope=runtime', ...options)
}

function dependency(jar: string, exclusions: string): string {
  const [group, artifact, version] = jar.split(':')
  const named = `<groupId>${group}</groupId><artifactId>${artifact}</artifactId><version>${version}</version>`
  return `<dependency>${named}${exclusions}</dependency>`
}

/** Polls each second until `isSo` is true. @param but details for the error after the time-out */
export async function eventually(what: string, isSo: () => Promise<boolean>, but = () => ''): Promise<void> {
  const deadline = Date.now() + patienceMs
  while (!(await isSo())) {
    if (Date.now() > deadline) throw new Error(`${what} not seen within ${patienceMs / 1000} s\n${but()}`)
    await setTimeout(1000)
  }
}

const patienceMs = 300_000
