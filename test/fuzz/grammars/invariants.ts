import { expect } from 'vitest'

/** Bounds of handling one small input, generous enough for a busy machine. */
const mostCpuMs = 1_000
const mostBytes = 64 << 20

const prototypes = [Object.prototype, Array.prototype, Function.prototype, String.prototype, Map.prototype]
const ownKeys = () => prototypes.map(prototype => Reflect.ownKeys(prototype).length)
const untouched = ownKeys()

/** Handles one input. @throws Error when that takes too much time or memory, or changes a prototype */
export function bounded<T>(handle: () => T): T {
  const heap = process.memoryUsage().heapUsed
  const cpu = process.cpuUsage()
  const result = handle()
  const { user } = process.cpuUsage(cpu)
  const grown = process.memoryUsage().heapUsed - heap
  if (user / 1000 > mostCpuMs) throw new Error(`took ${user / 1000} ms`)
  if (grown > mostBytes) throw new Error(`took ${grown} bytes`)
  expect(ownKeys()).toEqual(untouched)
  return result
}
