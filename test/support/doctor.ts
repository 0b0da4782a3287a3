import { checks, type Examined, examine } from '../../src/cli/commands/doctor.ts'
import type { CheckState } from '../../src/cli/doctor/check.ts'

/** Diagnosis is what doctor finds with some variables. */
export interface Diagnosis {
  all: Examined[]
  /** Lines of one check, as `state: what`. */
  of(check: string): string[]
  /** What mends the lines that are in this state. */
  mends(check: string, state: CheckState): (string | undefined)[]
}

/** @param only the checks that matter; the others are left out. Default: all. */
export async function diagnose(env: Record<string, string>, only?: readonly string[]): Promise<Diagnosis> {
  const wanted = checks.filter(({ name }) => !only || only.includes(name))
  const all: Examined[] = []
  for await (const one of examine(wanted, { env })) all.push(one)
  const lines = (check: string) => all.filter(one => one.check === check)
  return {
    all,
    of: check => lines(check).map(({ state, what }) => `${state}: ${what}`),
    mends: (check, state) => lines(check).flatMap(one => (one.state === state ? [one.mend] : [])),
  }
}
