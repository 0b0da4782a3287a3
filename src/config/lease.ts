/** A lease is never longer than this, whatever the session time-out. */
const longestLeaseMs = 10_000

/** Tells how long, in milliseconds, a worker may begin sends after a heartbeat that the coordinator answered. */
export const leaseMs = (sessionTimeoutMs: number): number => Math.min(sessionTimeoutMs, longestLeaseMs)
