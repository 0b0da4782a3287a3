import type { Settings, SettingsSources } from '../../config/index.ts'
import type { Cluster, Topic } from '../kafka/cluster.ts'
import type { RegistryAdmin } from './registry.ts'

export type CheckState = 'ok' | 'warning' | 'failed' | 'skipped'

/** One thing that was looked at: a line of the report. Holds no secret. */
export interface Finding {
  state: CheckState
  what: string
  /** How to mend what is wrong: a command where there is one. */
  mend?: string
}

/** Facts is what a check finds out for those after it. */
export interface Facts {
  settings: Settings
  registry: RegistryAdmin
  cluster: Cluster
  topics: ReadonlyMap<string, Topic>
}

export type FactName = keyof Facts

/** Checks that lack a fact say this. */
export const without: Record<FactName, string> = {
  settings: 'the settings cannot be used',
  registry: 'no registry was reached',
  cluster: 'no broker answered',
  topics: 'the brokers did not describe the topics',
}

export interface Report {
  findings: Finding[]
  facts?: Partial<Facts>
}

export interface Check<N extends FactName = FactName> {
  /** The first word of its lines. */
  name: string
  /** Says for people what the check looks at and why; docs/doctor.md is made of it. */
  about: string
  /** Facts without which the check is skipped. */
  needs: readonly N[]
  /** @throws Error when it could not look; that is one failed line. */
  look(facts: Partial<Facts> & Pick<Facts, N>, sources: SettingsSources): Promise<Report>
}

/** A check, with the types of its facts taken from what it needs. */
export function check<const N extends FactName>(definition: Check<N>): Check {
  return definition as unknown as Check
}

export const ok = (what: string): Finding => ({ state: 'ok', what })
export const skipped = (what: string): Finding => ({ state: 'skipped', what })
export const warning = (what: string, mend: string): Finding => ({ state: 'warning', what, mend })
export const failed = (what: string, mend: string): Finding => ({ state: 'failed', what, mend })
