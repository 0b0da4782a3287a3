/** The current state that the page shows. Types only, since the browser reads them too. */

/** The current state, sent to the page every other second. */
export interface Now {
  /** Milliseconds since 1970. */
  at: number
  /** Start of the counted period, milliseconds since 1970: when the page was started, but at most ten minutes ago. */
  since: number
  /** Whether message texts and phone numbers are shown. */
  reveal: boolean
  /** Why something cannot be read now; null if everything can. */
  trouble: string | null
  /** Whether the counts are complete; if not, a count of 0 means unknown. */
  counting: boolean
  /** The most urgent lane comes first. */
  lanes: LaneState[]
  /** Outcomes of commands by message type. */
  funnel: FunnelRow[]
  failures: Failure[]
  /** Number of failures for further reasons. */
  otherFailures: number
  doubts: OpenDoubts
  /** What holds commands back, the most important first; null if unknown. */
  holds: HoldNow[] | null
  /** Number of further holds. */
  otherHolds: number
  pauses: Control[]
  withdrawals: Control[]
  /** The fullest first. */
  partitions: PartitionNow[]
  deadLetters: DeadLetters
  processes: ProcessNow[]
  /** The newest come first. */
  latest: LatestMessage[]
  /**
   * What to add to the command lines of the page, so that they reach the same brokers; null if no other process can reach the
   * bus.
   */
  commandFlags: string | null
  /** Sentences about the records that cannot be decoded. */
  undecodable: string[]
  /** The next point of each series of `History`, per second. */
  points: Record<string, number | null>
}

/** The initial points of the chart. */
export interface History {
  /** Number of points that the chart keeps. */
  room: number
  /** Milliseconds between two points. */
  stepMs: number
  /**
   * Rates per second, means of ten seconds, the oldest first. All series have the same length and end now. Keys: the lanes'
   * topics, and `results`. null if unknown.
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
  /** What to do, as a sentence; null if the error text says it. */
  remedy: string | null
  /** Command line that shows such results. */
  examples: string
}

export interface OpenDoubts {
  /** null if unknown. */
  open: number | null
  /** Only the oldest, in order. */
  oldest: OpenDoubt[]
}

export interface OpenDoubt {
  id: string
  account: string
  type: string | null
  cause: string
  attempts: number
  /** Start of the last request, milliseconds since 1970; null if unknown. */
  postedAt: number | null
  waitsFor: string
}

export interface HoldNow {
  /** The account that is held back; null if something else is. */
  account: string | null
  /** A sentence. */
  text: string
  /** What to do, in sentences. */
  mend: string
  /** Number of commands that are known to wait. */
  waiting: number
}

export interface ProcessNow {
  name: string
  version: string
  roles: string[]
  partitions: number
  /** When it last reported, milliseconds since 1970, if that is too long ago; else null. */
  silentSince: number | null
}

/** A message without its content. */
export interface LatestMessage {
  id: string
  account: string
  type: string
  /** Its outcome, or its verdict; null if it has none yet. */
  state: string | null
  /** When that became known, milliseconds since 1970. */
  time: number
}

export interface Control {
  what: string
  why: string
}

export interface PartitionNow {
  topic: string
  partition: number
  /** Consumer lag; null if the group has committed nothing. */
  lag: number | null
  /** Used fraction of the window of 8,192 offsets, 0 to 1. */
  window: number
}

export interface DeadLetters {
  /** Whether the topic of dead letters can be read now. */
  known: boolean
  /** Whether all dead letters older than the page have been read. */
  complete: boolean
  total: number
  /** The most recent cause comes first. */
  causes: DeadLetterCause[]
  /** Number of dead letters of further causes. */
  others: number
}

export interface DeadLetterCause {
  stage: string
  code: string
  /** Their original topic; null for callbacks. */
  topic: string | null
  count: number
  /** Timestamp of the newest one, milliseconds since 1970; `at` and `message` are its place and its error. */
  newest: number
  at: string
  message: string
  /** Command line that previews a replay; null if no replay can make these records readable. */
  replay: string | null
}
