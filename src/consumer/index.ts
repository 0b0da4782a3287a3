/**
 * Reads results and statuses.
 * @module busgate/consumer
 */
import '../supported-node.ts'

export type { WaitLimit } from '../abort.ts'
export type { RecordHeaders } from '../bus/port.ts'
export type {
  SendResult,
  SendResultHlr,
  SendResultHlrCountry,
  SendResultHlrNetwork,
  SendResultHlrOperator,
  SendResultOutcome,
  StatusEvent,
  StatusEventReply,
  StatusEventReplyMedia,
  StatusEventSource,
  StatusEventState,
} from '../records/generated.ts'
export {
  type Lifecycle,
  type LifecycleState,
  lifecycleAfter,
  newLifecycle,
  type StatusFacts,
  stateOf,
  verdictOf,
} from '../records/lifecycle.ts'
export type { Logger } from '../telemetry/logger.ts'
export type { Time } from '../time.ts'
export { type ErrorCode, errorCodes, errorCodeTexts, outcomes, states } from '../vocabulary/lists.ts'
export { createDecoders, type Decoders, type DecodersOptions, UnreadableValueError } from './decoders.ts'
export { type CommandPlace, finalOf, type MessageId } from './final.ts'
export type { CommandHandle, Verdict } from './handle.ts'
export type { Endable } from './read.ts'
export {
  type Beginning,
  type FromGroup,
  type FromOffsets,
  type ReaderOptions,
  type ReadOptions,
  type Received,
  readResults,
  readStatuses,
  UnreadableRecordError,
} from './read.ts'
export { DeadLetterError } from './result-wait.ts'
export { type WaitOptions, waitForResult } from './wait.ts'
