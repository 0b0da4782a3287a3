import { loadSettings } from '../dist/config/index.js'
import { Telemetry } from '../dist/telemetry/events.js'
import { createWorker } from '../dist/worker.js'

/** The worker under measurement: runs until it has published so many results, then tells its parent what it cost. */
const wanted = Number(process.argv[2])
const telemetry = new Telemetry()
let published = 0
let first = 0
let firstCpu = 0
const cpuMicros = () => process.cpuUsage().user + process.cpuUsage().system
const done = Promise.withResolvers<void>()
telemetry.on('results.published', ({ count }) => {
  first ||= performance.now()
  firstCpu ||= cpuMicros()
  published += count
  if (published >= wanted) done.resolve()
})
const worker = await createWorker(loadSettings({ env: process.env }), { telemetry })
await done.promise
const seconds = (performance.now() - first) / 1000
process.send?.({
  commandsPerSecond: Math.round(wanted / seconds),
  cpuMicrosPerCommand: cpuMicros() / wanted,
  cpuMicrosWithoutStart: (cpuMicros() - firstCpu) / wanted,
  peakMemoryMiB: Math.round(process.resourceUsage().maxRSS / 1024),
})
await worker.stop()
process.exit(0)
