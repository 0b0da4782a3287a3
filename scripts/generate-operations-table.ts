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

<!-- Made by scripts/generate-operations-table.ts from the registry (src/protocol/registry.ts): change that and run npm run generate. -->

For developers: the fields of each operation of the gateway, and how it is tested. Sections are headings of the [specification](gateway-interface.md).

- An operation may also carry the optional fields of its section, and additional properties. busgate checks what \`viber_type\` and the channels of \`pipeline\` require. For \`viber+sms\` the specification requires nothing more: give \`viber_type\`, \`viber_signature\`, \`viber_message\`, \`sms_message\` and \`sms_signature\`.
- A payload may hold more than is listed. Fields that the specification does not show are passed on unchanged.
- A command on the bus carries additional properties in \`extra\`, as JSON texts by name. For an object of the message (\`voice\`, a stage of \`pipeline\`), \`extra\` holds the fields that its record lacks, such as \`{"sms": "{\\"lifetime\\":3600}"}\`, or the whole object if the message leaves it null.

[client-operations.test.ts](../test/gateway/client-operations.test.ts) sends every operation from the client to the sandbox over HTTP: in its plain form, and with the examples of [examples.ts](../test/support/examples.ts) that the last column counts. [operations.test.ts](../test/protocol/operations.test.ts) tests each field of its schema.

| operation | required fields | payload | \`hook\` | section | tested by examples |
|---|---|---|---|---|---|
`

/** Payloads with fields that only other sources name (specification: Records still open). */
const notShown: readonly OperationType[] = ['balance', 'status']

function row(type: OperationType): string {
  const { payload, hook, section }: Operation = operations[type]
  if (!Object.hasOwn(examples, type)) throw new Error(`test/support/examples.ts has no examples of ${type}`)
  const { good, bad } = examples[type]
  const cells = [
    `[\`${type}\`](../${sourceOf(type)})`,
    code(requiredFields(type)),
    `${notShown.includes(type) ? 'not shown; known: ' : ''}${payloadOf(payload)}`,
    hook,
    section,
    `${1 + Object.keys(good).length} accepted, ${Object.keys(bad).length} refused`,
  ]
  return `| ${cells.join(' | ')} |\n`
}

function sourceOf(type: OperationType): string {
  const [first = ''] = type.split('+')
  const isQuery = ['balance', 'sender', 'status'].includes(type)
  const file = type.startsWith('template/') ? 'templates' : isQuery ? 'queries' : first.replace('/', '-')
  const path = `src/protocol/operations/${file}.ts`
  if (!existsSync(new URL(path, root))) throw new Error(`${type}: no ${path}`)
  return path
}

function payloadOf(schema: z.ZodType): string {
  const { def } = schema as z.ZodArray<z.ZodType> | z.ZodUnknown
  if (def.type === 'array') return `list of ${payloadOf(def.element)}`
  const { fields } = (schema.meta() ?? {}) as { fields?: string[] }
  return fields ? code(fields) : 'not shown'
}

const code = (names: string[]): string => names.map(name => `\`${name}\``).join(', ') || 'none'

writeGenerated('docs/operations.md', header + operationTypes.map(row).join(''))
