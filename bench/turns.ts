import { appendFileSync } from 'node:fs'
import { isMainThread } from 'node:worker_threads'

/*
 * Preloaded into a measured process. Writes the time and CPU milliseconds of each long turn of its event loop to the file
 * BENCH_TURNS. CPU time, unlike elapsed time, does not grow with the load of the machine.
 */

const everyMs = 5
const longMs = 10

if (isMainThread) {
  let before = process.threadCpuUsage()
  const look = () => {
    const { user, system } = process.threadCpuUsage(before)
    const ms = (user + system) / 1000
    if (ms > longMs) appendFileSync(process.env.BENCH_TURNS!, `${Date.now()} ${ms}\n`)
    before = process.threadCpuUsage()
    setTimeout(look, everyMs).unref()
  }
  look()
}
