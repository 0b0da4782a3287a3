/** Where a process is in the group's protocol. */
export const MUST_JOIN = 1
export const IN_JOIN = 2
export const JOINED = 3
/** The answer to its SyncGroup is on its way. */
export const IN_SYNC = 4
export const MEMBER = 5

/** What a session is. */
export const NONE = 0
/** One of the two steps of a take-over is done: the fence and the reading of the checkpoint. */
export const FENCED = 1
export const TOLD = 2
export const OPEN = 3

/** A commit. */
export const SENT = 1
/** It is done, and the answer is on its way. */
export const LANDED = 2

/** The ledger: a POST may begin, while the session is open that asked; it may not any more; it is in flight; its outcome. */
export const READY = 1
export const DEAD = 2
export const IN_FLIGHT = 3
export const KNOWN = 4
export const RELEASED = 5
