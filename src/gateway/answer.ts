/** What came back of one POST, before anyone looked into it. */
export type Answer =
  | { kind: 'response'; status: number; body: string; retryAfterMs: number | null }
  /** The request was never started to be written: nothing can have been sent. */
  | { kind: 'not_sent'; cause: NotSentCause; message: string }
  /** Writing had begun: perhaps sent. */
  | { kind: 'lost'; cause: LostCause; message: string }

/** `withheld`: the caller's own last check forbade it. */
export type NotSentCause = 'unreachable' | 'timeout' | 'withheld' | 'closed'
export type LostCause = 'timeout' | 'reset' | 'response_too_large' | 'response_cut'
