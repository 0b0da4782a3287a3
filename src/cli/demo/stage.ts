import { join } from 'node:path'
import { openBus } from '../../bus/open.ts'
import type { Bus } from '../../bus/port.ts'
import { accountHookUrl } from '../../callbacks/hook-url.ts'
import { tokensOf } from '../../callbacks/role.ts'
import { type CommandProducer, createProducer } from '../../producer.ts'
import { registryOf } from '../../records/open.ts'
import type { SchemaRegistry } from '../../records/registry.ts'
import { type Sandbox, startSandbox } from '../../sandbox/index.ts'
import { Telemetry } from '../../telemetry/events.ts'
import { type Audit, startAudit } from './audit.ts'
import { findBus } from './bus.ts'
import { type DemoSettings, topicsOf, writeSettings } from './settings.ts'
import { type DemoWorker, startDemoWorker } from './worker.ts'

export interface StageOptions {
  /** How many commands there will be. */
  count: number
  /** Insists on a real Kafka. */
  kafka: boolean
  /** Gets the settings' file and the worker's log. */
  folder: string
  say: (line: string) => void
  /** Each ends a part, in the order in which they were started. */
  cleanups: (() => Promise<unknown>)[]
}

/** The demo's parts, running. */
export interface RunningDemo {
  demo: DemoSettings
  bus: Bus
  registry: SchemaRegistry
  sandbox: Sandbox
  audit: Audit
  producer: CommandProducer
  worker: DemoWorker
  logFile: string
  /** Rejects when the worker ends without having been told to. */
  failed: Promise<never>
  /** Kills the worker and starts another. */
  replaceWorker(): Promise<void>
}

const partitions = 4
const gatewayLatencyMs = 20
/** A receiver that is being started again is missed for some seconds. */
const callbackRetry = { tries: 8, firstDelayMs: 200 }

/** Starts everything that is missing. @throws Error that says what could not be started */
export async function setStage({ count, kafka, folder, say, cleanups }: StageOptions): Promise<RunningDemo> {
  const found = await findBus(kafka, say)
  cleanups.push(found.stop)
  const sandbox = await startSandbox({ latencyMs: gatewayLatencyMs, callbackRetry })
  cleanups.push(() => sandbox.close())
  say('Gateway: a simulator; nobody is sent anything.')
  const demo = await writeSettings(found, sandbox.url, folder)
  const { settings } = demo
  sandbox.setAccountCallbackUrl(accountHookUrl(settings.callbacks.publicUrl!, tokensOf(settings)!, 'default'))

  const bus = openBus(settings, new Telemetry())
  cleanups.push(() => bus.close())
  await bus.createTopics(topicsOf(settings).map(topic => ({ topic, partitions })))
  const registry = registryOf(settings)
  const audit = await startAudit(settings, bus, registry, count)
  cleanups.push(audit.close)
  const producer = await createProducer(settings, { bus, registry })
  cleanups.push(producer.close)

  const logFile = join(folder, 'worker.log')
  const { promise: failed, reject: fail } = Promise.withResolvers<never>()
  failed.catch(() => {}) // nobody may be looking at that moment
  const startWorker = async () => {
    const worker = await startDemoWorker(found, demo, logFile)
    worker.failed.catch(fail)
    return worker
  }
  const stage: RunningDemo = {
    demo,
    bus,
    registry,
    sandbox,
    audit,
    producer,
    worker: await startWorker(),
    logFile,
    failed,
    async replaceWorker() {
      await stage.worker.kill()
      stage.worker = await startWorker()
    },
  }
  cleanups.push(() => stage.worker.stop())
  return stage
}
