import {
  isOperationType,
  missingContent,
  type OperationType,
  operations,
  operationTypes,
  stringifyJson,
} from '../protocol/index.ts'
import { cutTextComplaint, isCutText, pathToText } from '../protocol/json.ts'
import { fieldName } from '../protocol/messages.ts'
import { whatsappAdvice } from '../protocol/operation.ts'
import { missingContentText } from '../protocol/registry.ts'
import { type Problem, ValidationError } from './errors.ts'
import type { GatewayClientOptions } from './options.ts'

/** A validated and serialised operation. */
export interface Prepared {
  /** Position in the caller's list. */
  index: number
  type: OperationType
  /** The id that the answer's item will echo, as decimal text. */
  id: string | null
  json: string
}

type ContentRule = Pick<GatewayClientOptions, 'allowEmpty'>

/** @throws ValidationError with all violations in all operations */
export function prepareAll(list: readonly unknown[], { allowEmpty = false }: ContentRule): Prepared[] {
  if (!Array.isArray(list) || list.length === 0) {
    throw new ValidationError([{ index: 0, field: '', message: 'at least one operation is required' }])
  }
  const prepared: Prepared[] = []
  const problems: Problem[] = []
  for (const [index, operation] of list.entries()) {
    const checked = prepare(operation, index, allowEmpty)
    if (Array.isArray(checked)) problems.push(...checked)
    else prepared.push(checked)
  }
  const [first, ...others] = problems
  if (first) throw new ValidationError([first, ...others])
  return prepared
}

function prepare(operation: unknown, index: number, allowEmpty: boolean): Prepared | Problem[] {
  const type = (operation as { type?: unknown } | null | undefined)?.type
  if (!isOperationType(type)) {
    const advice = type === 'whatsapp' ? `; ${whatsappAdvice}` : ''
    return [{ index, field: 'type', message: `type must be one of ${operationTypes.join(', ')}${advice}` }]
  }
  const { data, error } = operations[type].schema.safeParse(operation)
  if (error) return error.issues.map(({ path, message }) => ({ index, field: fieldName(path), message }))
  const missing = allowEmpty ? null : missingContent(type, data)
  if (missing) return [{ index, field: missing, message: missingContentText(missing, 'allowEmpty') }]
  try {
    const cut = pathToText(data, isCutText)
    if (cut) {
      const field = fieldName(cut)
      return [{ index, field, message: `${field} ${cutTextComplaint}` }]
    }
    return { index, type, id: echoedId(type, data.id), json: stringifyJson(data) }
  } catch {
    return [{ index, field: '', message: 'an additional property cannot be written as JSON' }]
  }
}

/** Null for templates, whose id is not a message's, and for operations without an id, whose answer may contain one. */
function echoedId(type: OperationType, id: unknown): string | null {
  return !operations[type].echoesId || id === undefined ? null : String(id)
}
