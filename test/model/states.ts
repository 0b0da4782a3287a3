/** Where a process is in the group's protocol. */
export const MUST_JOIN = 1
export const IN_JOIN = 2
export const JOINED = 3
/** The answer to its SyncGroup is on its way. */
export const IN_SYNC = 4
export const MEMBER = 5

/** The states of a session. */
export const NONE = 0
/** One of the two steps of a take-over is done: the fence and the reading of the checkpoint. */
export const FENCED = 1
export const TOLD = 2
export const OPEN = 3
/** A claim is under way; or it is done, and the earlier owner is fenced once more. */
export const CLAIMING = 4
export const CLAIMED = 5

/** A commit. */
export const SENT = 1
/** It is done, and the answer is on its way. */
export const LANDED = 2
/** It is written, in a transaction that is open. */
export const WRITTEN = 3
/** A claim: the take-over has begun that will tell what to claim. */
export const PLANNED = 4

/** Says whose producer commits: the partition's own, which an epoch fences; the process's, which a generation fences; a claim. */
export const APART = 0
export const SHARED = 1
export const CLAIM = 2

/** Nobody waits for the answer to a commit: it was given up; its process died; or its process does, but no session. */
export const GIVEN_UP = 1
export const DIED = 2
export const SESSION_OVER = 3

/** Tags of checkpoints that are none of the processes': the one of a process that is gone, and that of a claim. */
export const GONE = 14
export const NOBODYS = 15

/** The effects of a commit on an offset. */
export const INTENDED = 1
export const SETTLED = 2

/** The ledger: a POST may begin, while the session is open that asked; it may not any more; it is in flight; its outcome. */
export const READY = 1
export const DEAD = 2
export const IN_FLIGHT = 3
export const KNOWN = 4
export const RELEASED = 5
