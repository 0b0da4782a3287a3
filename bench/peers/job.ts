import type { StartOptions } from '../program.ts'

/** The only argument of the programs in this folder. */
export interface Job {
  brokers: readonly string[]
  registryUrl: string
  group: string
  /** Topics of commands, most urgent first. */
  commands: readonly string[]
  /** Topic of results: one JSON text a command, with the id as its key. */
  results: string
  /** Where envelopes are POSTed. */
  url: string
  /** Requests in flight. */
  inFlight: number
  /** Operations of one envelope, at most. */
  envelope: number
  /** How long an envelope may wait to be full. */
  lingerMs: number
}

export const jobOf = ({ scenario, gatewayUrl, place, topics }: StartOptions): Job => ({
  brokers: place.brokers,
  registryUrl: place.registryUrl,
  group: topics.results,
  commands: [topics.urgent, topics.commands],
  results: topics.results,
  url: `${gatewayUrl}/api/json.php`,
  inFlight: scenario.concurrency ?? 64,
  envelope: 100,
  lingerMs: 20,
})
