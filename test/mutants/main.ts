/** Plants random mutants in the delivery path, one at a time, and looks whether unit tests or simulated worlds notice them. */
import { hash } from 'node:crypto'
import { globSync, readFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { type Mutant, mutantsOf } from './mutator.ts'
import { isNamed, outdated, readSurvivors, type Survivor, survivorsFile } from './survivors.ts'
import { Trial } from './trial.ts'

const help = `npm run mutants -- [--count 30] [--seed N] [--file PART] [--seconds S]
  --count    number of mutants
  --seed     the sample; by default a new one in each run
  --file     only in files whose path contains this
  --line     only in this line of them
  --seconds  starts no further mutant after this time
  --measure  first runs all tests to see which places they execute: some minutes, worth it for many mutants; later only those that changed
  --jobs     mutants that are tried at the same time; default 1
  --named    tries the named survivors, too, which must still survive
  --allow    percentage of the sample that may survive unnamed without failing the run; default 0`

const folders = [
  'worker',
  'bus/session',
  'bus/membership',
  'bus/transactions',
  'records',
  'control',
  'callbacks',
  'reconciler',
]
const { values } = parseArgs({
  options: {
    count: { type: 'string', default: '30' },
    seed: { type: 'string' },
    file: { type: 'string', default: '' },
    line: { type: 'string' },
    seconds: { type: 'string', default: 'Infinity' },
    measure: { type: 'boolean', default: false },
    jobs: { type: 'string', default: '1' },
    named: { type: 'boolean', default: false },
    allow: { type: 'string', default: '0' },
    help: { type: 'boolean' },
  },
})

if (values.help) console.log(help)
else process.exitCode = (await run()) ? 0 : 1

/** @returns whether few enough survivors are unnamed */
async function run(): Promise<boolean> {
  const survivors = readSurvivors()
  const gone = outdated(survivors)
  for (const row of gone)
    console.error(`the code of a survivor is gone, delete its row in ${survivorsFile}: ${textOf(row)}`)
  const seed = values.seed === undefined ? Math.floor(Math.random() * 1e9) : Number(values.seed)
  console.log(`--seed ${seed}`)
  if (values.measure) await new Trial().measure(files())
  const trials = Array.from({ length: Number(values.jobs) }, () => new Trial())
  return (await tryAll(sample(seed), survivors, trials)) && gone.length === 0
}

function files(): string[] {
  const all = folders.flatMap(folder => globSync(`src/${folder}/**/*.ts`))
  return all.filter(file => !file.endsWith('generated.ts'))
}

function sample(seed: number): Mutant[] {
  const wanted = files()
    .filter(file => file.includes(values.file))
    .sort()
  const all = wanted.flatMap(file => mutantsOf(file, readFileSync(file, 'utf8')))
  const some = all.filter(({ at }) => values.line === undefined || at === Number(values.line))
  const drawn = some.map(mutant => ({ mutant, key: keyOf(seed, mutant) })).sort((a, b) => (a.key < b.key ? -1 : 1))
  const mutants = drawn.slice(0, Number(values.count)).map(({ mutant }) => mutant)
  console.log(`${mutants.length} of ${some.length} mutants in ${wanted.length} files`)
  return mutants
}

/** Its place in the sample. It depends on nothing else, so a change of the code leaves the rest of the sample as it is. */
function keyOf(seed: number, { file, line, becomes }: Mutant): string {
  return hash('sha256', [seed, file, line, becomes].join('\n'))
}

async function tryAll(
  mutants: readonly Mutant[],
  survivors: readonly Survivor[],
  trials: readonly Trial[],
): Promise<boolean> {
  const began = performance.now()
  const elapsed = () => (performance.now() - began) / 1000
  let [tried, survived, unnamed] = [0, 0, 0]
  const left = mutants.values()
  const tryNext = async (trial: Trial) => {
    for (const mutant of left) {
      if (elapsed() > Number(values.seconds)) return
      const started = elapsed()
      const named = isNamed(survivors, mutant)
      const killer = named && !values.named ? null : await trial.killerOf(mutant)
      tried++
      if (killer === null) survived++
      if (killer === null && !named) unnamed++
      console.log(`${verdict(killer, named)} after ${(elapsed() - started).toFixed(0)} s: ${textOf(mutant)}`)
      if (killer !== null && named) console.log(`  it is named in ${survivorsFile}: delete its row`)
    }
  }
  await Promise.all(trials.map(tryNext))
  const red = new Set((await Promise.all(trials.map(trial => trial.falseKillers()))).flat())
  for (const name of red) console.error(`${name} fails without a mutant, so its kills prove nothing`)
  const share = ((100 * survived) / Math.max(1, tried)).toFixed(1)
  console.log(
    `${tried} tried, ${survived} survived (${share} %), ${unnamed} of them unnamed, ${elapsed().toFixed(0)} s`,
  )
  if (unnamed > 0) console.error(`test what a user would notice, delete the code, or name it in ${survivorsFile}`)
  return 100 * unnamed <= Number(values.allow) * mutants.length && red.size === 0
}

function verdict(killer: string | null, named: boolean): string {
  if (killer !== null) return `killed by ${killer}`
  return named ? 'survived, as named' : 'SURVIVED'
}

function textOf({ file, line, becomes, ...rest }: Pick<Mutant, 'file' | 'line' | 'becomes'> & { at?: number }): string {
  const where = rest.at === undefined ? file : `${file}:${rest.at}`
  return `${where}\n    ${line}\n  → ${becomes}`
}
