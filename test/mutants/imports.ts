import { globSync, readFileSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'

/** Finds, for each file that a file imports directly or through others, the number of imports between them. */
export type Distances = ReadonlyMap<string, number>

const direct = new Map<string, string[]>()

function importsOf(file: string): string[] {
  let found = direct.get(file)
  if (!found) {
    const text = readFileSync(file, 'utf8').replace(/^import type [^']*'[^']*'$/gm, '')
    const paths = [...text.matchAll(/(?:\bfrom|\bimport\(?) ?'(\.{1,2}\/[^']+\.ts)'/g)]
    found = paths.map(([, path]) => normalize(join(dirname(file), path!)))
    direct.set(file, found)
  }
  return found
}

export function distancesFrom(file: string): Distances {
  const distances = new Map([[file, 0]])
  for (const [from, distance] of distances) {
    for (const to of importsOf(from)) if (!distances.has(to)) distances.set(to, distance + 1)
  }
  return distances
}

const endToEnd = /^test\/(worker|cli|ui|package|integration)\//

/** The unit tests that import a file, nearest and quickest first. */
export function coveringTests(file: string, milliseconds: ReadonlyMap<string, number>): string[] {
  const tests = globSync('test/**/*.test.ts').filter(test => !endToEnd.test(test))
  const cost = (test: string) => (milliseconds.get(test) ?? 1000) * 2 ** distancesOf(test).get(file)!
  return tests.filter(test => distancesOf(test).has(file)).sort((a, b) => cost(a) - cost(b))
}

const known = new Map<string, Distances>()

function distancesOf(test: string): Distances {
  let distances = known.get(test)
  if (!distances) {
    distances = distancesFrom(test)
    known.set(test, distances)
  }
  return distances
}
