/**
 * Writes every generated file.
 *   npm run generate    writes them all; names those that cannot be made yet, with the reason
 *   npm run generated   writes nothing; names all stale ones, and fails
 *   npm run fix         writes them all, and formats the whole project
 */
import { spawnSync } from 'node:child_process'
import { parseArgs } from 'node:util'
import { stale } from './generated-file.ts'

/** The generators by what they write. None needs the output of a later one. */
const makers = {
  'the types of the records': './generate-types.ts',
  'docs/operations.md': './generate-operations-table.ts',
  'docs/assumptions.md': './generate-assumptions.ts',
  'docs/records.md': './generate-records.ts',
  'docs/metrics.md': './generate-metrics.ts',
  'docs/logs.md': './generate-logs.ts',
  'docs/settings.md': './generate-settings.ts',
  'docs/doctor.md': './generate-doctor.ts',
  "the chart's schema of settings": './generate-values-schema.ts',
  'helm/VALUES.md': './generate-values-table.ts',
  'the version': './generate-version.ts',
  'the dashboards': './dashboards/generate.ts',
}

const { values } = parseArgs({ options: { check: { type: 'boolean' }, format: { type: 'boolean' } } })

for (const [what, maker] of Object.entries(makers)) {
  try {
    await import(maker)
  } catch (error) {
    console.error(`${what} cannot be made yet (scripts/${maker.slice(2)}): ${placed(error as Error)}`)
    process.exitCode = 1
  }
}
if (stale.length > 0) {
  console.error(`${stale.join('\n')}\n${stale.length} stale: npm run generate writes them, npm run fix formats as well`)
  process.exitCode = 1
}
if (values.format) {
  const { status } = spawnSync('npx', ['biome', 'check', '--write', '--error-on-warnings', '.'], { stdio: 'inherit' })
  process.exitCode ||= status ?? 1
}

/** The error's message with the first place of this project in its stack. */
function placed({ message, stack = '' }: Error): string {
  const place = /(?:src|scripts|test)\/[\w./-]+:\d+/.exec(stack.replace(message, ''))
  return place ? `${message} (${place[0]})` : message
}
