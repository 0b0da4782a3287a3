/**
 * Writes docs/operations.md from the registry of operations and the examples that the tests run.
 */
import { existsSync } from 'node:fs'
import type { z } from 'zod'
import {
  type Operation,
  type OperationType,
  operations,
  operationTypes,
  requiredFields,
} from '../src/protocol/index.ts'
import { examples } from '../test/support/examples.ts'
import { writeGenerated } from './generated-file.ts'

const root = new URL('../', import.meta.url)

const header = `# Operations

Made by scripts/generate-operations-table.ts from the registry (src/protocol/registry.ts): change that and run npm run generate.

Sections are headings of the gateway's interface specification. Besides the required fields an operation may carry the optional ones of its section and any additional property. What \`viber_type\` and the channels of \`pipeline\` require besides is in their sections, and is checked. A payload may hold more than is listed; what the specification does not show is handed on as it came. A command on the bus carries additional properties in \`extra\`, as JSON texts by their names; for an object of the message (\`voice\`, a stage of \`pipeline\`) it holds the fields that the record lacks, such as \`{"sms": "{\\"lifetime\\":3600}"}\`, or the whole where the message leaves it null.

Every operation is run by [client-operations.test.ts](../test/gateway/client-operations.test.ts) through the client and the sandbox over HTTP: its plain form, and the examples of [examples.ts](../test/support/examples.ts), of which the table gives the number. Its schema is tested field by field in [operations.test.ts](../test/protocol/operations.test.ts).

| operation | required fields | payload | \`hook\` | section | tested by examples |
|---|---|---|---|---|---|
`

function row(type: OperationType): string {
  const { payload, hook, section }: Operation = operations[type]
  if (!Object.hasOwn(examples, type)) throw new Error(`test/support/examples.ts has no examples of ${type}`)
  const { good, bad } = examples[type]
  const cells = [
    `[\`${type}\`](../${sourceOf(type)})`,
    code(requiredFields(type)),
    payloadOf(payload),
    hook,
    section,
    `${1 + Object.keys(good).length} accepted, ${Object.keys(bad).length} refused`,
  ]
  return `| ${cells.join(' | ')} |\n`
}

function sourceOf(type: OperationType): string {
  const file = type.startsWith('template/') ? 'templates' : type.replaceAll(/[/+]/g, '-')
  const path = `src/protocol/operations/${file}.ts`
  if (!existsSync(new URL(path, root))) throw new Error(`${type}: no ${path}`)
  return path
}

function payloadOf(schema: z.ZodType): string {
  const { def } = schema as z.ZodObject | z.ZodArray<z.ZodType> | z.ZodUnion<z.ZodType[]> | z.ZodUnknown
  if (def.type === 'object') return code(Object.keys(def.shape))
  if (def.type === 'array') return `list of ${payloadOf(def.element)}`
  return def.type === 'union' ? `not shown; known: ${payloadOf(def.options[0]!)}` : 'not shown'
}

const code = (names: string[]): string => names.map(name => `\`${name}\``).join(', ') || 'none'

writeGenerated('docs/operations.md', header + operationTypes.map(row).join(''))
