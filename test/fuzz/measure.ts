import assert from 'node:assert/strict'
import { collectGarbage } from '../support/garbage.ts'

/** Bounds of handling one record, answer or request. */
const mostMs = 50
const mostBytes = 64 << 20
/** A suspect is measured again, since other processes and the garbage of earlier cases disturb the first time. */
const repetitions = 20

/** The most that any call took since they were last taken. */
const peaks = { ms: 0, mib: 0 }

export function takePeaks(): typeof peaks {
  const taken = { ...peaks }
  Object.assign(peaks, { ms: 0, mib: 0 })
  return taken
}

const prototypes = [Object.prototype, Array.prototype, Function.prototype, String.prototype, Map.prototype]
const ownKeys = () => prototypes.map(prototype => Reflect.ownKeys(prototype).length)
const untouched = ownKeys()

/**
 * Calls the function and returns its result. It may be called again.
 * @throws Error when it takes more CPU time or memory than any case may, or changes a prototype
 */
export async function bounded<T>(what: string, call: () => T | Promise<T>): Promise<T> {
  const rss = process.resourceUsage().maxRSS
  const cpu = process.cpuUsage()
  const result = await call()
  const { user, system } = process.cpuUsage(cpu)
  assert.deepEqual(ownKeys(), untouched)
  const ms = (user + system) / 1000
  const grown = (process.resourceUsage().maxRSS - rss) * 1024
  if (ms < mostMs / 2 && grown < mostBytes / 2) {
    peaks.ms = Math.max(peaks.ms, ms)
    return result
  }
  const again: Awaited<ReturnType<typeof measured>>[] = []
  for (let left = repetitions; left > 0; left--) again.push(await measured(call))
  const least = { ms: Math.min(...again.map(one => one.ms)), bytes: Math.min(...again.map(one => one.bytes)) }
  peaks.ms = Math.max(peaks.ms, least.ms)
  peaks.mib = Math.max(peaks.mib, least.bytes / 2 ** 20)
  if (least.ms > mostMs) throw new Error(`${what} takes ${least.ms.toFixed(0)} ms of CPU time`)
  if (least.bytes > mostBytes) throw new Error(`${what} takes ${(least.bytes / 2 ** 20).toFixed(0)} MiB`)
  return result
}

async function measured(call: () => unknown): Promise<{ ms: number; bytes: number }> {
  collectGarbage()
  const before = memory()
  const cpu = process.threadCpuUsage()
  await call()
  const { user, system } = process.threadCpuUsage(cpu)
  const bytes = memory() - before
  return { ms: (user + system) / 1000, bytes }
}

function memory(): number {
  const { heapUsed, external } = process.memoryUsage()
  return heapUsed + external
}
