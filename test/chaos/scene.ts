import type { Sandbox, Span } from '../../src/sandbox/index.ts'
import type { LocalKafka } from '../support/local-kafka/kafka.ts'
import type { WireTap } from '../support/wire-tap.ts'
import type { Fleet } from './fleet.ts'
import type { Load } from './load.ts'
import type { Rights } from './rights.ts'

/** Everything that can be troubled. */
export interface Scene {
  fleet: Fleet
  kafka: LocalKafka
  nodes: number
  /** How many processes there are while nothing happens. */
  workers: number
  /** One before each node. */
  taps: readonly WireTap[]
  rights: Rights
  sandbox: Sandbox
  /** 0 to 1, seeded. */
  random: () => number
  say: (line: string) => void
}

/** Makes trouble once and resolves when it is over. */
export type Fault = (scene: Scene) => Promise<void>

/** What a run may show after some trouble and not after other. */
export type Excusable = 'everInDoubt' | 'executedTwiceUnderAtLeastOnce' | 'workersRestartedThemselves'

/** Trouble of one kind or another, and what it may not come to. */
export interface Scenario {
  /** Makes the trouble while the load comes. @returns how often */
  play(scene: Scene, load: Load): Promise<number>
  forbidden: readonly Excusable[]
  latencyMs: Span
  /** The gateway executes this share of the requests so late. */
  executesLate?: { share: number; ms: number }
  /** Settings of the processes beside the ones that every run has. */
  env?: Record<string, string>
  /** How many processes there are at first. Default: `--workers`. */
  starts?: number
  /** Processes come and go as planned: their clocks are right, and it is told how long commands waited. */
  inOrder?: true
}

export const between = ({ random }: Scene, least: number, most: number) => least + random() * (most - least)
export const oneOf = <T>({ random }: Scene, list: readonly T[]): T => list[Math.floor(random() * list.length)]!
