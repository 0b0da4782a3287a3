import { Random } from '../simulation/random.ts'

/**
 * Loaded before a worker. Its wall clock is wrong, and set anew now and then; every other time that the process stood still
 * its machine was suspended: its monotonic clock has not counted that.
 */
const wrongByMs = 8_000
const setEveryMs = 15_000
const standstillMs = 1_000

const chance = new Random(Number(process.env.CHAOS_CLOCK_SEED))
const random = () => chance.next()
const wallClock = Date.now
const monotonicClock = performance.now.bind(performance)
const wrong = () => Math.round((2 * random() - 1) * wrongByMs)

let ahead = wrong()
let seenAt = monotonicClock()
let suspended = 0

Date.now = () => wallClock() + ahead
performance.now = () => {
  const now = monotonicClock()
  if (now - seenAt > standstillMs && random() < 0.5) suspended += now - seenAt
  seenAt = now
  return now - suspended
}

setInterval(() => {
  ahead = wrong()
}, setEveryMs).unref()
setInterval(() => performance.now(), standstillMs / 10).unref() // work that ends late is no standstill
