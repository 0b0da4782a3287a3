import { PerformanceObserver } from 'node:perf_hooks'
import process from 'node:process'
import { getHeapSpaceStatistics, setFlagsFromString } from 'node:v8'

/** The space for new objects, both halves of it, grows no further, or by one step where the event loop is late to see it. */
const enoughBytes = 16 * 1024 * 1024
/** What is old is collected when it takes three times as much as was alive the last time; V8 waits for four times, and more. */
const growingPercent = 200

/**
 * Sets what V8 lets change while it runs for a process that makes much garbage: less memory, and less CPU. Whoever has set
 * something is obeyed.
 */
export function tuneGarbageCollector(): void {
  const given = [...process.execArgv, process.env.NODE_OPTIONS ?? ''].join(' ')
  // threads that share 2 MB of survivors take more CPU to agree on it than they save: a fourteenth of all at full speed
  if (!given.includes('parallel-scavenge')) setFlagsFromString('--no-parallel-scavenge')
  if (!given.includes('heap-growing-percent')) setFlagsFromString(`--heap-growing-percent=${growingPercent}`)
  if (!given.includes('semi-space')) boundNewSpace()
}

/**
 * Holds the space for new objects at 16 to 32 MiB, where V8 would let it grow to 128 at the same cost of CPU. V8 takes its bound
 * from the command line alone, but the factor by which the space grows at any time.
 *
 * The space does not grow before the event loop first turns: loading all modules makes it 64 MiB else.
 */
function boundNewSpace(): void {
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
