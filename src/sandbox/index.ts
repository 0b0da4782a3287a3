import '../supported-node.ts'

export type { CallbackCounts } from './callbacks.ts'
export type { SandboxClock as Clock } from './clock.ts'
export { type Ending, endings } from './endings.ts'
export type { FaultName, FaultQueue } from './faults.ts'
export { type Sandbox, startSandbox } from './sandbox.ts'
export type { SandboxKeys, SandboxOptions, Span } from './settings.ts'
export type { LogEntry, SandboxStats } from './stats.ts'
