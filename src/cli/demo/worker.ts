import { createWriteStream } from 'node:fs'
import { setTimeout } from 'node:timers/promises'
import type { Settings } from '../../config/index.ts'
import { createLogger } from '../../telemetry/logs.ts'
import { createWorker } from '../../worker.ts'
import { within } from '../framework/within.ts'
import { startChild } from '../local-kafka/child.ts'
import type { DemoBus } from './bus.ts'
import type { DemoSettings } from './settings.ts'

/** The worker of the demo. */
export interface DemoWorker {
  /** Rejects when it ends without having been told to; never resolves. */
  failed: Promise<never>
  /** Kills it as kill -9 does. Only a worker in a process of its own can be killed. */
  kill(): Promise<void>
  stop(): Promise<void>
}

const readyPollMs = 20
const readyLimitMs = 60_000

/** Starts the real worker: `busgate run` where the bus is real, else in this process. Resolves when it is ready. */
export async function startDemoWorker(bus: DemoBus, demo: DemoSettings, logFile: string): Promise<DemoWorker> {
  const worker = bus.real ? inOwnProcess(bus, demo.file, logFile) : await inThisProcess(demo.settings, logFile)
  await within(readyLimitMs, "the worker's start", Promise.race([untilReady(demo.settings), worker.failed]))
  return worker
}

async function inThisProcess(settings: Settings, logFile: string): Promise<DemoWorker> {
  const log = createWriteStream(logFile, { flags: 'a' })
  const { failed, stop } = await createWorker(settings, { logger: createLogger('info', log) })
  return { failed, kill: async () => {}, stop }
}

function inOwnProcess({ env }: DemoBus, file: string, logFile: string): DemoWorker {
  const others = Object.entries(process.env).filter(([name]) => !name.startsWith('BUSGATE_'))
  const child = startChild(process.execPath, [process.argv[1]!, 'run', '--config', file], {
    cwd: process.cwd(),
    env: { ...Object.fromEntries(others), ...env },
    logFile,
  })
  let expected = false
  const end = async (signal: 'SIGKILL' | 'SIGTERM') => {
    expected = true
    child.signal(signal)
    const { ok, how } = await child.ended
    if (!ok && signal === 'SIGTERM') throw new Error(`the worker did not stop as it should: it ${how}`)
  }
  const failed = child.ended.then(({ how }) => {
    if (expected) return new Promise<never>(() => {})
    throw new Error(`the worker ${how}. The last lines of its log:\n${child.tail()}`)
  })
  failed.catch(() => {}) // nobody may be looking at that moment
  return { failed, kill: () => end('SIGKILL'), stop: () => end('SIGTERM') }
}

async function untilReady({ telemetry }: Settings): Promise<void> {
  const answers = async () => (await fetch(`http://${telemetry.host}:${telemetry.port}/readyz`)).ok
  while (!(await answers().catch(() => false))) await setTimeout(readyPollMs)
}
