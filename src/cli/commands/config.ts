import { stringify } from 'yaml'
import { type Explanation, maskSettings, nearestTo, settingsNamed } from '../../config/index.ts'
import { command, type Flag, toggle, UsageError } from '../framework/command.ts'
import { printLine } from '../framework/terminal.ts'
import { configFlag, runnableSettings, settingsFrom, sourcesOf } from '../settings.ts'

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

const nameFlag: Flag<string> = {
  value: 'NAME',
  help: 'A setting or its variable, or the beginning or last part of several; all of them when left out.',
  bare: true,
  read: given => given,
}

export const configExplain = command({
  about: [
    'Says what a setting is for, what its value may be, its default, and the variable that sets it. The beginning of a',
    'name stands for all that begin so, such as kafka or gateway.accounts, and its last part for all that end so, such',
    'as brokers. docs/settings.md has all of them.',
  ].join('\n'),
  flags: { name: nameFlag, json: toggle('Prints one JSON object a line.') },
  async run({ name, json }) {
    const found = settingsNamed(name)
    if (found.length === 0) throw new UsageError(`there is no setting ${name}; the nearest is ${nearestTo(name ?? '')}`)
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
