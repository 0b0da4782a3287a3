import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startChild, untilReady } from './child.ts'
import { javaCommand, jvmFlags, registryJar, registryVersion, requireJava } from './maven.ts'
import { freePorts } from './ports.ts'

/** The path of Apicurio Registry's Confluent-compatible API. */
export const confluentApi = '/apis/ccompat/v7'

/**
 * Starts Apicurio Registry from Maven Central on 127.0.0.1. It keeps its schemas in memory.
 * It ends when this process ends, even by kill -9.
 * @param log logs each step that takes long
 * @throws Error with the last lines of the registry's log if it does not start
 */
export async function startRegistry({ log = (_line: string) => {} } = {}) {
  await requireJava()
  const [port] = await freePorts(1)
  const jar = await registryJar(log)
  const folder = await mkdtemp(join(tmpdir(), 'busgate-registry-'))
  const url = `http://127.0.0.1:${port}${confluentApi}`

  log(`starting Apicurio Registry ${registryVersion}`)
  const settings = [`-Djava.io.tmpdir=${folder}`, '-Dquarkus.http.host=127.0.0.1', `-Dquarkus.http.port=${port}`]
  const child = startChild(javaCommand(), [...jvmFlags, ...settings, '-jar', jar], {
    cwd: folder,
    logFile: join(folder, 'registry.log'),
    scratch: folder,
  })
  const stop = async () => {
    child.signal('SIGKILL')
    await child.ended
    await rm(folder, { recursive: true, force: true })
  }
  try {
    const answers = async () => (await fetch(`${url}/subjects`, { signal: AbortSignal.timeout(5000) })).ok
    await untilReady('The schema registry', answers, child)
  } catch (error) {
    await stop()
    throw error
  }
  log(`the schema registry answers at ${url}`)
  /** `url` is the base address of the Confluent-compatible API. */
  return { url, stop }
}
