import './supported-node.ts'

export { openBus } from './bus/open.ts'
export type { Bus } from './bus/port.ts'
export { loadSettings, type Settings, SettingsError, type SettingsSources, type SettingsTree } from './config/index.ts'
export {
  type Ask,
  type FieldsOf,
  GatewayClient,
  type ItemResults,
  type Send,
} from './gateway/client.ts'
export {
  AbortedError,
  AccessDeniedError,
  GatewayError,
  type GatewayErrorCode,
  InDoubtError,
  type Problem,
  RefusedError,
  ThrottledError,
  UnreachableError,
  UnreadablePayloadError,
  ValidationError,
} from './gateway/errors.ts'
export type { ApiKey, GatewayClientOptions, RequestInfo } from './gateway/options.ts'
export type { ItemResult } from './gateway/outcome.ts'
export type { CallOptions } from './gateway/transport.ts'
export {
  type ConfluentRegistryOptions,
  confluentRegistry,
  embeddedRegistry,
  type SchemaRegistry,
} from './records/registry.ts'
export {
  type Lifecycle,
  type LifecycleState,
  lifecycleAfter,
  newLifecycle,
  type StatusFacts,
  stateOf,
  verdictOf,
} from './statuses/lifecycle.ts'
export { type Events, Telemetry } from './telemetry/events.ts'
export { createWorker, type Worker, type WorkerOptions } from './worker.ts'
