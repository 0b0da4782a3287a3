import { type SettingPath, type Settings, type SettingsSources, variableOf } from '../../config/index.ts'
import type { Cluster, Topic } from '../kafka/cluster.ts'
import type { RegistryAdmin } from '../registry-admin.ts'

export type CheckState = 'ok' | 'warning' | 'failed' | 'skipped'

/** The result of one check: a line of the report. Contains no secret. */
export interface Finding {
  state: CheckState
  what: string
  /** How to repair it, as a command if possible. */
  mend?: string
}

/** What earlier checks have found, for later ones. */
export interface Facts {
  settings: Settings
  /** Whether the gateway accepts the key, by account. An account is missing if the gateway did not say. */
  keys: ReadonlyMap<string, boolean>
  registry: RegistryAdmin
  cluster: Cluster
  topics: ReadonlyMap<string, Topic>
}

export type FactName = keyof Facts

/** Reasons for skipping a check, by the missing fact. */
export const without: Record<FactName, string> = {
  settings: 'the settings cannot be used',
  keys: 'no key was tried at the gateway',
  registry: 'no registry was reached',
  cluster: 'no broker answered',
  topics: 'the brokers did not describe the topics',
}

export interface Report {
  findings: Finding[]
  facts?: Partial<Facts>
}

export interface Check<N extends FactName = FactName> {
  /** Name of the check in its lines. */
  name: string
  /** What the check examines and why; the source of docs/doctor.md. */
  about: string
  /** Facts without which the check is skipped. */
  needs: readonly N[]
  /** @throws Error when it cannot check; shown as one failed line */
  look(facts: Partial<Facts> & Pick<Facts, N>, sources: SettingsSources): Promise<Report>
}

/** Defines a check; infers the types of its facts from `needs`. */
export function check<const N extends FactName>(definition: Check<N>): Check {
  return definition as unknown as Check
}

export const ok = (what: string): Finding => ({ state: 'ok', what })
export const skipped = (what: string): Finding => ({ state: 'skipped', what })
/** A setting for a mend: its name in a file, and its variable. */
export const named = (path: SettingPath) => `${path} (${variableOf(path)})`
/** @param so what follows from the missing setting */
export const notSet = (path: SettingPath, so: string) => skipped(`${named(path)} is not set: ${so}`)
export const warning = (what: string, mend: string): Finding => ({ state: 'warning', what, mend })
export const failed = (what: string, mend: string): Finding => ({ state: 'failed', what, mend })
