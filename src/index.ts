/**
 * The worker, its settings and the bus.
 * @module busgate
 */
import './supported-node.ts'

import { openBus as open } from './bus/open.ts'
import type { Bus } from './bus/opened.ts'
import type { Settings } from './config/index.ts'
import type { Worker, WorkerOptions } from './create-worker.ts'
import { Telemetry as AllTelemetry } from './telemetry/events.ts'
import type { Telemetry as StableTelemetry } from './telemetry/stable-events.ts'

export type { Bus } from './bus/opened.ts'
export { BusUnavailable } from './bus/port.ts'
export {
  loadSettings,
  type SettingProblem,
  type Settings,
  SettingsError,
  type SettingsSources,
  type SettingsTree,
} from './config/index.ts'
export type { Worker, WorkerOptions } from './create-worker.ts'
export type { ConfluentRegistryOptions } from './records/confluent-registry.ts'
export { RegistryUnavailable, SchemaNotFound, SchemaRefused, SchemaUnreadable } from './records/errors.ts'
export { confluentRegistry, embeddedRegistry, type SchemaRegistry } from './records/registry.ts'
export type { Logger } from './telemetry/logger.ts'
export type { StableEvents as Events } from './telemetry/stable-events.ts'

/**
 * Starts a worker with these settings. Waits while the bus or the registry is unreachable, and until the gateway has accepted
 * a key: before that, it takes no partition from another process.
 * @throws SettingsError when a setting is missing; Error when a topic or a right is missing
 */
export async function createWorker(settings: Settings, options?: WorkerOptions): Promise<Worker> {
  return (await import('./create-worker.ts')).createWorker(settings, options)
}

/** Emits the events of a worker that stay: `Events` lists them, with what each carries. */
export type Telemetry = StableTelemetry
/** Creates an emitter, to listen before the worker starts. */
export const Telemetry: new () => Telemetry = AllTelemetry as never

/** Parts that a bus takes from its caller. */
export interface BusOptions {
  /** Emits what the connection does. Default: nobody listens. */
  telemetry?: Telemetry
}

/**
 * Opens the bus that the settings name, for several workers, producers and readers to share. The caller closes it. With
 * `kafka.brokers: embedded`, it is a new one that is empty, for those alone that get it: each test can have its own.
 * @throws SettingsError when they name no brokers
 */
export function openBus(settings: Settings, { telemetry }: BusOptions = {}): Promise<Bus> {
  return open(settings, telemetry as AllTelemetry | undefined, true)
}
