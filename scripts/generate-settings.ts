/**
 * Writes docs/settings.md and src/config/generated.ts from the definitions of the settings (src/config/definitions.ts).
 * The latter gives each field of `Settings` and `SettingsTree` its docstring: an inferred type cannot carry one.
 * With --check it writes nothing and fails when a file is stale.
 */
import { definitions, type SettingPath } from '../src/config/definitions.ts'
import { type Explanation, explain } from '../src/config/explain.ts'
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

/* docs/settings.md */

const header = `# Settings

Made by scripts/generate-settings.ts from src/config/definitions.ts: change that and run it again.

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

/* src/config/generated.ts */

const indented = (lines: string[]): string[] => lines.map(line => (line ? `  ${line}` : line))

function docOf({ path, variable, default: fallback, example, doc, secret }: Explanation): string[] {
  const usual = fallback === null ? `No default; an example: \`${example}\`.` : `Default: \`${fallback}\`.`
  const facts = `\`${path}\`, variable \`${variable}\`. ${secret ? 'A secret.' : usual}`
  return ['/**', ` * ${doc}`, ' *', ` * ${facts}`, ' */']
}

/** Settings that `compile` makes something else of. */
const compiled: readonly SettingPath[] = [
  'kafka.ssl',
  'gateway.apiKey',
  'gateway.rate',
  'delivery.default',
  'reconciler.expectMs',
]
/** Settings that `compile` gives an empty list or map in place of no value. */
const filled: readonly SettingPath[] = ['gateway.errorTexts', 'gateway.tenantWeights', 'delivery.notFoundErrors']

/** The fields directly below a path, as `compile` leaves them. @param prefix a path with a dot at its end */
function sectionBelow(prefix: string): string[] {
  const direct = paths.filter(path => path.startsWith(prefix) && !path.includes('.', prefix.length))
  return direct
    .filter(path => !compiled.includes(path))
    .flatMap(path => {
      const type = `CheckedValues['${path}']`
      const field = `${path.slice(prefix.length)}: ${filled.includes(path) ? `NonNullable<${type}>` : type}`
      return [...docOf(explain(path)), field]
    })
}

/** The fields of the tree below a path, as they may be given. @param prefix empty, or a path with a dot at its end */
function treeBelow(prefix: string): string[] {
  const heads = new Set(
    paths.filter(path => path.startsWith(prefix)).map(path => path.slice(prefix.length).split('.')[0]!),
  )
  return [...heads].flatMap(head => fieldOf(prefix, head))
}

function fieldOf(prefix: string, head: string): string[] {
  const path = prefix + head
  const setting = paths.find(one => one === path)
  const below = paths.filter(one => one.startsWith(`${path}.`))
  const own = setting ? docOf(explain(setting)) : [`/** ${prefix ? docBelow(path) : sections[head]} */`]
  const field = (name: string, type: string[]) => [`readonly ${name}?: ${type[0]}`, ...type.slice(1)]
  const leaf = setting ? `GivenValues['${path}'] | ` : ''
  if (below.length > 0) return [...own, ...field(head, [...branchOf(leaf, path), '} | undefined'])]
  if (!setting || !explain(setting).file) return [...own, ...field(head, [`GivenValues['${path}'] | undefined`])]
  const twin = [`/** The file that holds \`${path}\`. */`, ...field(`${head}File`, ['string | undefined'])]
  return [...own, ...field(head, [`GivenValues['${path}'] | undefined`]), ...twin]
}

/** All of a branch but its last line. */
function branchOf(leaf: string, path: string): string[] {
  const type = paths.find(one => one === `${path}.TYPE`)
  if (type) return [`${leaf}{`, `  readonly [T in SendType]?: GivenValues['${type}'] | undefined`]
  if (!paths.some(one => one.startsWith(`${path}.NAME.`))) return [`${leaf}{`, ...indented(treeBelow(`${path}.`))]
  const account = indented(treeBelow(`${path}.NAME.`))
  return [`${leaf}{`, '  readonly [name: string]: {', ...indented(account), '  }']
}

function docBelow(path: string): string {
  const byType = paths.find(one => one === `${path}.TYPE`)
  return byType ? explain(byType).doc : `The settings below \`${path}\`.`
}

const sectionNames = new Set(
  paths.filter(path => !/\b(NAME|TYPE)\b/.test(path)).map(path => path.slice(0, Math.max(0, path.lastIndexOf('.')))),
)
sectionNames.delete('') // these stand in the tree itself

const declarations = [
  '// Made by scripts/generate-settings.ts from src/config/definitions.ts: change that and run it again.',
  "import type { SendType } from '../protocol/index.ts'",
  "import type { CheckedValues } from './check.ts'",
  "import type { GivenValues } from './tree.ts'",
  '',
  '/** The checked settings that stand directly below a path, but for those that `compile` makes something else of. */',
  'export interface Sections {',
  ...indented([...sectionNames].flatMap(name => [`'${name}': {`, ...indented(sectionBelow(`${name}.`)), '}'])),
  '}',
  '',
  '/** Settings as a tree like that of the file; none is required. `busgate config print` shows all of them. */',
  'export interface SettingsTree {',
  ...indented(treeBelow('')),
  '}',
  '',
]
writeGenerated('src/config/generated.ts', declarations.join('\n'))
