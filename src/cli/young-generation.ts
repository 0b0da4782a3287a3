import { PerformanceObserver } from 'node:perf_hooks'
import process from 'node:process'
import { getHeapSpaceStatistics, setFlagsFromString } from 'node:v8'

/** The space for new objects, both halves of it, grows no further, or by one step where the event loop is late to see it. */
const enoughBytes = 16 * 1024 * 1024

/**
 * Holds the space for new objects at 16 to 32 MiB, where V8 would let it grow to 128 at the same cost of CPU. V8 takes its bound
 * from the command line alone, but the factor by which the space grows at any time. Whoever set the bound is obeyed.
 *
 * The space does not grow before the event loop first turns: loading all modules makes it 64 MiB else.
 */
export function boundYoungGeneration(): void {
  if (isSet([...process.execArgv, process.env.NODE_OPTIONS ?? ''])) return
  let grows = true
  const grow = (wanted: boolean) => {
    if (wanted === grows) return
    grows = wanted
    setFlagsFromString(`--semi-space-growth-factor=${grows ? 2 : 1}`)
  }
  grow(false)
  const collected = new PerformanceObserver(() => {
    const space = getHeapSpaceStatistics().find(({ space_name }) => space_name === 'new_space')
    grow((space?.space_size ?? 0) < enoughBytes) // an idle process gives memory back, and is to grow again
  })
  collected.observe({ entryTypes: ['gc'] })
}

const isSet = (options: readonly string[]) => options.some(option => option.includes('semi-space'))
