import '../supported-node.ts'

export type { RecordHeaders } from '../bus/port.ts'
export type * from '../records/generated.ts'
export { createDecoders, type Decoders, type DecodersOptions, UnreadableValueError } from './decoders.ts'
export { type CommandPlace, finalOf, type MessageId } from './final.ts'
export type { CommandHandle, HandleOptions, Verdict } from './handle.ts'
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
