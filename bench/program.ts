import type { Place } from './place.ts'
import type { Processes } from './processes.ts'
import type { Scenario } from './scenarios.ts'
import type { Topics } from './topics.ts'

/** A program that can do the main job. */
export interface Program {
  /** Tables name it so, with its version where that is not busgate's. */
  name: string
  /** Whether it can do this one. */
  does(scenario: Scenario): boolean
  start(options: StartOptions): Promise<Running>
}

export interface Running {
  processes: Processes
  /** Transactions that the brokers have confirmed; null: it does not tell. */
  commits(): Promise<number | null>
}

export interface StartOptions {
  scenario: Scenario
  gatewayUrl: string
  place: Place
  topics: Topics
  /** Brokers, registry, group and topics, as settings of busgate. */
  env: Record<string, string>
}
