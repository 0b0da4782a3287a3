/**
 * Writes src/protocol/generated.ts: the fields of each operation, with what the metadata of its schema says as docstrings,
 * which an inferred type cannot carry.
 * With --check it writes nothing and fails when the file is stale.
 */
import type { z } from 'zod'
import { meaningOf, type OperationType, operations, operationTypes } from '../src/protocol/index.ts'
import { writeGenerated } from './generated-file.ts'

type Shape = Readonly<Record<string, z.ZodType>>

/** @param object the TypeScript of the type that has these fields */
function fieldsOf(shape: Shape, object: string): string[] {
  return Object.entries(shape).flatMap(([name, field]) => {
    const optional = field.def.type === 'optional'
    const type = `${object}['${name}']`
    const { def } = optional ? (field as z.ZodOptional<z.ZodObject>).unwrap() : (field as z.ZodObject)
    const defined = optional ? `NonNullable<${type}>` : type
    const [first, ...lines] = def.type === 'object' ? ['{', ...indented(fieldsOf(def.shape, defined)), openEnd] : [type]
    const end = def.type === 'object' && optional ? [...lines, '} | undefined'] : [...lines, '}']
    return [`/** ${docOf(name, field)} */`, `${name}${optional ? '?' : ''}: ${first}`, ...(lines.length > 0 ? end : [])]
  })
}

const openEnd = '  [name: string]: unknown'

const indented = (lines: string[]): string[] => lines.map(line => `  ${line}`)

/** @throws Error when a field has no description */
function docOf(name: string, field: z.ZodType): string {
  const meaning = meaningOf(field)
  if (!/^[A-Z]/.test(meaning)) throw new Error(`the field ${name} of an operation has no description`)
  return meaning
}

function interfaceOf(type: OperationType): string[] {
  const { type: _, ...fields } = operations[type].schema.shape as Shape
  return [`'${type}': {`, ...indented(fieldsOf(fields, `Inferred<'${type}'>`)), openEnd, '}']
}

const text = [
  '// Made by scripts/generate-fields.ts from the operations (src/protocol/operations): change those and run it again.',
  "import type { z } from 'zod'",
  "import type { OperationType } from './operation.ts'",
  "import type { operations } from './registry.ts'",
  '',
  "type Inferred<T extends OperationType> = z.infer<(typeof operations)[T]['schema']>",
  '',
  '/** The fields of each operation, without its type; additional properties pass through. */',
  'export interface OperationFields {',
  ...indented(operationTypes.flatMap(interfaceOf)),
  '}',
  '',
]
writeGenerated('src/protocol/generated.ts', text.join('\n'))
