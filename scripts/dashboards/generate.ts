/**
 * Writes helm/dashboards/*.json, the dashboards for Grafana.
 * With --check it writes nothing and fails when a file is stale.
 */
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { callbacks } from './callbacks.ts'
import { channels } from './channels.ts'
import { gateway } from './gateway.ts'
import { kafka } from './kafka.ts'
import { overview } from './overview.ts'

const folder = new URL('../../helm/dashboards/', import.meta.url)
const made = new Map(
  [overview(), channels(), gateway(), kafka(), callbacks()].map(dashboard => [
    `${dashboard.uid}.json`,
    `${JSON.stringify(dashboard, inSight, 2)}\n`,
  ]),
)

/** The builders hide links and annotations in a menu. */
function inSight(key: string, value: unknown): unknown {
  return key === 'placement' && value === 'inControlsMenu' ? undefined : value
}

if (!process.argv.includes('--check')) {
  mkdirSync(folder, { recursive: true })
  for (const [name, text] of made) writeFileSync(new URL(name, folder), text)
} else {
  const there = readdirSync(folder)
  const stale = [...made].filter(
    ([name, text]) => !there.includes(name) || readFileSync(new URL(name, folder), 'utf8') !== text,
  )
  const others = there.filter(name => !made.has(name))
  if (stale.length > 0 || others.length > 0) {
    const names = [...stale.map(([name]) => name), ...others].join(', ')
    console.error(
      `helm/dashboards: ${names} not as made: run node scripts/dashboards/generate.ts, delete what it does not make`,
    )
    process.exitCode = 1
  }
}
