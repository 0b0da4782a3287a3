import { stringify } from 'yaml'
import { type Explanation, nearestTo, printableSettings, settingsNamed } from '../../config/index.ts'
import { command, type Flag, toggle, UsageError } from '../framework/command.ts'
import { printLine } from '../framework/terminal.ts'
import { configFlag, runnableSettings, sourcesOf } from '../settings.ts'

export const configCheck = command({
  about: 'Checks whether run could start with these settings. If not, lists everything that is wrong, and exits 2.',
  flags: { config: configFlag },
  async run({ config }) {
    runnableSettings(sourcesOf(config))
    process.stderr.write('The settings are valid: run can start with them.\n')
    return 0
  },
})

export const configPrint = command({
  about: [
    'Prints the settings in the form of the settings file: defaults, file and variables merged, without those that are',
    'not set or follow from others. Secrets are shown as ***, those from files by their paths.',
  ].join('\n'),
  flags: { config: configFlag, json: toggle('Prints one JSON object instead of YAML.') },
  async run({ config, json }) {
    const settings = printableSettings(sourcesOf(config))
    process.stdout.write(json ? `${JSON.stringify(settings)}\n` : stringify(settings))
    return 0
  },
})

const nameFlag: Flag<string> = {
  value: 'NAME',
  help: 'A setting or its variable, or the beginning or last part of several. Default: all.',
  bare: true,
  read: given => given,
  values: () => settingsNamed().map(({ path }) => path),
}

export const configExplain = command({
  about: [
    'Describes a setting: its meaning, values, default and variable. To describe several, give the beginning of their',
    'names (kafka, gateway.accounts) or their last part (brokers). docs/settings.md has all of them.',
  ].join('\n'),
  flags: { name: nameFlag, json: toggle('Prints one JSON object per line.') },
  async run({ name, json }) {
    const found = settingsNamed(name)
    if (found.length === 0) throw new UsageError(`there is no setting ${name}; ${nearestTo(name ?? '')}`)
    if (json) for (const one of found) await printLine(JSON.stringify(one))
    else await printLine(found.map(explained).join('\n\n'))
    return 0
  },
})

function explained({ path, variable, file, type, default: fallback, example, secret, doc }: Explanation): string {
  const rows: [string, string][] = [
    ['variable', variable],
    ...(file ? [['or its file', `${file.path}, ${file.variable}`] as [string, string]] : []),
    ['a value is', secret ? `a secret: ${type}` : type],
    ['default', fallback ?? 'none'],
    ...(fallback === null ? [['example', example] as [string, string]] : []),
  ]
  return [path, `  ${doc}`, ...rows.map(([left, right]) => `  ${left.padEnd(12)}${right}`)].join('\n')
}
