import { readKeysOutside } from '../support/outside/consumer.ts'
import { type Audit, violations } from './audit.ts'
import type { Fleet } from './fleet.ts'
import { longestGap } from './gaps.ts'
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

/** What every run tells: where it ran, what was counted, and how many results another client can read. */
export async function reportOf(options: RunOptions, evidence: Evidence): Promise<Outcome> {
  const { stage, audit, fleet, faults, executedAt, figures } = evidence
  const { kafka, nodes, codec } = options
  const verdict = audit.verdict(stage.sandbox)
  const { outcomes, ...counts } = verdict
  const readOutside = await readKeysOutside({
    brokers: stage.kafka.brokers,
    topic: stage.settings.topics.results,
    records: audit.results,
    version: kafka,
  })
  const first = {
    kafka,
    brokers: nodes,
    codec: codec ?? "busgate's producer",
    ...counts,
    faults,
    workersRestartedThemselves: fleet.restarts,
    longestGapSeconds: seconds(longestGap(executedAt).ms),
    readByConsoleConsumer: readOutside.length,
    ...figures,
  }
  const unread = readOutside.length < audit.results ? ['resultsUnreadByConsoleConsumer'] : []
  return { figures: [first, outcomes], broken: [...violations(verdict), ...unread], verdict, faults }
}

export const seconds = (ms: number): number => Number((ms / 1000).toFixed(2))
