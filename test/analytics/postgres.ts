import { execFile, spawnSync } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { freePorts } from '../support/local-kafka/ports.ts'

/** Starts an empty PostgreSQL on a free port. */
export async function startPostgres(...settings: string[]) {
  const [port] = await freePorts(1)
  const folder = await mkdtemp(join(tmpdir(), 'busgate-postgres-'))
  const data = join(folder, 'data')
  // PostgreSQL refuses to run as root.
  const asRoot = process.getuid?.() === 0
  if (asRoot) spawnSync('chown', ['postgres', folder])
  const run = async (...command: string[]) => {
    const [program, ...args] = asRoot ? ['runuser', '-u', 'postgres', '--', ...command] : command
    await promisify(execFile)(program!, args)
  }
  await run('initdb', '-D', data, '-A', 'trust', '-U', 'postgres', '--no-sync', '--encoding', 'UTF8')
  const options = [`-p ${port}`, `-k ${folder}`, '-c listen_addresses=127.0.0.1', ...settings.map(one => `-c ${one}`)]
  await run('pg_ctl', '-D', data, '-l', join(folder, 'log'), '-o', options.join(' '), '-w', 'start')
  return {
    address: `postgresql://postgres@127.0.0.1:${port}/postgres`,
    async stop() {
      await run('pg_ctl', '-D', data, '-m', 'immediate', 'stop')
      await rm(folder, { recursive: true })
    },
  }
}
