/**
 * A typed client of the gateway.
 * @module busgate/gateway
 */
import '../supported-node.ts'

export type { DoubtCause, ErrorCode } from '../vocabulary/lists.ts'
export { type Ask, type FieldsOf, GatewayClient, type ItemResults, type Send } from './client.ts'
export {
  AbortedError,
  AccessDeniedError,
  GatewayError,
  type GatewayErrorCode,
  InDoubtError,
  type Problem,
  RefusedError,
  ThrottledError,
  UnreachableError,
  UnreadablePayloadError,
  ValidationError,
} from './errors.ts'
export type { ApiKey, GatewayClientOptions, RequestInfo } from './options.ts'
export type { ItemResult } from './outcome.ts'
export type { CallOptions } from './transport.ts'
