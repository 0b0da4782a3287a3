import { randomBytes } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { stringify } from 'yaml'
import { loadSettings, type Settings } from '../../config/index.ts'
import { freePorts } from '../local-kafka/ports.ts'
import type { DemoBus } from './bus.ts'

/** The demo's settings, and the file that a worker of its own process and the reader's own commands take them from. */
export interface DemoSettings {
  settings: Settings
  file: string
}

/** Brokers allow no less (group.min.session.timeout.ms). A killed worker's partitions are free after it. */
const shortSessionMs = 6_000

/** Doubts are resolved while somebody watches. The gateway shares a busy machine: it may take its time to answer. */
const shortWaits = { gateway: { timeoutMs: 8_000 }, delivery: { settleMs: 1_000, pollIntervalMs: 500 } }

/** Settings of a run of its own: free ports, a new secret, and on real brokers topics and a group with new names. */
export async function writeSettings(bus: DemoBus, gatewayUrl: string, folder: string): Promise<DemoSettings> {
  const [callbacks, telemetry] = await freePorts([0, 0])
  const tree = {
    ...bus.settings,
    ...(bus.real && namesOf(`busgate-demo-${Date.now().toString(36)}`, bus.settings)),
    delivery: shortWaits.delivery,
    gateway: { ...shortWaits.gateway, url: gatewayUrl, apiKey: 'sandbox-key' },
    callbacks: {
      host: '127.0.0.1',
      port: callbacks,
      publicUrl: `http://127.0.0.1:${callbacks}`,
      secret: [`demo:${randomBytes(24).toString('base64url')}`],
    },
    telemetry: { host: '127.0.0.1', port: telemetry },
  }
  const file = join(folder, 'demo.yaml')
  writeFileSync(file, stringify(tree), { mode: 0o600 })
  return { settings: loadSettings({ file, env: bus.env }), file }
}

function namesOf(name: string, { kafka }: { kafka?: object }): object {
  return {
    kafka: { ...kafka, groupId: name, startFrom: 'earliest', sessionTimeoutMs: shortSessionMs },
    topics: {
      commands: [`${name}.commands.otp`, `${name}.commands`],
      results: `${name}.results`,
      statuses: `${name}.statuses`,
      deadLetters: `${name}.dead-letters`,
      doubts: `${name}.doubts`,
      control: `${name}.control`,
    },
  }
}

export function topicsOf({ topics }: Settings): string[] {
  return [...topics.commands, topics.results, topics.statuses, topics.deadLetters, topics.doubts, topics.control]
}
