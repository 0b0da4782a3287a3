import { stringify } from 'yaml'
import { maskSettings } from '../../config/index.ts'
import { command, toggle } from '../command.ts'
import { runnableSettings } from '../runnable.ts'
import { configFlag, settingsFrom, sourcesOf } from '../settings.ts'

export const configCheck = command({
  about: 'Says whether run could start with these settings; if not, everything that is wrong with them, and exits 2.',
  flags: { config: configFlag },
  async run({ config }) {
    runnableSettings(sourcesOf(config))
    process.stderr.write('The settings are fine: run can start with them.\n')
    return 0
  },
})

export const configPrint = command({
  about: 'Prints the settings in effect: defaults, file and variables together. Secrets are shown as ***.',
  flags: { config: configFlag, json: toggle('Prints one JSON object instead of YAML.') },
  async run({ config, json }) {
    const settings = maskSettings(settingsFrom(config))
    process.stdout.write(json ? `${JSON.stringify(settings)}\n` : stringify(settings))
    return 0
  },
})
