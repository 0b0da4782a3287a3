export { loadSettings, type Settings, SettingsError, type SettingsSources } from './config/index.ts'
export type { Telemetry } from './telemetry/events.ts'
export { createWorker, type Worker, type WorkerOptions } from './worker.ts'
