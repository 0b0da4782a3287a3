/** Vitest runs this file before a test file, to note which places of `src/` that file executes. */
import { writeFileSync } from 'node:fs'
import { type Profiler, Session } from 'node:inspector'
import { join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, expect } from 'vitest'
import type { Execution, Interval } from './executions.ts'

const session = new Session()
session.connect()
session.post('Profiler.enable')
session.post('Profiler.startPreciseCoverage', { callCount: false, detailed: true })
const began = process.cpuUsage()

afterAll(() => {
  const test = relative('.', expect.getState().testPath!)
  const { user, system } = process.cpuUsage(began)
  const execution: Execution = { milliseconds: (user + system) / 1000, ran: ran() }
  writeFileSync(join(process.env.MUTANT_EXECUTIONS!, `${encodeURIComponent(test)}.json`), JSON.stringify(execution))
})

function ran(): Record<string, Interval[]> {
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
  const ends = [...new Set(ranges.flatMap(({ startOffset, endOffset }) => [startOffset, endOffset]))]
  ends.sort((a, b) => a - b)
  ranges.sort((a, b) => a.startOffset - b.startOffset || b.endOffset - a.endOffset)
  const found: [number, number][] = []
  const around: Profiler.CoverageRange[] = []
  let next = 0
  for (const [i, start] of ends.slice(0, -1).entries()) {
    while (next < ranges.length && ranges[next]!.startOffset <= start) around.push(ranges[next++]!)
    while (around.length > 0 && around.at(-1)!.endOffset <= start) around.pop()
    if (!around.at(-1)?.count) continue
    const last = found.at(-1)
    if (last?.[1] === start) last[1] = ends[i + 1]!
    else found.push([start, ends[i + 1]!])
  }
  return found
}
