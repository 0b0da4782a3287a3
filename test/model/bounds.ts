/** How far the check goes. */
export interface Bounds {
  processes: number
  /** Offsets of the partition. */
  offsets: number
  /** Rebalances in all. */
  rounds: number
  /** Unprovoked joins. */
  rejoins: number
  /** Answers to JoinGroup and SyncGroup that are lost. */
  lostJoins: number
  /** Answers to heartbeats that travel while other things happen. */
  lateHeartbeats: number
  /** Processes that die and start again under a new tag. */
  crashes: number
  /** Lost answers to commits. */
  lostCommits: number
  /** POSTs that turn out not to have been sent. */
  releases: number
  /** Confirmed commits whose checkpoints the coordinator loses. */
  losses: number
  /** Times that the coordinator forgets the group and restarts its generations. */
  resets: number
  /** Processes that stop. */
  leaves: number
}

const faults = { rejoins: 0, lostJoins: 0, lateHeartbeats: 0, crashes: 0, lostCommits: 0, releases: 0 }

/** What every exploration has at least. */
export const leastBounds: Bounds = { processes: 2, offsets: 1, rounds: 3, ...faults, losses: 0, resets: 0, leaves: 0 }

/** What CI explores to the end, and `npm run soak` beyond it: each line is what it has beyond the least bounds. */
export const boundsInCi: readonly Partial<Bounds>[] = [
  { rejoins: 1 },
  { lostJoins: 1, lateHeartbeats: 1 },
  { rounds: 2, crashes: 1, lostCommits: 1 },
  { resets: 1, leaves: 1 },
  { losses: 1, lostCommits: 1 },
]
