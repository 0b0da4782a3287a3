import { readKeysOutside } from '../support/outside/consumer.ts'
import { type Audit, violations } from './audit.ts'
import type { Fleet } from './fleet.ts'
import { longestGap } from './gaps.ts'
import { idOf } from './ids.ts'
import type { Outcome, RunOptions, Stage } from './stage.ts'

export interface Evidence {
  stage: Stage
  audit: Audit
  fleet: Fleet
  faults: number
  /** When the gateway executed something new while commands came, milliseconds since 1970. */
  executedAt: readonly number[]
  /** Beside what every run tells. */
  figures?: object
}

/**
 * Tells what every run does: where it ran, what was counted, and how many commands' results another client can read.
 */
export async function reportOf(options: RunOptions, evidence: Evidence): Promise<Outcome> {
  const { stage, audit, fleet, faults, executedAt, figures } = evidence
  const { kafka, nodes, codec, commands } = options
  const verdict = audit.verdict(stage.sandbox)
  const { outcomes, ...counts } = verdict
  const keys = await readKeysOutside({
    brokers: stage.kafka.brokers,
    topic: stage.settings.topics.results,
    records: audit.results,
    version: kafka,
  })
  const read = new Set(keys)
  const readDifferently = keys.length === audit.results ? [] : ["what Kafka's own consumer reads"]
  const readByConsoleConsumer = Array.from({ length: commands }, (_, i) => String(idOf(i))).filter(id =>
    read.has(id),
  ).length
  const first = {
    kafka,
    brokers: nodes,
    codec: codec ?? "busgate's producer",
    ...counts,
    faults,
    workersRestartedThemselves: fleet.restarts,
    longestGapSeconds: seconds(longestGap(executedAt).ms),
    readByConsoleConsumer,
    ...(readDifferently.length > 0 && { results: audit.results, recordsOfConsoleConsumer: keys.length }),
    ...figures,
  }
  const unread = readByConsoleConsumer < commands - verdict.withoutFinalResult ? ['readByConsoleConsumer'] : []
  return {
    figures: [first, outcomes],
    broken: [...violations(verdict), ...unread, ...readDifferently],
    verdict,
    faults,
  }
}

export const seconds = (ms: number): number => Number((ms / 1000).toFixed(2))
