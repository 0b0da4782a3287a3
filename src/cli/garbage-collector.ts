import { type PerformanceEntry, PerformanceObserver } from 'node:perf_hooks'
import process from 'node:process'
import { getHeapSpaceStatistics, setFlagsFromString } from 'node:v8'

/** The space for new objects, both halves of it, grows no further, or by one step where the event loop is late to see it. */
const enoughBytes = 16 * 1024 * 1024
/** Where collections follow each other sooner, much garbage is made: at full speed every 16 ms, or every 50 on slow cores. */
const busyMs = 200
/**
 * Old objects of a busy process are collected when they take two and a half times what was alive the last time, where V8 waits
 * for four times. At rest V8 waits for less than either.
 */
const busyGrowth = 150
const ownGrowth = 0

/**
 * Sets what V8 lets change while it runs for a process that makes much garbage: less memory, and less CPU. Whoever has set
 * something is obeyed.
 */
export function tuneGarbageCollector(): void {
  const given = [...process.execArgv, process.env.NODE_OPTIONS ?? ''].join(' ').replaceAll('_', '-')
  // threads that share 2 MB of survivors take more CPU to agree on it than they save: a fourteenth of all at full speed
  if (!given.includes('parallel-scavenge')) setFlagsFromString('--no-parallel-scavenge')
  const heard = [
    ...(given.includes('semi-space') ? [] : [boundNewSpace()]),
    ...(given.includes('heap-growing-percent') ? [] : [boundOldSpace()]),
  ]
  if (heard.length === 0) return
  const collected = new PerformanceObserver(list => {
    const collections = list.getEntries()
    for (const hear of heard) hear(collections)
  })
  collected.observe({ entryTypes: ['gc'] })
}

type Hear = (collections: readonly PerformanceEntry[]) => void

/**
 * Holds the space for new objects at 16 to 32 MiB, where V8 would let it grow to 128 at the same cost of CPU. V8 takes its bound
 * from the command line alone, but the factor by which the space grows at any time.
 *
 * The space does not grow before the event loop first turns: loading all modules makes it 64 MiB else.
 */
function boundNewSpace(): Hear {
  const grow = flag(2, factor => `--semi-space-growth-factor=${factor}`)
  grow(1)
  return () => {
    const space = getHeapSpaceStatistics().find(({ space_name }) => space_name === 'new_space')
    grow((space?.space_size ?? 0) < enoughBytes ? 2 : 1) // an idle process gives memory back, and is to grow again
  }
}

function boundOldSpace(): Hear {
  const growBy = flag(ownGrowth, percent => `--heap-growing-percent=${percent}`)
  let last = Number.NEGATIVE_INFINITY
  return collections => {
    for (const { startTime } of collections) {
      growBy(startTime - last < busyMs ? busyGrowth : ownGrowth)
      last = startTime
    }
  }
}

/** Sets a flag of V8 whenever its value changes. */
function flag(initial: number, textOf: (value: number) => string): (value: number) => void {
  let current = initial
  return value => {
    if (value !== current) setFlagsFromString(textOf(value))
    current = value
  }
}
