import { hookForCommands, tokensOf } from '../callbacks/role.ts'
import { loadRunnableSettings, type Settings, type SettingsSources } from '../config/index.ts'
import { Telemetry } from '../telemetry/events.ts'

/** The settings of a process that could start with them. @throws SettingsError that names all that is wrong or missing */
export function runnableSettings(sources: SettingsSources): Settings {
  // refuses an address that leaves no room for a token
  return loadRunnableSettings(sources, settings => hookForCommands(settings, tokensOf(settings), new Telemetry()))
}
