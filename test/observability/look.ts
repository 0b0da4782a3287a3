/**
 * Runs busgate with deliberate faults, lets a real Prometheus scrape it, and runs all queries of the dashboards.
 * Fails if a panel that should show data stays empty, a rule or a target fails, or the text of an alert is broken.
 * Usage: node test/observability/look.ts [--seconds N]
 */
import { setTimeout } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import type { Api } from './look/api.ts'
import { type Dashboard, look, readDashboards, type Shown } from './look/frames.ts'
import { judge } from './look/judge.ts'
import { drive } from './look/traffic.ts'
import { watched } from './look/watched.ts'
import { questions } from './sources.ts'

const { values: options } = parseArgs({ options: { seconds: { type: 'string', default: '30' } } })
const seconds = Number(options.seconds)

await watched(async (run, prometheus) => {
  const from = Date.now() / 1000
  await drive(run, seconds)
  const found = async () => {
    const span = { from, to: Date.now() / 1000 }
    const seen: [Dashboard, Shown[]][] = []
    for (const dashboard of readDashboards()) seen.push([dashboard, await look(dashboard, prometheus, span)])
    const faults = [...judge(seen, await prometheus.alerts()), ...(await unanswered(prometheus, span.to))]
    return { span, seen, faults }
  }
  // On a busy machine, doubts and other work of the run end later.
  let { span, seen, faults } = await found()
  for (let tries = 20; tries > 0 && faults.length > 0; tries--) {
    await setTimeout(3_000)
    ;({ span, seen, faults } = await found())
  }
  faults.push(...(await lastingComplaints(prometheus)))
  for (const fault of faults) console.error(fault)
  const panels = seen.reduce((sum, [, shown]) => sum + shown.filter(({ frames }) => frames.length > 0).length, 0)
  console.log(`alerts that fired: ${(await prometheus.fired(span)).join(', ')}`)
  console.log(`${panels} panels of ${seen.length} dashboards after ${seconds} s: ${faults.length} faults`)
  process.exitCode = faults.length > 0 ? 1 : 0
})

/** The queries in docs/analytics.md that return nothing or only zeros. */
async function unanswered(prometheus: Api, time: number): Promise<string[]> {
  const faults: string[] = []
  for (const query of questions.flatMap(({ queries }) => queries)) {
    const series = await prometheus.instant(query, time)
    const values = series.flatMap(({ points }) => points.map(([, value]) => value))
    if (!values.some(value => value > 0)) faults.push(`docs/analytics.md shows nothing: ${query}`)
  }
  return faults
}

/** Complaints that stay: on a busy machine, single scrapes may fail. */
async function lastingComplaints(prometheus: Api): Promise<string[]> {
  for (let tries = 10; tries > 0 && (await prometheus.complaints()).length > 0; tries--) await setTimeout(500)
  return prometheus.complaints()
}
