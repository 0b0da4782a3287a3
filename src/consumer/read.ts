import { busOf } from '../bus/open.ts'
import type { Bus } from '../bus/opened.ts'
import type { From, RecordHeaders } from '../bus/port.ts'
import type { Taken } from '../bus/streams/record-queue.ts'
import { groupRecords, type TopicStreamOptions, topicRecords } from '../bus/streams/topic-stream.ts'
import { systemClock } from '../clock.ts'
import { requireBrokers, type Settings } from '../config/index.ts'
import { createDecoder, decodePatiently } from '../records/decoder.ts'
import type { SendResult, StatusEvent } from '../records/generated.ts'
import { registryOf, type SchemaRegistry } from '../records/registry.ts'
import { withCodeOf } from '../records/result.ts'
import { schemas } from '../records/schemas.ts'
import { Telemetry } from '../telemetry/events.ts'
import type { Logger } from '../telemetry/logger.ts'
import { logEvents } from '../telemetry/logs.ts'
import { processSpan, traceOf } from '../telemetry/trace.ts'
import { requireTime, type Time } from '../time.ts'

/** A record and its decoded value. */
export interface Received<T> {
  value: T
  topic: string
  partition: number
  offset: number
  /** When it was written, milliseconds since 1970; -1 if unknown. */
  timestamp: number
  /** Headers of the record, such as `traceparent`. */
  headers: RecordHeaders
}

/** Where to begin: at the first record, at new records only, or at the first record written at this time or later. */
export type Beginning = 'earliest' | 'latest' | Time

/**
 * The next offset to read of each partition, if you store offsets yourself. A missing partition is read from its
 * beginning.
 */
export interface FromOffsets {
  /** The next offset by partition. */
  offsets: Readonly<Record<number, number>>
}

/** Your own consumer group: its members share the partitions, and Kafka keeps its offsets. */
export interface FromGroup {
  /** Group id; not that of the workers (`kafka.groupId`). */
  group: string
  /** Where the group begins on a partition without a committed offset. Default: `earliest`. */
  startFrom?: Beginning
}

/** Options of every reader, for tests and for processes with several readers. */
export interface ReaderOptions {
  /** Where log lines go. Default: nothing is logged. */
  logger?: Logger
  /** The bus to read from. Default: the one in the settings. Readers do not close it; end them before you close it. */
  bus?: Bus
  /** Schema registry of the records. Default: the one in the settings. */
  registry?: SchemaRegistry
}

export interface ReadOptions extends ReaderOptions {
  /** Where to begin. */
  from: Beginning | FromOffsets | FromGroup
  /** Ends after the records that were on the topic when the loop began. Default: waits for more. Not with a group. */
  untilEnd?: boolean
  /** Ends the loop as `break` does, without an error. Default: the loop goes on until `break`. */
  signal?: AbortSignal
  /**
   * Called for each record that can never be read, which is then skipped. Default: the loop ends with an
   * UnreadableRecordError. While the schema registry is unreachable, the loop waits.
   */
  onUnreadable?: (error: UnreadableRecordError) => void
}

/** A record is not a result or status event, or cannot be decoded. The message holds none of its content. */
export class UnreadableRecordError extends Error {
  override readonly name = 'UnreadableRecordError'
  /** Why, e.g. NOT_CONFLUENT or SCHEMA_NOT_FOUND. */
  readonly code: string
  readonly topic: string
  readonly partition: number
  readonly offset: number

  constructor({ from: { topic, partition }, record: { offset } }: Taken, code: string, why: string) {
    super(`${topic}/${partition}, offset ${offset} cannot be read: ${why}`)
    this.code = code
    this.topic = topic
    this.partition = partition
    this.offset = offset
  }
}

/**
 * Reads the committed results from `topics.results`, in the order of offsets within each partition. A code from a header
 * (`results.otpCode`) is in the result's `code`. Reading begins when the loop asks for the first record, and waits while
 * brokers are unreachable, which only the `logger` is told. A loop body without `await` blocks timers and signals for one
 * record, or 20 ms.
 *
 * With a group, a record counts as processed when the loop asks for the next one. After a break, an error or a crash, the
 * last record comes again: each comes at least once.
 * @throws SettingsError when the settings name no brokers; from the loop, Error when the topic does not exist, a right is
 * missing, or a record cannot be read
 */
export function readResults(settings: Settings, options: ReadOptions): Endable<Received<SendResult>> {
  return read(settings, resultsOf, options)
}

/**
 * Reads delivery statuses from `topics.statuses`, as `readResults` reads results. `lifecycleAfter` combines the statuses of a
 * message.
 */
export function readStatuses(settings: Settings, options: ReadOptions): Endable<Received<StatusEvent>> {
  return read(settings, statusesOf, options)
}

/** A topic, its schema, and what its headers add to a value. */
export interface Source<T> {
  topic: string
  schema: object
  complete: (value: T, headers: RecordHeaders) => T
}

export function resultsOf({ topics }: Settings): Source<SendResult> {
  return { topic: topics.results, schema: schemas.result, complete: withCodeOf }
}

export function statusesOf({ topics }: Settings): Source<StatusEvent> {
  return { topic: topics.statuses, schema: schemas.status, complete: event => event }
}

function read<T>(
  settings: Settings,
  sourceOf: (settings: Settings) => Source<T>,
  options: ReadOptions,
): Endable<Received<T>> {
  requireBrokers(settings)
  checkBeginning(options.from)
  checkGroup(options, settings)
  return endable(ending => received(settings, sourceOf(settings), options, ending), options.signal)
}

function checkBeginning(from: ReadOptions['from']): void {
  if (isBeginning(from)) beginning('from', from)
  else if ('group' in from) beginning('startFrom', from.startFrom ?? 'earliest')
  else checkOffsets(from.offsets)
}

/** Kafka would begin elsewhere if it was given another number. */
function checkOffsets(offsets: FromOffsets['offsets']): void {
  for (const [partition, offset] of Object.entries(offsets)) {
    if (/^\d+$/.test(partition) && Number.isSafeInteger(offset) && offset >= 0) continue
    throw new Error(
      `from.offsets[${partition}]: the key must be a partition's number, the value its next offset, a number`,
    )
  }
}

const isBeginning = (from: ReadOptions['from']): from is Beginning =>
  typeof from !== 'object' || from === null || !('offsets' in from || 'group' in from)

/** @throws Error when it is neither a word nor a time */
const beginning = (name: string, from: Beginning): From =>
  from === 'earliest' || from === 'latest' ? from : requireTime(name, from)

function checkGroup({ from, untilEnd }: ReadOptions, { kafka }: Settings): void {
  if (typeof from !== 'object' || !('group' in from)) return
  if (typeof from.group !== 'string' || from.group === '') throw new Error('from.group must be the id of your group')
  if (untilEnd) throw new Error('untilEnd cannot be used with a group: other members read some of the partitions')
  if (from.group !== kafka.groupId) return
  throw new Error(`${from.group} is the group of the workers (kafka.groupId): use another group for a reader`)
}

async function* received<T>(
  settings: Settings,
  source: Source<T>,
  options: ReadOptions,
  ending: AbortSignal,
): AsyncGenerator<Received<T>, void> {
  const telemetry = new Telemetry()
  if (options.logger) logEvents(telemetry, options.logger)
  const bus = await busOf(settings, options.bus, telemetry)
  const { topic } = source
  const decode = decoderOf(source, options.registry ?? registryOf(settings))
  try {
    for await (const taken of recordsFrom(options, { bus, topic, clock: systemClock, telemetry, ending })) {
      const value = await decode(taken, ending).catch(error => skipped(error, options))
      if (ending.aborted) return
      const { partition } = taken.from
      const { offset, timestamp, headers } = taken.record
      if (value === null) continue
      const span = processSpan({ topic, partition, offset }, traceOf(headers))
      try {
        yield { value, topic, partition, offset, timestamp, headers }
      } finally {
        span.end()
      }
    }
  } finally {
    if (!options.bus) await bus.close()
  }
}

function recordsFrom(
  { from, untilEnd = false }: ReadOptions,
  options: TopicStreamOptions,
): AsyncGenerator<Taken, void> {
  if (isBeginning(from)) return topicRecords({ ...options, from: () => beginning('from', from), untilEnd })
  if ('group' in from) {
    const { group: groupId, startFrom = 'earliest' } = from
    return groupRecords({ ...options, groupId, startFrom: beginning('startFrom', startFrom) })
  }
  const fromOffset = (partition: number): From => {
    const offset = from.offsets[partition]
    return offset === undefined ? 'earliest' : { offset }
  }
  return topicRecords({ ...options, from: fromOffset, untilEnd })
}

/** How the records of a topic are decoded: null once the reading has ended. Throws UnreadableRecordError. */
export function decoderOf<T>(
  { schema, complete }: Source<T>,
  registry: SchemaRegistry,
): (taken: Taken, ending: AbortSignal) => Promise<T | null> {
  const decoder = createDecoder<T>(schema, registry, { patient: true })
  return async (taken, ending) => {
    const { value, unreadable, headers } = taken.record
    const decoded = unreadable
      ? ({ ok: false, error: unreadable } as const)
      : await decodePatiently(decoder, value, systemClock, () => !ending.aborted)
    if (decoded === null) return null
    if (decoded.ok) return complete(decoded.value, headers)
    throw new UnreadableRecordError(taken, decoded.error.code, decoded.error.message)
  }
}

/** @throws the error, unless the caller takes unreadable records */
function skipped(error: unknown, { onUnreadable }: ReadOptions): null {
  if (!onUnreadable || !(error instanceof UnreadableRecordError)) throw error
  onUnreadable(error)
  return null
}

/** An iterable for one pass by one reader. */
export type Endable<T> = AsyncIterableIterator<T, void> & AsyncDisposable

/**
 * An iterable that ends at once when its reader returns or the signal aborts, even while it waits. A generator alone would
 * first wait for its next value.
 * @param make called when the first value is requested
 */
export function endable<T>(make: (ending: AbortSignal) => AsyncGenerator<T, void>, signal?: AbortSignal): Endable<T> {
  const end = new AbortController()
  const ending = signal ? AbortSignal.any([signal, end.signal]) : end.signal
  let values: AsyncGenerator<T, void> | null = null
  const iterable: Endable<T> = {
    next() {
      values ??= make(ending)
      return values.next()
    },
    async return() {
      end.abort()
      await values?.return()
      return { done: true, value: undefined }
    },
    async [Symbol.asyncDispose]() {
      await iterable.return!()
    },
    [Symbol.asyncIterator]: () => iterable,
  }
  return iterable
}
