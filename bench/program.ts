import type { Place } from './place.ts'
import type { Processes } from './processes.ts'
import type { Scenario } from './scenarios.ts'
import type { Topics } from './topics.ts'

/** A program that can run the benchmark's job. */
export interface Program {
  /** Its name in tables, with the version if it is not busgate. */
  name: string
  /** Whether it can run this scenario. */
  does(scenario: Scenario): boolean
  start(options: StartOptions): Promise<Running>
}

export interface Running {
  processes: Processes
  /** The number of committed transactions; null: unknown. */
  commits(): Promise<number | null>
}

export interface StartOptions {
  scenario: Scenario
  gatewayUrl: string
  place: Place
  topics: Topics
  /** Brokers, registry, group and topics, as variables of busgate. */
  env: Record<string, string>
}
