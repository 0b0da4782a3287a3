import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { fetched } from './maven.ts'

export type Availability = { ok: true } | { ok: false; reason: string }

/** Flags for a short life beside other work: no second compiler, no collector threads, no files in /tmp. */
export const jvmFlags = ['-Xmx256m', '-XX:TieredStopAtLevel=1', '-XX:+UseSerialGC', '-XX:-UsePerfData']

export function javaCommand(): string {
  return process.env.JAVA_HOME ? join(process.env.JAVA_HOME, 'bin', 'java') : 'java'
}

/** Tells whether a local Kafka can be started here: a JVM from 17 on and, until the cache is filled, Maven. */
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
  if (fetched() || (await output('mvn', '-v')).includes('Apache Maven')) return { ok: true }
  return missing('No Maven answers to "mvn -v": install Maven 3.8 or newer, it fetches Kafka.')
}

function missing(reason: string): Availability {
  return { ok: false, reason }
}

/** Runs a program and gives what it writes; empty when it cannot be run. */
async function output(command: string, argument: string): Promise<string> {
  return promisify(execFile)(command, [argument]).then(
    ({ stdout, stderr }) => stdout + stderr,
    () => '',
  )
}
