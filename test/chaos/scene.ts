import type { Sandbox, SandboxOptions, Span } from '../../src/sandbox/index.ts'
import type { LocalKafka } from '../support/local-kafka/kafka.ts'
import type { WireTap } from '../support/wire-tap.ts'
import type { Fleet } from './fleet.ts'
import type { Load, Variation } from './load.ts'
import type { Rights } from './rights.ts'
import type { Stage } from './stage.ts'
import type { Witness } from './witness.ts'

/** Everything that faults act on. */
export interface Scene {
  fleet: Fleet
  kafka: LocalKafka
  nodes: number
  /** The number of processes between faults. */
  workers: number
  /** One proxy in front of each broker. */
  taps: readonly WireTap[]
  rights: Rights
  sandbox: Sandbox
  stage: Stage
  /** Null unless the scenario is witnessed. */
  witness: Witness | null
  /** A seeded random number from 0 to 1. */
  random: () => number
  say: (line: string) => void
}

/** The usual time of the gateway from executing to answering. */
export const latencyMs = { min: 5, max: 40 }

/** Makes a fault once, and resolves when it is over. */
export type Fault = (scene: Scene) => Promise<void>

/** Counts that must be 0 in some scenarios only. */
export type ConditionalCount = 'everInDoubt' | 'executedTwiceUnderAtLeastOnce' | 'workersRestartedThemselves'

/** Faults, and the counts that must be 0 nevertheless. */
export interface Scenario {
  /** Makes the faults during the load. @returns how many */
  play(scene: Scene, load: Load): Promise<number>
  forbidden: readonly ConditionalCount[]
  latencyMs: Span
  /** The share of the requests that the gateway executes late, and how late. */
  executesLate?: { share: number; ms: number }
  /** Additional settings of the processes. */
  env?: Record<string, string>
  /** The number of processes at the start. Default: `--workers`. */
  starts?: number
  /** Other options of the gateway. */
  sandbox?: SandboxOptions
  /** Makes some commands different. */
  vary?: (index: number) => Variation
  /** Records are read while they are written, because topics grow and lose records. */
  isWitnessed?: true
  /** Processes only start and stop as planned: clocks are right, and the waits of commands are reported. */
  isPlanned?: true
  /** The clocks of the processes are right. */
  hasRightClocks?: true
}

export const between = ({ random }: Scene, least: number, most: number) => least + random() * (most - least)
export const oneOf = <T>({ random }: Scene, list: readonly T[]): T => list[Math.floor(random() * list.length)]!
