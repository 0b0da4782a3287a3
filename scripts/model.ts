/**
 * Explores the model of ownership (test/model) to its end within each of its bounds.
 *   npm run model                                  prints the bounds and the number of states; fails with a counterexample
 *   npm run model -- offsets=2 rounds=2 crashes=1  within these bounds instead
 *   npm run model -- --planted [NAME ...]          makes rules wrong on purpose, and looks for what comes of it
 */
import { parseArgs } from 'node:util'
import { type Bounds, boundsInCi, leastBounds } from '../test/model/bounds.ts'
import { type Exploration, explore } from '../test/model/explorer.ts'
import { OwnershipModel } from '../test/model/model.ts'
import { type Planted, planted, rulesOf } from '../test/model/planted.ts'
import { promises } from '../test/model/promises.ts'
import { design } from '../test/model/rules.ts'

/** More states than that need more memory than a runner has. */
const mostStates = 16_000_000

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { planted: { type: 'boolean', default: false } },
})

if (values.planted) plantAll(positionals)
else for (const beyond of positionals.length > 0 ? [boundsOf(positionals)] : boundsInCi) check(beyond)

function check(beyond: Partial<Bounds>): void {
  const model = new OwnershipModel({ ...leastBounds, ...beyond }, design)
  const exploration = explored(model)
  const { states, exhausted, depth, counterexample, seconds } = exploration
  const end = exhausted ? 'nothing broken, all seen' : counterexample ? 'BROKEN' : 'NOT ALL SEEN'
  console.log(`${end}: ${inWords(beyond)}: ${states} states, up to ${depth} steps deep, ${seconds} s`)
  if (counterexample) console.log(model.story(exploration).join('\n'), `\n     ${counterexample.broken}`)
  if (!exhausted) process.exitCode = 1
}

function plantAll(names: readonly string[]): void {
  const unknown = names.filter(name => !Object.hasOwn(planted, name))
  if (unknown.length > 0) throw new Error(`no planted bug is named ${unknown.join(', ')}: see test/model/planted.ts`)
  for (const [name, bug] of Object.entries(planted)) if (names.length === 0 || names.includes(name)) plant(name, bug)
}

function plant(name: string, bug: Planted): void {
  const model = new OwnershipModel({ ...leastBounds, ...bug.bounds }, rulesOf(bug), bug.breaks)
  const { states, counterexample, seconds } = explored(model)
  const way = counterexample ? `found, after ${counterexample.steps.length} steps` : 'NOT FOUND'
  console.log(`${way}: ${name} (${promises[bug.breaks]}; ${states} states, ${seconds} s)`)
  if (!counterexample) process.exitCode = 1
}

function boundsOf(texts: readonly string[]): Partial<Bounds> {
  const wrong = texts.find(text => !/^\w+=\d$/.test(text) || !(text.split('=')[0]! in leastBounds))
  if (wrong) throw new Error(`${wrong}: a bound is NAME=DIGIT, with one of ${Object.keys(leastBounds).join(', ')}`)
  return Object.fromEntries(texts.map(text => text.split('=')).map(([name, count]) => [name, Number(count)]))
}

function inWords(beyond: Partial<Bounds>): string {
  const bounds = Object.entries({ ...leastBounds, ...beyond })
  return bounds.flatMap(([name, count]) => (count > 0 ? [`${name} ${count}`] : [])).join(', ')
}

function explored(model: OwnershipModel): Exploration & { seconds: string } {
  const started = performance.now()
  const exploration = explore(model, mostStates)
  return { ...exploration, seconds: ((performance.now() - started) / 1000).toFixed(0) }
}
