import { addAbortSignal } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import type { z } from 'zod'
import { meaningOf, type OperationType, operations, parseJson, requiredFields } from '../../protocol/index.ts'
import { isObject, parseQuietly } from '../../protocol/json.ts'
import { booleanFlag, type Flag, type Flags, textFlag, UsageError } from '../framework/command.ts'
import { strictUtf8 } from '../framework/terminal.ts'

type Shape = Readonly<Record<string, z.ZodType>>

/** A flag for each field of an operation; those of a nested object have dotted names, such as sms.signature. */
export function fieldFlags(type: OperationType): Flags {
  const { type: _, ...fields } = operations[type].schema.shape as Shape
  const required = requiredFields(type)
  return Object.fromEntries(
    flagsBelow('', fields).map(([path, flag]) => [
      path,
      required.includes(path) ? { ...flag, help: `Required. ${flag.help}` } : flag,
    ]),
  )
}

/** The operation that these flags describe. @throws UsageError */
export function operationOfFlags(type: OperationType, values: Record<string, unknown>): { type: OperationType } {
  const operation = { type }
  for (const path of Object.keys(fieldFlags(type))) {
    if (Object.hasOwn(values, path)) put(operation, path, values[path])
  }
  return operation
}

function flagsBelow(prefix: string, shape: Shape): [path: string, Flag<unknown>][] {
  return Object.entries(shape).flatMap(([name, field]) => {
    const path = prefix + name
    const dashed = path.replaceAll('_', '-')
    const also = [...(dashed === path ? [] : [dashed]), ...(path === 'template' ? ['text'] : [])]
    return [[path, { ...flagOf(field), also }], ...shapesOf(field).flatMap(inner => flagsBelow(`${path}.`, inner))] as [
      string,
      Flag<unknown>,
    ][]
  })
}

/** A field of another kind than these is given as JSON. */
function flagOf(field: z.ZodType): Flag<unknown> {
  const help = meaningOf(field)
  const { def } = inner(field)
  if (def.type === 'string' || def.type === 'enum' || def.type === 'unknown') return textFlag('TEXT', help)
  if (def.type === 'boolean') return booleanFlag(help)
  if (def.type === 'number' || def.type === 'custom') return { value: 'NUMBER', help, read: number }
  if (def.type === 'array' && def.element.def.type === 'enum') return { value: 'NAME,NAME', help, read: names }
  return { value: 'JSON', help, read: json }
}

/** The fields of a nested object, in each of the forms that it may have. */
function shapesOf(field: z.ZodType): Shape[] {
  const { def } = inner(field)
  if (def.type === 'union') return def.options.flatMap(shapesOf)
  return def.type === 'object' ? [def.shape] : []
}

type Known =
  | z.ZodString
  | z.ZodUnknown
  | z.ZodEnum
  | z.ZodBoolean
  | z.ZodNumber
  | z.ZodCustom
  | z.ZodArray<z.ZodType>
  | z.ZodObject<Record<string, z.ZodType>>
  | z.ZodUnion<z.ZodType[]>

function inner(field: z.ZodType): Known {
  return (field.def.type === 'optional' ? (field as z.ZodOptional).unwrap() : field) as Known
}

/** Whatever is no number of JSON is left to the schema: without its zero, 0671234561 is the number of somebody else. */
function number(given: string): unknown {
  return /^-?(0|[1-9]\d*)(\.\d+)?$/.test(given) ? parseJson(given) : given
}

function names(given: string): unknown {
  return given.startsWith('[') ? json(given) : given.split(',').map(name => name.trim())
}

function json(given: string): unknown {
  return parseQuietly(given, 'expected JSON')
}

function put(operation: Record<string, unknown>, path: string, value: unknown): void {
  const steps = path.split('.')
  const last = steps.pop()!
  let target = operation
  for (const step of steps) {
    target[step] ??= {}
    if (typeof target[step] !== 'object') throw new UsageError(`--${path}: --${step} is not an object that can hold it`)
    target = target[step] as Record<string, unknown>
  }
  target[last] = value
}

/**
 * The fields of an operation as a JSON object from standard input.
 * @param missing what to say when there is none
 * @throws UsageError; AbortError when the signal ends it
 */
export async function readFields(missing: string, signal: AbortSignal): Promise<Record<string, unknown>> {
  if (process.stdin.isTTY) throw new UsageError(missing)
  const bytes = await buffer(addAbortSignal(signal, process.stdin))
  const given = asUsage(() => strictUtf8()(bytes)).trim()
  if (given === '') throw new UsageError(missing)
  const fields = asUsage(() => parseQuietly(given, 'standard input is not valid JSON'))
  if (isObject(fields)) return fields
  throw new UsageError('standard input: expected a JSON object')
}

function asUsage<T>(read: () => T): T {
  try {
    return read()
  } catch (error) {
    throw new UsageError((error as Error).message)
  }
}
