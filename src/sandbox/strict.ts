import { isObject } from '../protocol/json.ts'
import type { GivenOperation } from './gateway.ts'
import type { Readings } from './open-points.ts'

/** The stage objects that the contract lists as required, whatever `pipeline` names. */
const stages = ['sms', 'telegram', 'viber', 'voice', 'whatsapp']

/** The refusal of a valid operation by a gateway that takes the contract to the letter; undefined if it passes. */
export function strictProblemOf(operation: GivenOperation, { pipeline, pipelineId }: Readings): string | undefined {
  if (operation.type !== 'pipeline') return undefined
  if (pipelineId === 'required' && operation.id === undefined) return 'Error in id'
  const missing = pipeline === 'strict' ? stages.find(stage => !isObject(operation[stage])) : undefined
  return missing === undefined ? undefined : `Error in ${missing}`
}
