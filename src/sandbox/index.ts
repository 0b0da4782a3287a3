/**
 * A simulator of the gateway, for tests.
 * @module busgate/sandbox
 */
import '../supported-node.ts'

export type { WaitLimit } from '../abort.ts'
export type { CallbackCounts } from './callbacks.ts'
export type { SandboxClock as Clock } from './clock.ts'
export { type Ending, endings } from './endings.ts'
export type { FaultName, FaultQueue } from './faults.ts'
export { type OpenPointName, openPoints, type Reading, type Readings } from './open-points.ts'
export { type Sandbox, startSandbox } from './sandbox.ts'
export type { CallbackTrouble, SandboxKeys, SandboxOptions, Span } from './settings.ts'
export type { LogEntry, SandboxStats } from './stats.ts'
