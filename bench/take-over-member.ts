import { tracingChannel } from 'node:diagnostics_channel'
import { openBus } from '../src/bus/open.ts'
import { loadSettings } from '../src/config/index.ts'

/** What a process is to open. */
export interface Member {
  topic: string
  partitions: number
  env: Record<string, string>
}

/** What a process tells when all its sessions are open. */
export interface Opened {
  /** Requests since it began to join, without fetches and heartbeats. */
  requests: number
  /** From the group's giving it the partitions until all sessions are open. */
  ms: number
  /** User and system time since it began to join. */
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
const before = process.cpuUsage()
const open = new Set<number>()
let givenAt = Number.NaN
const ignore = () => {}
await openBus(loadSettings({ env })).join([topic], {
  shareChanged() {
    if (Number.isNaN(givenAt)) givenAt = performance.now()
  },
  opened(session) {
    open.add(session.partition)
    if (open.size === partitions) tell()
  },
  closed: session => void open.delete(session.partition),
  records: ignore,
  inDoubt: ignore,
  resumed: ignore,
  fatal(error) {
    throw error
  },
})

function tell(): void {
  const { user, system } = process.cpuUsage(before)
  const opened: Opened = { requests, ms: performance.now() - givenAt, cpuMs: (user + system) / 1000 }
  process.send!(opened)
}
