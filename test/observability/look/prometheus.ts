import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createWriteStream, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { stringify } from 'yaml'
import { freePorts } from '../../support/local-kafka/ports.ts'
import { type Api, apiOf } from './api.ts'

const fetcher = fileURLToPath(new URL('../../../.ci/prometheus-fetch', import.meta.url))
const interval = '1s'

/** A real Prometheus. */
export interface Prometheus extends Api {
  stop(): Promise<void>
}

/**
 * Starts a Prometheus that scrapes the targets and evaluates the rules every second. Uses the binary on PATH, or fetches one.
 * @param folder for its files
 */
export async function startPrometheus(folder: string, targets: readonly string[], rules: string): Promise<Prometheus> {
  const bin = execFileSync(fetcher, { encoding: 'utf8' }).trim()
  const [port] = await freePorts(1)
  writeFileSync(join(folder, 'rules.yaml'), rules)
  const config = join(folder, 'prometheus.yaml')
  writeFileSync(
    config,
    stringify({
      global: { scrape_interval: interval, evaluation_interval: interval },
      rule_files: ['rules.yaml'],
      scrape_configs: [{ job_name: 'busgate', static_configs: [{ targets }] }],
    }),
  )
  const address = `127.0.0.1:${port}`
  const child = spawn(
    join(bin, 'prometheus'),
    [`--config.file=${config}`, `--storage.tsdb.path=${join(folder, 'data')}`, `--web.listen-address=${address}`],
    { stdio: ['ignore', 'ignore', 'pipe'] },
  )
  const logFile = join(folder, 'prometheus.log')
  child.stderr.pipe(createWriteStream(logFile))
  const ended = once(child, 'exit')

  const answers = async () => (await fetch(`http://${address}/-/ready`)).ok
  while (!(await answers().catch(() => false))) {
    if (child.exitCode !== null) throw new Error(`prometheus did not start, see ${logFile}`)
    await setTimeout(50)
  }
  return {
    ...apiOf(`http://${address}`),
    async stop() {
      child.kill()
      await ended
    },
  }
}
