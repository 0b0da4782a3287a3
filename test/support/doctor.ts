import { checks, type Examined, examine } from '../../src/cli/commands/doctor.ts'
import type { CheckState } from '../../src/cli/doctor/check.ts'

/**
 * Runs doctor with these environment variables.
 * @param only names of the checks to run. Default: all.
 */
export async function diagnose(env: Record<string, string>, only?: readonly string[]) {
  const wanted = checks.filter(({ name }) => !only || only.includes(name))
  const all: Examined[] = []
  for await (const one of examine(wanted, { env })) all.push(one)
  const lines = (check: string) => all.filter(one => one.check === check)
  return {
    all,
    /** The lines of one check, as `state: what`. */
    of: (check: string) => lines(check).map(({ state, what }) => `${state}: ${what}`),
    /** The advice in the lines of one check that have this state. */
    mends: (check: string, state: CheckState) => lines(check).flatMap(one => (one.state === state ? [one.mend] : [])),
  }
}
