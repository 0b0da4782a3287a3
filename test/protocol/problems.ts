import { type OperationType, operations } from '../../src/protocol/index.ts'
import { buildOperation } from '../support/operations.ts'

/** What the schema says against a valid operation with these overrides; nothing when it accepts it. */
export const problems = (type: OperationType, overrides: Record<string, unknown> = {}): string[] => {
  const { error } = operations[type].schema.safeParse(buildOperation(type, overrides))
  return error?.issues.map(issue => issue.message) ?? []
}
