import { Random } from '../simulation/random.ts'

/**
 * Loaded before a worker to make its clocks wrong. Its wall clock is wrong by up to 8 s, and changes every 15 s. Half
 * of the times that the process was stopped count as suspends of its machine: its monotonic clock omits them.
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
setInterval(() => performance.now(), standstillMs / 10).unref() // so that long work does not count as a stop
