/*
 * The page shows this of the moment. It is types alone, since the browser reads them, too.
 */

/** The state of this moment, which is sent to the page every other second. */
export interface Now {
  /** Milliseconds since 1970. */
  at: number
  /** Counts below are of what came since then: since the page was started, but at most ten minutes. */
  since: number
  /** Whether texts and phones are shown. */
  show: boolean
  /** Why something cannot be read now; null: all of it can. */
  trouble: string | null
  /** Whether all that happens is counted now: what is 0 else is not known. */
  counting: boolean
  /** The most urgent one comes first. */
  lanes: LaneState[]
  /** The outcomes of commands, by type of message. */
  funnel: FunnelRow[]
  failures: Failure[]
  doubts: OpenDoubts
  pauses: Control[]
  withdrawals: Control[]
  /** The fullest first. */
  partitions: PartitionNow[]
  deadLetters: DeadLetters
  /** A second, of the newest points of `History`. */
  points: Record<string, number | null>
}

/** The points that a chart begins with. */
export interface History {
  /** How many points there are room for. */
  room: number
  /** Milliseconds between two points. */
  stepMs: number
  /**
   * A second, over ten seconds, the oldest first; all of the same length, the last ones of now. By the topics of the lanes,
   * and `results`. null: it is not known.
   */
  series: Record<string, (number | null)[]>
}

export interface LaneState {
  topic: string
  commands: number
}

/** Messages of one type. */
export interface FunnelRow {
  type: string
  commands: number
  sent: number
  /** REJECTED, INVALID, EXPIRED, DUPLICATE. */
  notSent: number
  inDoubt: number
  unresolved: number
  delivered: number
  notDelivered: number
}

export interface Failure {
  outcome: string
  errorCode: string
  count: number
  /** A sentence that says what helps; null: the error text says it. */
  remedy: string | null
  /** The command that shows such results. */
  examples: string
}

export interface OpenDoubts {
  /** null: not known yet. */
  open: number | null
  /** The oldest first, not all of them. */
  oldest: OpenDoubt[]
}

export interface OpenDoubt {
  id: string
  account: string
  type: string | null
  cause: string
  attempts: number
  /** When the last request for it can have begun, milliseconds since 1970. */
  postedAt: number
  waitsFor: string
}

/** Something that is paused or withdrawn. */
export interface Control {
  what: string
  why: string
}

export interface PartitionNow {
  topic: string
  partition: number
  /** Records that are not done; null: nobody has begun on it. */
  lag: number | null
  /** The used part of its 8,192 offsets, 0 to 1. */
  window: number
}

export interface DeadLetters {
  /** Whether their topic can be read now. */
  known: boolean
  /** Whether those that were there when the page was started have been read. */
  complete: boolean
  total: number
  /** The latest first. */
  causes: DeadLetterCause[]
}

export interface DeadLetterCause {
  stage: string
  code: string
  /** Where they came from; null: they were callbacks. */
  topic: string | null
  count: number
  /** When the newest of them was written, milliseconds since 1970; `at` and `message` tell where it stands and what is wrong with it. */
  newest: number
  at: string
  message: string
  /** The command that tells what a replay of them would do; null: nothing can make them records that can be read. */
  replay: string | null
}
