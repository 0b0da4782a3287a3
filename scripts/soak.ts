/**
 * Runs the checks that take too long for each commit: planted bugs, thousands of worlds, hours of fuzzing, long chaos runs
 * and hostile senders.
 * A failed step does not stop the others. Prints a table. Needs a JVM and Maven, like CI.
 *   npm run soak                    all steps, in some hours
 *   npm run soak -- worlds chaos    the steps whose names begin with these words
 */
import { spawn } from 'node:child_process'
import { mkdtempSync, openSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

interface Step {
  name: string
  what: string
  /** Arguments for `npm run`. */
  run: readonly string[]
}

const freshSeed = String(1_000_000 + Math.floor(Math.random() * 1_000_000_000))

const chaos = (name: string, what: string, args: string): Step => ({
  name: `chaos-${name}`,
  what,
  run: ['chaos', '--', ...args.split(' ')],
})

const steps: readonly Step[] = [
  { name: 'planted-worlds', what: 'each planted bug is found', run: ['simulate', '--', '--planted'] },
  { name: 'worlds', what: '5,000 worlds', run: ['simulate', '--', '--seeds', '5000'] },
  {
    name: 'worlds-fresh',
    what: `5,000 worlds from seed ${freshSeed} on`,
    run: ['simulate', '--', '--seeds', '5000', '--from', freshSeed],
  },
  {
    name: 'mutants',
    what: '300 mutants, of which tests notice 92 %',
    run: ['mutants', '--', '--measure', '--jobs', '2', '--named', '--count', '300', '--allow', '8'],
  },
  { name: 'fuzz', what: 'three hours of foreign data', run: ['fuzz', '--', '--seconds', '10800'] },
  chaos('moves', 'three workers are replaced in turn', '--restart-workers --commands 40000'),
  chaos('scale', 'one worker, three, and one again', '--scale --commands 40000'),
  chaos('shape', 'topics, group and settings change for 20 minutes', '--shape --commands 72000 --rate 60'),
  chaos('matrix', 'every kind of fault on both versions of Kafka', '--matrix --commands 300000'),
  { name: 'analytics', what: 'every engine in analytics produces the expected table', run: ['analytics'] },
  { name: 'hostile', what: 'honest senders are served during attacks', run: ['bench', '--', 'hostile'] },
]

interface Row {
  step: string
  'what it did': string
  'took, s': number
  result: string
}

const wanted = process.argv.slice(2)
const unknown = wanted.filter(name => !steps.some(step => step.name.startsWith(name)))
if (unknown.length > 0) {
  console.error(`there is no step ${unknown.join(', ')}, only ${steps.map(({ name }) => name).join(', ')}`)
  process.exit(1)
}
const logs = mkdtempSync(join(tmpdir(), 'busgate-soak-'))
const rows: Row[] = []
for (const step of steps) {
  if (wanted.length > 0 && !wanted.some(name => step.name.startsWith(name))) continue
  console.log(`${step.name}: npm run ${step.run.join(' ')}`)
  rows.push(await rowOf(step))
  console.table(rows)
}
process.exitCode = rows.every(({ result }) => result === 'passed') ? 0 : 1

async function rowOf({ name, what, run }: Step): Promise<Row> {
  const log = join(logs, `${name}.log`)
  const file = openSync(log, 'w')
  const began = performance.now()
  const child = spawn('npm', ['run', ...run], { stdio: ['ignore', file, file] })
  const code = await new Promise<number | null>((resolve, reject) => child.on('error', reject).on('close', resolve))
  const seconds = Math.round((performance.now() - began) / 1000)
  return { step: name, 'what it did': what, 'took, s': seconds, result: code === 0 ? 'passed' : `FAILED: ${log}` }
}
