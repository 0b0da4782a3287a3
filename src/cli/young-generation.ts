import { PerformanceObserver } from 'node:perf_hooks'
import process from 'node:process'
import { getHeapSpaceStatistics, setFlagsFromString } from 'node:v8'

/** The space for new objects, both halves of it, stops growing here or one step further. */
const enoughBytes = 32 * 1024 * 1024

/**
 * Holds the space for new objects at 32 to 64 MiB, where V8 would let it grow to 128 at the same cost of CPU. V8 takes its
 * bound from the command line alone, but the factor by which the space grows at any time. Whoever set the bound is obeyed.
 */
export function boundYoungGeneration(): void {
  if (isSet([...process.execArgv, process.env.NODE_OPTIONS ?? ''])) return
  let isBound = false
  const collected = new PerformanceObserver(() => {
    const space = getHeapSpaceStatistics().find(({ space_name }) => space_name === 'new_space')
    const isEnough = (space?.space_size ?? 0) >= enoughBytes
    if (isEnough === isBound) return
    isBound = isEnough // an idle process gives memory back, and is to grow again
    setFlagsFromString(`--semi-space-growth-factor=${isBound ? 1 : 2}`)
  })
  collected.observe({ entryTypes: ['gc'] })
}

const isSet = (options: readonly string[]) => options.some(option => option.includes('semi-space'))
