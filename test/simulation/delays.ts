import type { Delay } from './plan.ts'

export const quickWays: readonly Delay[] = [
  { usual: 0, rare: 0, most: 0 },
  { usual: 2, rare: 0, most: 0 },
]

export const slowWays: readonly Delay[] = [
  { usual: 3, rare: 0.02, most: 400 },
  { usual: 30, rare: 0.05, most: 300 },
  { usual: 5, rare: 0.05, most: 1500 },
]

export const quickLines: readonly Delay[] = [
  { usual: 0, rare: 0, most: 0 },
  { usual: 80, rare: 0, most: 0 },
]

export const slowLines: readonly Delay[] = [
  { usual: 20, rare: 0.02, most: 200 },
  { usual: 200, rare: 0.1, most: 600 },
  { usual: 100, rare: 0.3, most: 4000 },
]

export const slowGatewayMs = 700
