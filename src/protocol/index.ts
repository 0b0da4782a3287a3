/** The gateway's language: schemas and types of every operation, response and callback, and what its texts mean. */
export { type CallbackBody, callbackBody, type Reply } from './callback.ts'
export {
  type AsyncResponse,
  asyncResponse,
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
export {
  type CodePlace,
  codePlaces,
  type DoubtCause,
  doubtCauses,
  type ErrorCode,
  errorCodes,
  type Outcome,
  outcomeCodes,
  outcomes,
  type Policy,
  policies,
  type Role,
  refusalCodes,
  roles,
  type State,
  states,
} from './lists.ts'
export type { SendPayload } from './message-facts.ts'
export { meaningOf } from './messages.ts'
export { type Operation, type OperationType, operationTypes, type SendOperation } from './operation.ts'
export type { BalanceOperation, BalancePayload } from './operations/balance.ts'
export { type CallOtpOperation, type CallOtpPayload, otpCode } from './operations/call-otp.ts'
export type { HlrOperation, HlrPayload } from './operations/hlr.ts'
export type { PipelineOperation } from './operations/pipeline.ts'
export type { RcsOperation } from './operations/rcs.ts'
export type { RcsSmsOperation } from './operations/rcs-sms.ts'
export type { RcsViberSmsOperation } from './operations/rcs-viber-sms.ts'
export type { SenderOperation, SenderPayload } from './operations/sender.ts'
export type { SmsOperation } from './operations/sms.ts'
export type { StatusOperation, StatusPayload } from './operations/status.ts'
export type { TelegramOperation } from './operations/telegram.ts'
export type {
  TemplateCreateOperation,
  TemplateCreatePayload,
  TemplateDeleteOperation,
  TemplateDeletePayload,
  TemplateListOperation,
  TemplateListPayload,
  TemplateViberCreateOperation,
  TemplateViberCreatePayload,
  TemplateViberDeleteOperation,
  TemplateViberDeletePayload,
  TemplateViberListOperation,
  TemplateViberListPayload,
} from './operations/templates.ts'
export type { ViberOperation } from './operations/viber.ts'
export type { ViberSmsOperation } from './operations/viber-sms.ts'
export type { VoiceOperation } from './operations/voice.ts'
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
export { type Segments, segmentsOf } from './segments.ts'
export { callbackStateOf, stateOf } from './states.ts'
export type { ViberType } from './viber.ts'
