/** Runs the worker's real code in seeded worlds with faults, and checks the promises of docs/delivery.md after each. */
import { parseArgs } from 'node:util'
import { type Planted, planted } from '../test/simulation/planted.ts'
import { type Outcome, runSeed } from '../test/simulation/world.ts'

const help = `npm run simulate -- --seeds 10000 [--from 1]   stops at the first seed that fails; prints it and the violated invariant
npm run simulate -- --seed N                   replays one seed and prints its events
npm run simulate -- --planted [NAME …]         plants bugs in the running code and looks for them`

const { values, positionals } = parsed()

if (values.help) console.log(help)
else if (values.seed !== undefined) await replay(wholeNumber('--seed', values.seed))
else if (values.planted) await lookForPlanted(positionals, wholeNumber('--seeds', values.seeds ?? '6000'))
else await runSeeds(wholeNumber('--from', values.from), wholeNumber('--seeds', values.seeds ?? '1000'))

function parsed() {
  try {
    return parseArgs({
      allowPositionals: true,
      options: {
        seeds: { type: 'string' },
        from: { type: 'string', default: '1' },
        seed: { type: 'string' },
        planted: { type: 'boolean', default: false },
        help: { type: 'boolean', default: false },
      },
    })
  } catch (error) {
    console.error(`${(error as Error).message}\n\n${help}`)
    return process.exit(1)
  }
}

async function runSeeds(from: number, count: number): Promise<void> {
  const started = performance.now()
  const totals: Record<string, number> = {}
  for (let seed = from; seed < from + count; seed++) {
    const outcome = await runSeed(seed)
    if (outcome.violation) {
      console.log(`seed ${seed}: ${describe(outcome)}`)
      console.log(`replay it with: npm run simulate -- --seed ${seed}`)
      process.exitCode = 1
      return
    }
    for (const [name, number] of Object.entries(outcome.counts)) totals[name] = (totals[name] ?? 0) + number
  }
  const seconds = (performance.now() - started) / 1000
  console.log(`${count} seeds, nothing violated, ${(count / seconds).toFixed(0)} seeds a second`)
  console.log(totals)
}

async function replay(seed: number): Promise<void> {
  const outcome = await runSeed(seed, { trace: true })
  for (const line of outcome.trace) console.log(line)
  console.log(`seed ${seed}: ${outcome.violation ? describe(outcome) : 'nothing violated'}`)
  if (outcome.violation) process.exitCode = 1
}

async function lookForPlanted(names: readonly string[], seeds: number): Promise<void> {
  const bugs = Object.entries(planted).flatMap(([breaks, all]) => all.map(bug => ({ ...bug, breaks })))
  const unknown = names.filter(name => !bugs.some(bug => bug.name === name))
  if (unknown.length > 0)
    throw new Error(`no planted bug is named ${unknown.join(', ')}: see test/simulation/planted.ts`)
  for (const bug of bugs) {
    if (names.length > 0 && !names.includes(bug.name)) continue
    const { found, says } = await find(bug, seeds)
    console.log(`${found ? 'found    ' : 'NOT FOUND'} ${bug.name}\n          ${bug.what}\n          ${says}`)
    if (!found) process.exitCode = 1
  }
}

/** Looks for a world that violates the bug's invariant, and only with the bug. */
async function find(bug: Planted & { breaks: string }, seeds: number): Promise<{ found: boolean; says: string }> {
  for (let seed = 1; seed <= seeds; seed++) {
    const takeOut = bug.plant()
    const outcome = await runSeed(seed).finally(takeOut)
    if (outcome.violation?.invariant !== bug.breaks) continue
    const without = await runSeed(seed)
    if (without.violation)
      return { found: false, says: `seed ${seed} fails without the bug, too: ${describe(without)}` }
    return { found: true, says: `seed ${seed}: ${describe(outcome)}` }
  }
  return { found: false, says: `no world of ${seeds} breaks "${bug.breaks}"` }
}

function describe({ violation }: Outcome): string {
  return `${violation!.invariant}: ${violation!.detail}`
}

function wholeNumber(option: string, text: string): number {
  if (!/^\d+$/.test(text)) throw new Error(`${option} must be a whole number`)
  return Number(text)
}
