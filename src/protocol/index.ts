/**
 * The gateway's interface: schemas and types of every operation, response and callback, and the meaning of its texts.
 * @module busgate/protocol
 */

export type { ErrorCode, State } from '../vocabulary/lists.ts'
export { type AsyncResponse, asyncResponse, type CallbackBody, callbackBody, type Reply } from './callback.ts'
export {
  type RequestEnvelope,
  type ResponseEnvelope,
  type ResponseItem,
  requestEnvelope,
  responseEnvelope,
  responseItem,
} from './envelope.ts'
export { messageId, sameId } from './ids.ts'
export { instantOf } from './instant.ts'
export { parseJson, stringifyJson } from './json.ts'
export { lifetimeOf, usualLifetime } from './lifetime.ts'
export { meaningOf } from './messages.ts'
export { type Operation, type OperationType, operationTypes, type SendOperation } from './operation.ts'
export { otpCode } from './operations/call-otp.ts'
export { type Parts, partsOf } from './parts.ts'
export { errorCodeOf, knownErrorCode } from './refusals.ts'
export {
  isOperationType,
  isSendType,
  missingContent,
  type OperationFields,
  type OperationObject,
  operations,
  type Payload,
  requiredFields,
  type SendType,
  sendTypes,
} from './registry.ts'
export { callbackStateOf, pollStateOf } from './states.ts'
export { type StatusProof, statusProof } from './status-answer.ts'
export type { ViberType } from './viber.ts'
