import type { Clock } from '../../clock.ts'
import type { Telemetry } from '../../telemetry/events.ts'
import { Told } from '../../told.ts'
import type { Committed, LogEnds } from '../driver.ts'
import type { SessionListener, TopicPartition } from '../port.ts'
import type { PartitionSession } from './session.ts'
import type { KnownProgress } from './take-over.ts'

/** Whom it tells of its sessions. */
export interface OwnedPartitionOptions {
  clock: Clock
  listener: SessionListener
  telemetry: Telemetry
}

/** A partition assigned to this process: its session, and the state that outlives a session. */
export class OwnedPartition implements KnownProgress {
  readonly tp: TopicPartition
  readonly logEnd: LogEnd
  /** Null while no session is open or being opened. */
  session: PartitionSession | null = null
  foundSeq: number | null = null
  confirmed: Committed | null = null
  confirmedOn?: string | undefined
  lastEnd = 0
  readonly #options: OwnedPartitionOptions
  /** Errors that were reported since the partition was open last. */
  readonly #told = new Told()
  #cancelReopening = () => {}

  constructor(tp: TopicPartition, options: OwnedPartitionOptions) {
    this.#options = options
    this.tp = tp
    this.logEnd = new LogEnd(options.clock)
  }

  opened(session: PartitionSession): void {
    this.foundSeq ??= session.taken!.foundSeq
    this.#told.clear()
  }

  /** Reports each cause once: a coordinator that is down delays hundreds of partitions. */
  notOpened(error: Error): void {
    if (!this.#told.isNew(error.message)) return
    this.#options.telemetry.emit('session.openFailed', { ...this.tp, error })
  }

  committed(session: PartitionSession, checkpoint: Committed): void {
    this.confirmed = checkpoint
    this.confirmedOn = session.taken?.topicId
    if (this.session === session) this.logEnd.recorded() // not by the session that found the truncation, which has ended
  }

  /** The log does not hold the position: continues at its beginning, or opens anew if the log ends before it. */
  cut(ends: LogEnds): void {
    const { session } = this
    if (!session?.started) return
    const { position } = session
    if (position <= ends.high) {
      session.logEnds(ends)
      return
    }
    this.logEnd.cut(ends.high)
    session.end('fetch', new Error(`the log ends at ${ends.high}, before offset ${position}, the next to read`))
  }

  /** Closes the session, and calls `open` after `ms` unless it is closed again before. */
  reopen(ms: number, open: () => void): void {
    this.close()
    this.#cancelReopening = this.#options.clock.after(ms, open)
  }

  close(): void {
    const { session } = this
    const { listener, telemetry } = this.#options
    this.#cancelReopening()
    this.session = null
    if (session?.started && session.taken?.topicId === this.confirmedOn) this.lastEnd = session.highWatermark
    session?.close()
    if (session?.started) {
      try {
        listener.closed(session)
      } catch (error) {
        listener.fatal(error as Error) // nobody awaits this call, so the error would end the process without a log line
      }
      telemetry.emit('session.closed', this.tp)
    }
  }
}

/** A newly elected leader may not know the log's end yet. */
const patienceMs = 5_000

/**
 * Compares the end of a partition's log with the offsets that were read from it: after an unclean leader election the log may
 * be shorter. Outlives the partition's sessions.
 */
export class LogEnd {
  readonly #clock: Clock
  /** Monotonic milliseconds since when the log has ended before the checkpoint. */
  #shortSince: number | null = null
  /** The log's end when its leader did not know the next offset to read; kept until a checkpoint records it. */
  #cutTo: number | null = null

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** The log ends at `high`, before the next offset to read. */
  cut(high: number): void {
    this.#cutTo = Math.min(this.#cutTo ?? high, high)
  }

  /**
   * Of the offsets read up to `end`, the end of those that a log ending at `high` now still has. @throws Error while the log's
   * end is uncertain
   */
  shortTo(end: number, high: number): number {
    const stays = Math.min(end, this.#cutTo ?? end) // even if the log has grown beyond it since
    if (high >= stays) {
      this.#shortSince = null
      return stays
    }
    const now = this.#clock.monotonic()
    this.#shortSince ??= now
    if (now - this.#shortSince >= patienceMs) {
      this.cut(high)
      return high
    }
    throw new Error(`the log ends at ${high}, but records up to ${end} were read from it: reading its end again`)
  }

  /** A checkpoint records the truncation. */
  recorded(): void {
    this.#cutTo = null
  }
}
