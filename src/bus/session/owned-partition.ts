import type { Clock } from '../../clock.ts'
import type { Telemetry } from '../../telemetry/events.ts'
import type { SessionListener, TopicPartition } from '../port.ts'
import type { Committed, LogEnds } from './driver.ts'
import type { PartitionSession } from './session.ts'

export interface OwnedPartitionOptions extends TopicPartition {
  clock: Clock
  listener: SessionListener
  telemetry: Telemetry
}

/** OwnedPartition is a partition that the group gave to this process: its session, and what one session leaves to the next. */
export class OwnedPartition {
  readonly tp: TopicPartition
  readonly logEnd: LogEnd
  /** Null while none is open or being opened. */
  session: PartitionSession | null = null
  /** The sequence number that was found when the partition was taken over; null: it was not yet. */
  foundSeq: number | null = null
  /** The last commit that was confirmed since then. */
  confirmed: Committed | null = null
  readonly #options: OwnedPartitionOptions
  /** What has kept it from being opened, since it was open last. */
  readonly #told = new Set<string>()
  #cancelReopening = () => {}

  constructor(options: OwnedPartitionOptions) {
    const { topic, partition, clock } = options
    this.#options = options
    this.tp = { topic, partition }
    this.logEnd = new LogEnd(clock)
  }

  /** Its session was opened. */
  opened(session: PartitionSession): void {
    this.foundSeq ??= session.foundSeq
    this.logEnd.begun(session.highWatermark)
    this.#told.clear()
  }

  /** Its session could not be opened. Tells each cause once: a coordinator that is away keeps hundreds of partitions waiting. */
  notOpened(error: Error): void {
    if (this.#told.has(error.message)) return
    this.#told.add(error.message)
    this.#options.telemetry.emit('session.openFailed', { ...this.tp, error })
  }

  /** The session has committed. */
  committed(session: PartitionSession, checkpoint: Committed): void {
    this.confirmed = checkpoint
    if (this.session === session) this.logEnd.told() // else it is the last one of the session that found the cut
  }

  /** The log was found to begin or to end elsewhere. */
  cut(ends: LogEnds): void {
    if (!this.session?.started) return
    if (this.session.position > ends.high) this.logEnd.cut(ends.high)
    this.session.cut(ends)
  }

  /** Closes it, and has `open` called in so many milliseconds unless it is closed again before. */
  reopen(ms: number, open: () => void): void {
    this.close()
    this.#cancelReopening = this.#options.clock.after(ms, open)
  }

  close(): void {
    const { session } = this
    const { listener, telemetry } = this.#options
    this.#cancelReopening()
    this.session = null
    session?.close()
    if (session?.started) {
      try {
        listener.closed(session)
      } catch (error) {
        listener.fatal(error as Error) // nobody awaits this: the process would end without a word of it
      }
      telemetry.emit('session.closed', this.tp)
    }
  }
}

/** A leader that was just elected may not know the log's end yet. */
const patienceMs = 5_000

/**
 * LogEnd knows where the log of one partition ends against what was read of it: after an unclean election it can be shorter. It
 * outlives the partition's sessions.
 */
export class LogEnd {
  readonly #clock: Clock
  /** Monotonic milliseconds since when the log is told to end before the checkpoint. */
  #shortSince: number | null = null
  /** Where the log ended when its leader knew nothing of the offset to be read next; until a checkpoint tells so. */
  #cutTo: number | null = null

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** The log ends at `high`, before the offset that was to be read next. */
  cut(high: number): void {
    this.#cutTo = Math.min(this.#cutTo ?? high, high)
  }

  /** Up to where a log that ends at `high` is what was read up to `end`. @throws Error while that is unsure */
  shortTo(end: number, high: number): number {
    const stays = Math.min(end, this.#cutTo ?? end) // however far it was written again since it was cut
    if (high >= stays) {
      this.#shortSince = null
      return stays
    }
    const now = this.#clock.monotonic()
    this.#shortSince ??= now
    if (now - this.#shortSince >= patienceMs) return high
    throw new Error(`the log ends at ${high}, but records up to ${end} were read from it: asking again for its end`)
  }

  /** A session has begun with what is left of a log that ends at `high`. */
  begun(high: number): void {
    if (this.#shortSince !== null) this.cut(high)
    this.#shortSince = null
  }

  /** A checkpoint tells by now where the log was cut. */
  told(): void {
    this.#cutTo = null
  }
}
