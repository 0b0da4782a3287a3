/**
 * Writes out the type SettingsTree of the package, with the sentence of each setting where editors show it: TypeScript keeps no
 * comments of what it infers.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { definitions, type SettingPath } from '../src/config/index.ts'

interface Branch {
  setting: SettingPath | null
  below: Map<string, Branch>
}

const root: Branch = { setting: null, below: new Map() }
for (const setting of Object.keys(definitions) as SettingPath[]) {
  let branch = root
  for (const part of setting.split('.')) {
    const next = branch.below.get(part) ?? { setting: null, below: new Map() }
    branch.below.set(part, next)
    branch = next
  }
  branch.setting = setting
}

function typeOf({ setting, below }: Branch, indent: string): string {
  const lines = [...below].map(([part, branch]) => property(part, branch, `${indent}  `))
  const tree = below.size > 0 ? [`{\n${lines.join('')}${indent}}`] : []
  return [...(setting ? [`Given<'${setting}'>`] : []), ...tree, 'undefined'].join(' | ')
}

function property(part: string, branch: Branch, indent: string): string {
  const type = typeOf(branch, indent)
  const { setting } = branch
  const doc = setting ? `${indent}/** ${definitions[setting].doc} */\n` : ''
  if (part === 'TYPE') return `${doc}${indent}readonly [T in SendType]?: ${type}\n`
  if (part === 'NAME') return `${doc}${indent}readonly [name: string]: ${type}\n`
  const twin =
    setting && definitions[setting].secret
      ? `${indent}/** A file that holds \`${setting}\`. */\n${indent}readonly ${part}File?: string | undefined\n`
      : ''
  return `${doc}${indent}readonly ${part}?: ${type}\n${twin}`
}

const file = new URL('../dist/config/types.d.ts', import.meta.url)
const inferred = "export interface SettingsTree extends TreeBelow<''> {\n}"
const types = readFileSync(file, 'utf8')
if (!types.includes(inferred)) throw new Error(`${file.pathname} has no SettingsTree to be written out`)
const fields = [...root.below].map(([part, branch]) => property(part, branch, '  ')).join('')
writeFileSync(
  file,
  types.replace(inferred, () => `export interface SettingsTree {\n${fields}}`),
)
