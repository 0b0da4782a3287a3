/** Answer is what came back of one POST, before anyone looked into it. */
export type Answer =
  /** `location`: the origin that a redirect leads to. */
  | { kind: 'response'; status: number; body: string; retryAfterMs: number | null; location?: string }
  /** The request was never started to be written: nothing can have been sent. */
  | { kind: 'not_sent'; cause: NotSentCause; message: string }
  /** Writing had begun: perhaps sent. */
  | { kind: 'lost'; cause: LostCause; message: string }

/** `withheld`: by the caller, whose own last check forbade it or who aborted it. */
export type NotSentCause = 'unreachable' | 'timeout' | 'withheld'
export type LostCause = 'timeout' | 'aborted' | 'reset' | 'response_too_large' | 'response_cut'
