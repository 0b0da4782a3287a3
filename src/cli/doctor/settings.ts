import { loadSettings, SettingsError } from '../../config/index.ts'
import { runnableSettings } from '../settings.ts'
import { check, type Facts, type Finding, ok } from './check.ts'

export const settings = check({
  name: 'settings',
  about: 'The settings, as `busgate config check` does: errors, and settings that `busgate run` needs.',
  needs: [],
  async look(_facts, sources) {
    try {
      const loaded = runnableSettings(sources)
      return { findings: [ok(`valid, for the roles ${loaded.roles.join(', ')}`)], facts: { settings: loaded } }
    } catch (error) {
      if (!(error instanceof SettingsError)) throw error
      return { findings: error.problems.map(finding), facts: usable() }
    }

    /** Reads settings that can be used: a missing one is no reason not to look at the rest. */
    function usable(): Partial<Facts> {
      try {
        return { settings: loadSettings(sources) }
      } catch {
        return {}
      }
    }
  },
})

function finding({ path, where, variable, what, example }: SettingsError['problems'][number]): Finding {
  const mend = example === undefined ? 'busgate config check' : `${variable ?? path}=${example}, for example`
  return { state: 'failed', what: `${path} (${where}): ${what}`, mend }
}
