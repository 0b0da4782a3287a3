/**
 * Writes docs/settings.md from the definitions of the settings (src/config/definitions.ts).
 */
import { definitions, type SettingPath } from '../src/config/definitions.ts'
import { explain } from '../src/config/explain.ts'
import { writeGenerated } from './generated-file.ts'

const paths = Object.keys(definitions) as SettingPath[]

const headOf = (path: string): string => path.slice(0, Math.max(0, path.indexOf('.')))

/** Tells what the settings of a section are about. */
const sections: Record<string, string> = {
  kafka: 'The brokers, and how this process works with them.',
  registry: 'The schema registry.',
  topics: 'Names of the topics.',
  gateway: 'The messaging gateway and its accounts.',
  delivery: 'What is sent again, and what is not.',
  callbacks: 'The receiver of callbacks, and the hook addresses that lead to it.',
  reconciler: 'How missing verdicts are asked for.',
  telemetry: 'Metrics, readiness and logs.',
  '': 'Settings without a section.',
}

const header = `# Settings

Made by scripts/generate-settings.ts from src/config/definitions.ts: change that and run npm run generate.

Settings come from, weakest first: defaults, a YAML file (\`--config FILE\` or \`BUSGATE_CONFIG\`), variables, and in code \`overrides\` of \`loadSettings\`. The file is a tree: \`kafka.groupId\` is \`groupId\` below \`kafka\`. A variable holds the same as text; a list has commas or lines between its parts, a map is a JSON object. A name that is no setting is an error, which names the nearest one.

A secret may be given by its file instead: the setting with \`File\` behind its name (\`gateway.apiKeyFile\`), the variable with \`_FILE\` (\`BUSGATE_GATEWAY_API_KEY_FILE\`). The file is read again when it changes. \`busgate config print\` and all messages show secrets as \`***\`.

NAME stands for the name of an account (lower-case letters and digits), TYPE for a type of message, with \`_\` in place of \`+\` and \`/\` in a variable. Times end in \`Ms\` and are milliseconds.

\`busgate config explain kafka.groupId\` tells the same as this page, \`busgate config print\` the values in effect, \`busgate config check\` what is wrong with them.
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
