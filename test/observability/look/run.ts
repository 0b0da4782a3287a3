import { openBus } from '../../../src/bus/open.ts'
import { accountHookUrl } from '../../../src/callbacks/hook-url.ts'
import { tokensOf } from '../../../src/callbacks/role.ts'
import { loadSettings, type Settings } from '../../../src/config/index.ts'
import { writeChange } from '../../../src/control/change.ts'
import { createWorker, type Worker } from '../../../src/create-worker.ts'
import { type CommandProducer, createProducer } from '../../../src/producer.ts'
import { registryOf } from '../../../src/records/registry.ts'
import { type Sandbox, startSandbox } from '../../../src/sandbox/index.ts'
import { Telemetry } from '../../../src/telemetry/events.ts'
import { freePorts } from '../../support/local-kafka/ports.ts'

/** A gateway, a bus, and two simulated processes with separate metrics that share all roles. */
export interface Run {
  settings: Settings
  sandbox: Sandbox
  producer: CommandProducer
  /** The host:port of each process's metrics. */
  targets: string[]
  /** A hook address made with another secret. */
  strangersUrl: string
  /** Writes a record that is not a command. */
  spoil(value: Buffer): Promise<void>
  /** Pauses the bulk topic for some time, as an operator does. */
  pauseBulk(forMs: number): Promise<void>
  /** Stops the second process and restarts it after some time. */
  restartSecond(pauseMs: number): Promise<void>
  stop(): Promise<void>
}

/** The account's rate, in operations a second. */
const rate = 400
const key = 'sandbox-key'

/** Starts a run on the embedded bus, with short time-outs. */
export async function startRun(): Promise<Run> {
  const cleanups: (() => Promise<unknown>)[] = []
  const sandbox = await startSandbox({
    latencyMs: { min: 10, max: 60 },
    callbackDelayMs: { min: 200, max: 3000 },
    balance: 200_000,
  })
  cleanups.push(() => sandbox.close())
  const [callbacksPort, first, second] = await freePorts(3)
  const settingsOf = (telemetryPort: number, roles: string, secret = 'look:a-secret-of-this-run-alone') =>
    settings(sandbox.url, callbacksPort!, telemetryPort, roles, secret)
  const settingsOfFirst = settingsOf(first!, 'worker,callbacks')
  const settingsOfSecond = settingsOf(second!, 'worker,reconciler')
  const settingsOfStranger = settingsOf(0, 'callbacks', 'stranger:a-secret-of-somebody-else')
  sandbox.setAccountCallbackUrl(
    accountHookUrl(settingsOfFirst.callbacks.publicUrl!, tokensOf(settingsOfFirst)!, 'default'),
  )

  const bus = await openBus(settingsOfFirst, new Telemetry())
  cleanups.push(() => bus.close())
  const { topics } = settingsOfFirst
  const registry = registryOf(settingsOfFirst)
  const publisher = await bus.publisher()
  cleanups.push(() => publisher.close())
  const everywhere = { general: undefined, own: new Map() }
  const settingsOfService = { ...settingsOfFirst, gateway: { ...settingsOfFirst.gateway, countries: everywhere } }
  const producer = await createProducer(settingsOfService, { bus, registry })
  cleanups.push(() => producer.close())
  const worker = await createWorker(settingsOfFirst)
  cleanups.push(() => worker.close())
  let other: Worker = await createWorker(settingsOfSecond)
  cleanups.push(() => other.close())

  return {
    settings: settingsOfFirst,
    sandbox,
    producer,
    targets: [first, second].map(port => `127.0.0.1:${port}`),
    strangersUrl: accountHookUrl(settingsOfFirst.callbacks.publicUrl!, tokensOf(settingsOfStranger)!, 'default'),
    spoil: value => publisher.publish([{ topic: topics.commands.at(-1)!, key: null, value }]),
    async pauseBulk(forMs) {
      const now = Date.now()
      const scope = { effect: 'paused', kind: 'topic', name: topics.commands.at(-1)! } as const
      const change = { ...scope, begins: true, by: 'somebody', at: now, until: now + forMs, reason: null }
      await publisher.publish([writeChange(topics.control, change)])
    },
    async restartSecond(pauseMs) {
      await other.close()
      await new Promise(resolve => setTimeout(resolve, pauseMs))
      other = await createWorker(settingsOfSecond)
    },
    async stop() {
      for (const end of cleanups.reverse()) await end()
    },
  }
}

function settings(
  gatewayUrl: string,
  callbacksPort: number,
  telemetryPort: number,
  roles: string,
  secret: string,
): Settings {
  return loadSettings({
    env: { BUSGATE_GATEWAY_API_KEY: key },
    overrides: {
      roles,
      kafka: { brokers: 'embedded' },
      gateway: { url: gatewayUrl, rate, timeoutMs: 2000, balanceIntervalMs: 1000, countries: ['UA'] },
      doubts: { waitMs: 2000, polls: 2 },
      callbacks: {
        host: '127.0.0.1',
        port: callbacksPort,
        publicUrl: `http://127.0.0.1:${callbacksPort}`,
        secret,
      },
      telemetry: { host: '127.0.0.1', port: telemetryPort },
      reconciler: { rate: 50, expectMs: 4000, expect: { hlr: 2000 }, graceMs: 5000 },
    },
  })
}
