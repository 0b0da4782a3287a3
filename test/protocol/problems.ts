import { type OperationType, operations } from '../../src/protocol/index.ts'
import { buildOperation } from '../support/operations.ts'

/** The schema's error messages for a valid operation with these overrides; empty if it is accepted. */
export const problems = (type: OperationType, overrides: Record<string, unknown> = {}): string[] => {
  const { error } = operations[type].schema.safeParse(buildOperation(type, overrides))
  return error?.issues.map(issue => issue.message) ?? []
}
