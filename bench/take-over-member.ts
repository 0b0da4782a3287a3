import { tracingChannel } from 'node:diagnostics_channel'
import { openBus } from '../src/bus/open.ts'
import { loadSettings } from '../src/config/index.ts'

/** The partitions that a process has to open. */
export interface Member {
  topic: string
  partitions: number
  env: Record<string, string>
}

/** The report of a process when all its sessions are open. */
export interface Opened {
  /** Requests since it started to join, without fetches and heartbeats. */
  requests: number
  /** Milliseconds from the assignment of the partitions until all sessions are open. */
  ms: number
  /** User and system time since it started to join. */
  cpuMs: number
}

const fetch = 1
const heartbeat = 12

const { topic, partitions, env } = JSON.parse(process.argv[2]!) as Member
let requests = 0
tracingChannel<string, { apiKey: number }>('plt:kafka:connections:api').start.subscribe(sent => {
  const { apiKey } = sent as { apiKey: number }
  if (apiKey !== fetch && apiKey !== heartbeat) requests++
})

process.on('disconnect', () => process.exit())
const open = new Set<number>()
let assignedAt = Number.NaN
const ignore = () => {}
const bus = await openBus(loadSettings({ env }))
const before = process.cpuUsage() // the modules of the bus are loaded
await bus.join([topic], {
  shareChanged() {
    if (Number.isNaN(assignedAt)) assignedAt = performance.now()
  },
  opened(session) {
    open.add(session.partition)
    if (open.size === partitions) report()
  },
  closed: session => void open.delete(session.partition),
  records: ignore,
  inDoubt: ignore,
  resumed: ignore,
  fatal(error) {
    throw error
  },
})

function report(): void {
  const { user, system } = process.cpuUsage(before)
  const opened: Opened = { requests, ms: performance.now() - assignedAt, cpuMs: (user + system) / 1000 }
  process.send!(opened)
}
