/**
 * Runs busgate with trouble on purpose, lets a real Prometheus scrape it, and asks it everything that the dashboards ask.
 * Fails when a panel stays empty that must not, when a rule or a target fails, or when an alert's text is broken.
 * Without --short it also draws every dashboard into .cache/look: pages, and pictures where chromium is there.
 * Usage: node test/observability/look.ts [--short] [--seconds N] [--folder DIR]
 * The bus is the embedded one, or that of KAFKA_BROKERS and REGISTRY_URL.
 */
import { execFileSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import type { Api, Span } from './look/api.ts'
import { type Dashboard, look, readDashboards, type Shown } from './look/frames.ts'
import { judge } from './look/judge.ts'
import { pageOf } from './look/page.ts'
import { drive } from './look/traffic.ts'
import { watched } from './look/watched.ts'

const { values: options } = parseArgs({
  options: { short: { type: 'boolean' }, seconds: { type: 'string' }, folder: { type: 'string' } },
})
const seconds = Number(options.seconds ?? (options.short ? 30 : 240))
const folder = resolve(options.folder ?? fileURLToPath(new URL('../../.cache/look', import.meta.url)))

await watched(async (run, prometheus) => {
  const from = Date.now() / 1000
  await drive(run, seconds)
  const span = { from, to: Date.now() / 1000 }

  const seen: [Dashboard, Shown[]][] = []
  for (const dashboard of readDashboards()) seen.push([dashboard, await look(dashboard, prometheus, span)])
  const faults = [...(await lastingComplaints(prometheus)), ...judge(seen, await prometheus.alerts())]
  for (const fault of faults) console.error(fault)
  const panels = seen.reduce((sum, [, shown]) => sum + shown.filter(({ frames }) => frames.length > 0).length, 0)
  console.log(`alerts that fired: ${(await prometheus.fired(span)).join(', ')}`)
  console.log(`${panels} panels of ${seen.length} dashboards after ${seconds} s: ${faults.length} faults`)
  process.exitCode = faults.length > 0 ? 1 : 0
  if (!options.short) draw(seen, span)
})

/** On a busy machine a scrape may fail now and then. */
async function lastingComplaints(prometheus: Api): Promise<string[]> {
  for (let tries = 10; tries > 0 && (await prometheus.complaints()).length > 0; tries--) await setTimeout(500)
  return prometheus.complaints()
}

function draw(seen: [Dashboard, Shown[]][], span: Span): void {
  mkdirSync(folder, { recursive: true })
  for (const [dashboard, shown] of seen) {
    const { html, size } = pageOf(dashboard, shown, span)
    const page = join(folder, `${dashboard.uid}.html`)
    writeFileSync(page, html)
    const picture = join(folder, `${dashboard.uid}.png`)
    console.log(photograph(page, picture, size) ? picture : page)
  }
}

/** @returns false where there is no chromium (Debian: apt-get install chromium) */
function photograph(page: string, picture: string, { width, height }: { width: number; height: number }): boolean {
  const look = ['--headless', '--no-sandbox', '--disable-gpu', '--hide-scrollbars', `--window-size=${width},${height}`]
  try {
    execFileSync('chromium', [...look, `--screenshot=${picture}`, `file://${page}`], { stdio: 'ignore' })
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return false
    throw error
  }
}
