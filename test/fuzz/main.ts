/**
 * Gives random foreign data to busgate's code, and checks that each case ends as a value or a documented error, within its
 * bounds of time and memory. A seed repeats a case.
 */
import { parseArgs } from 'node:util'
import { Random } from '../simulation/random.ts'
import type { Grammar } from './grammar.ts'
import { grammars } from './grammars.ts'
import { takePeaks } from './measure.ts'
import { Watchdog } from './watchdog.ts'

const help = `npm run fuzz -- [--seconds 60] [--seed N] [--grammar NAME]   stops at the first seed that fails, and prints how to repeat it
--seconds   how long in all, shared by the grammars; 0 runs one seed of each
--seed      the first seed; a random one by default
--grammar   only this one of: ${Object.keys(grammars).join(', ')}`

const { seconds, seed, names } = parsed()
for (const name of names) await fuzz(name, grammars[name]!)

function parsed() {
  try {
    const { values } = parseArgs({
      options: { seconds: { type: 'string' }, seed: { type: 'string' }, grammar: { type: 'string' } },
    })
    const { grammar } = values
    if (grammar !== undefined && !Object.hasOwn(grammars, grammar)) throw new Error(`there is no grammar ${grammar}`)
    return {
      seconds: wholeNumber('--seconds', values.seconds ?? '60'),
      seed: wholeNumber('--seed', values.seed ?? String(Math.floor(Math.random() * 2 ** 31))),
      names: grammar === undefined ? Object.keys(grammars) : [grammar],
    }
  } catch (error) {
    console.error(`${(error as Error).message}\n\n${help}`)
    return process.exit(1)
  }
}

function wholeNumber(flag: string, text: string): number {
  if (/^\d{1,12}$/.test(text)) return Number(text)
  throw new Error(`${flag} must be a whole number`)
}

async function fuzz(name: string, { about, start }: Grammar): Promise<void> {
  const repeat = `npm run fuzz -- --grammar ${name}`
  const running = await start()
  const watchdog = new Watchdog(repeat, seed)
  const until = performance.now() + (seconds * 1000) / names.length
  let next = seed
  try {
    do {
      await running.run(new Random(next++))
      watchdog.next()
    } while (performance.now() < until)
    const peaks = takePeaks()
    const slowest = peaks.ms > 0 ? `; slowest ${peaks.ms.toFixed(1)} ms, largest ${peaks.mib.toFixed(1)} MiB` : ''
    console.log(`${name} (${about}): ${next - seed} seeds from ${seed}, none failed${slowest}`)
  } catch (error) {
    process.exitCode = 1
    console.error(`${name}, seed ${next - 1}: ${(error as Error).message}`)
    console.error(`repeat it with: ${repeat} --seed ${next - 1} --seconds 0`)
  } finally {
    if (running.figures) console.log(running.figures())
    watchdog.stop()
    await running.stop?.()
  }
}
