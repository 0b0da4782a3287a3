/**
 * Runs busgate without traffic, restarts one of its processes, and lets a real Prometheus scrape it, with alerts that fire
 * within seconds. Fails if an alert fires, or if a target or a rule fails. promtool tests what takes hours
 * (rules/quiet.test.yaml).
 */
import { setTimeout } from 'node:timers/promises'
import { watched } from './look/watched.ts'

await watched(async (run, prometheus) => {
  const from = Date.now() / 1000
  await setTimeout(15_000)
  await run.restartSecond(1000)
  await setTimeout(15_000)
  const span = { from, to: Date.now() / 1000 }
  const fired = await prometheus.fired(span)
  const ready = await prometheus.instant('sum by (role) (min_over_time(busgate_ready[10s])) > 0', span.to)
  const roles = ready.map(({ labels }) => labels.role!).sort()
  const faults = [...(await prometheus.complaints()), ...fired.map(name => `${name} fired`)]
  if (roles.join() !== 'callbacks,reconciler,worker') faults.push(`only these roles are ready: ${roles.join()}`)
  for (const fault of faults) console.error(fault)
  console.log(`idle installation with a restart: ${faults.length} faults`)
  process.exitCode = faults.length > 0 ? 1 : 0
})
