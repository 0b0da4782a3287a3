/**
 * Writes docs/settings.md from the definitions of the settings (src/config/definitions.ts).
 */
import { definitions, type SettingPath } from '../src/config/definitions.ts'
import { explain } from '../src/config/explain.ts'
import { writeGenerated } from './generated-file.ts'

const paths = Object.keys(definitions) as SettingPath[]

const headOf = (path: string): string => path.slice(0, Math.max(0, path.indexOf('.')))

/** The description of each section. */
const sections: Record<string, string> = {
  kafka: 'Brokers, consumer group and sign-in.',
  registry: 'The schema registry.',
  topics: 'Names of the topics.',
  gateway: 'The messaging gateway and its accounts.',
  sealing: 'Content that only workers read ([personal-data.md](personal-data.md#seal-the-content)).',
  commands: 'Age and number of commands.',
  doubts: 'Commands in doubt: perhaps sent.',
  results: 'What results hold.',
  callbacks: 'The callback receiver and hook addresses.',
  reconciler: 'Polling for missing verdicts.',
  telemetry: 'Metrics, readiness and logs.',
  '': 'Settings without a section.',
}

const header = `# Settings

<!-- Made by scripts/generate-settings.ts from src/config/definitions.ts: change that and run npm run generate. -->

For operators: every setting, its variable, default and meaning. Settings come from, weakest first: defaults, a YAML file (\`--config FILE\` or \`BUSGATE_CONFIG\`), environment variables, and in code \`overrides\` of \`loadSettings\`. The file is a tree: \`kafka.groupId\` is \`groupId\` below \`kafka\`. In a variable, separate the parts of a list by commas or lines, and write a map as a JSON object. An unknown name is an error. A change takes effect at a restart, one process after the other.

Give a secret as a file by appending \`File\` to the setting (\`gateway.apiKeyFile\`) or \`_FILE\` to the variable (\`BUSGATE_GATEWAY_API_KEY_FILE\`). This file is reread when it changes; if it becomes invalid, the last valid value stays in use, with \`secret.unusable\` in the [log](logs.md) and a warning at \`/readyz\`. \`busgate config print\` and all messages show secrets as \`***\`.

NAME stands for the name of an account (lower-case letters and digits), TYPE for a type of message, with \`_\` instead of \`+\` and \`/\` in a variable. Times end in \`Ms\` and are milliseconds.

\`busgate config explain kafka.groupId\` describes one setting, \`busgate config print\` prints all that are set and all defaults, as a file that loads again, \`busgate config check\` what is wrong with them.
`

const columns = '| setting | variable | a value is | default | meaning |\n|---|---|---|---|---|\n'

const code = (text: string): string => `\`${text}\``

function row(path: SettingPath): string {
  const { variable, file, type, default: fallback, doc } = explain(path)
  const value = file ? `**secret**: ${type}` : type
  const cells = [code(path), code(variable), value, fallback === null ? 'none' : code(fallback), doc]
  return `| ${cells.map(cell => cell.replaceAll('|', '\\|')).join(' | ')} |\n`
}

const pages = Object.entries(sections).map(([section, about]) => {
  const rows = paths.filter(path => headOf(path) === section).map(row)
  return `\n## ${section || 'Others'}\n${about}\n\n${columns}${rows.join('')}`
})
const left = paths.filter(path => !Object.hasOwn(sections, headOf(path)))
if (left.length > 0)
  throw new Error(`scripts/generate-settings.ts says nothing about the section of ${left.join(', ')}`)
writeGenerated('docs/settings.md', header + pages.join(''))
