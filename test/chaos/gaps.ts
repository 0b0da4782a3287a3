import type { Sandbox } from '../../src/sandbox/index.ts'

const stepMs = 5

/**
 * Looks at the gateway every few milliseconds. @returns when it had executed something new, and at last when it was
 * looked at no more, milliseconds since 1970
 */
export function watchExecutions(sandbox: Sandbox): { stop(): number[] } {
  const times: number[] = []
  let executed = 0
  const timer = setInterval(() => {
    const now = sandbox.stats().executed
    if (now > executed) times.push(Date.now())
    executed = now
  }, stepMs)
  return {
    stop() {
      clearInterval(timer)
      times.push(Date.now())
      return times
    },
  }
}

export function longestGap(times: readonly number[]): { from: number; ms: number } {
  let longest = { from: times[0] ?? 0, ms: 0 }
  for (let i = 1; i < times.length; i++) {
    const ms = times[i]! - times[i - 1]!
    if (ms > longest.ms) longest = { from: times[i - 1]!, ms }
  }
  return longest
}
