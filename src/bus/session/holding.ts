import type { Clock } from '../../clock.ts'
import type { Telemetry } from '../../telemetry/events.ts'
import type { SessionListener, TopicPartition } from '../port.ts'
import type { Committed, LogEnds, PartitionDriver } from './driver.ts'
import { LogEnd } from './log-end.ts'
import type { PartitionSession } from './session.ts'

export interface HoldingOptions extends TopicPartition {
  clock: Clock
  listener: SessionListener
  telemetry: Telemetry
}

/** Holding is a partition that the group gave to this process: its session, and what one session leaves to the next. */
export class Holding {
  readonly tp: TopicPartition
  readonly logEnd: LogEnd
  /** Null while none is open or being opened. */
  session: PartitionSession | null = null
  driver: PartitionDriver | null = null
  /** The sequence number that was found when the partition was taken over; null: it was not yet. */
  foundSeq: number | null = null
  /** The last commit that was confirmed since then. */
  confirmed: Committed | null = null
  readonly #options: HoldingOptions
  /** What has kept it from being opened, since it was open last. */
  readonly #told = new Set<string>()
  #cancelReopening = () => {}

  constructor(options: HoldingOptions) {
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
    const { session, driver } = this
    const { listener, telemetry } = this.#options
    this.#cancelReopening()
    this.session = null
    this.driver = null
    session?.close()
    if (session?.started) {
      try {
        listener.closed(session)
      } catch (error) {
        listener.fatal(error as Error) // nobody awaits this: the process would end without a word of it
      }
      telemetry.emit('session.closed', this.tp)
    }
    driver?.pause() // else its records would be fetched for nobody
  }
}
