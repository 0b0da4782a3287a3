import type { SettingsSources } from '../../config/index.ts'
import { safeText } from '../../telemetry/error.ts'
import { within } from '../framework/terminal.ts'
import { type Check, type Facts, type Finding, skipped, without } from './check.ts'
import { cluster } from './cluster.ts'
import { gateway } from './gateway.ts'
import { receiver } from './receiver.ts'
import { registry, schemas } from './registry.ts'
import { rights } from './rights.ts'
import { safety } from './safety.ts'
import { settings } from './settings.ts'
import { limits, topics } from './topics.ts'

export interface Examined extends Finding {
  check: string
}

/** The limit of a whole check. Its questions to others have shorter limits of their own. */
const checkLimitMs = 5000

/** Runs checks one after the other, each with what those before it have found out. */
export async function* examine(
  checks: readonly Check[],
  sources: SettingsSources,
  limitMs = checkLimitMs,
): AsyncGenerator<Examined> {
  const facts: Partial<Facts> = {}
  try {
    for (const check of checks) {
      const missing = check.needs.find(name => facts[name] === undefined)
      const findings = missing ? [skipped(without[missing])] : await look(check, facts, { sources, limitMs })
      for (const finding of findings) yield { check: check.name, ...finding }
    }
  } finally {
    await facts.cluster?.close().catch(() => {})
  }
}

async function look(
  check: Check,
  facts: Partial<Facts>,
  { sources, limitMs }: { sources: SettingsSources; limitMs: number },
): Promise<Finding[]> {
  try {
    const report = await within(limitMs, 'the check', check.look(facts as Facts, sources))
    Object.assign(facts, report.facts)
    return report.findings
  } catch (error) {
    return [{ state: 'failed', what: safeText((error as Error).message) }]
  }
}

/** Every check, in the order in which they run: each is told what those before it have found out. */
export const checks: readonly Check[] = [
  settings,
  safety,
  gateway,
  registry,
  cluster,
  topics,
  schemas,
  rights,
  limits,
  receiver,
]
