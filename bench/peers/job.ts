import type { StartOptions } from '../program.ts'

/** The only argument of the programs in this folder. */
export interface Job {
  brokers: readonly string[]
  registryUrl: string
  group: string
  /** The command topics, most urgent first. */
  commands: readonly string[]
  /** The results topic: one JSON text for each command, with its id as the key. */
  results: string
  /** The address for envelopes. */
  url: string
  /** The maximum of requests in flight. */
  inFlight: number
  /** The maximum of operations in an envelope. */
  envelope: number
  /** The longest wait for an envelope to fill. */
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
