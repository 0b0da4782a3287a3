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

/** These run built files, browsers or brokers; those with foreign data measure time and memory, and mutants make them slow. */
const others = /^test\/(ui|package|integration|fuzz)\//
const tests = globSync('test/**/*.test.ts').filter(test => !others.test(test))

/** Whether a test runs whole workers or command lines. It imports nearly all files, and takes long. */
export const isEndToEnd = (test: string): boolean => /^test\/(create-worker|cli)\//.test(test)

const fromTests = new Map<string, Distances>()

/** The tests that import a file, each with the number of imports between them. */
export function testsThatImport(file: string): { test: string; distance: number }[] {
  return tests.flatMap(test => {
    const distance = distancesOf(test).get(file)
    return distance === undefined ? [] : [{ test, distance }]
  })
}

function distancesOf(test: string): Distances {
  let distances = fromTests.get(test)
  if (!distances) {
    distances = distancesFrom(test)
    fromTests.set(test, distances)
  }
  return distances
}
