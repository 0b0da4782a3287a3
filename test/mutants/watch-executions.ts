/** Vitest runs this file before each test file, to note which places of `src/` the tests of the file execute. */
import { writeFileSync } from 'node:fs'
import { type Profiler, Session } from 'node:inspector'
import { join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect } from 'vitest'
import type { Execution, Interval } from './executions.ts'

const shared = globalThis as { busgateProfiler?: Session }
shared.busgateProfiler ??= start()
const session = shared.busgateProfiler
let loaded: Execution['loaded']
let began: number

beforeAll(() => {
  loaded = take()
  began = performance.now()
})

afterAll(() => {
  const test = relative('.', expect.getState().testPath!)
  const execution: Execution = { milliseconds: performance.now() - began, loaded, ran: take() }
  writeFileSync(join(process.env.MUTANT_EXECUTIONS!, `${encodeURIComponent(test)}.json`), JSON.stringify(execution))
})

function start(): Session {
  const profiler = new Session()
  profiler.connect()
  profiler.post('Profiler.enable')
  profiler.post('Profiler.startPreciseCoverage', { callCount: true, detailed: true })
  return profiler
}

/** What ran since it was asked last. */
function take(): Record<string, Interval[]> {
  let scripts: Profiler.ScriptCoverage[] = []
  session.post('Profiler.takePreciseCoverage', (error, { result }) => {
    if (error) throw error
    scripts = result
  })
  const ours = scripts
    .filter(({ url }) => url.startsWith('file:'))
    .map(({ url, functions }) => [relative('.', fileURLToPath(url)), functions] as const)
    .filter(([file]) => file.startsWith('src/'))
  return Object.fromEntries(ours.map(([file, functions]) => [file, executed(functions)]))
}

/** Ranges lie within each other; the innermost tells whether a place ran. */
function executed(functions: readonly Profiler.FunctionCoverage[]): Interval[] {
  const ranges = functions.flatMap(each => each.ranges)
  const ends = [...new Set(ranges.flatMap(({ startOffset, endOffset }) => [startOffset, endOffset]))].sort(
    (a, b) => a - b,
  )
  ranges.sort((a, b) => a.startOffset - b.startOffset || b.endOffset - a.endOffset)
  const found: [number, number][] = []
  const around: Profiler.CoverageRange[] = []
  let next = 0
  for (const [i, start] of ends.slice(0, -1).entries()) {
    while (around.length > 0 && around.at(-1)!.endOffset <= start) around.pop()
    while (next < ranges.length && ranges[next]!.startOffset <= start) around.push(ranges[next++]!)
    while (around.length > 0 && around.at(-1)!.endOffset <= start) around.pop()
    if (!around.at(-1)?.count) continue
    const last = found.at(-1)
    if (last?.[1] === start) last[1] = ends[i + 1]!
    else found.push([start, ends[i + 1]!])
  }
  return found
}
