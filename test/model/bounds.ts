import type { Bounds } from './world.ts'

/** What every exploration has at least. */
export const leastBounds: Bounds = {
  processes: 2,
  partitions: 1,
  offsets: 1,
  together: 0,
  switches: 0,
  rounds: 3,
  rejoins: 0,
  lostJoins: 0,
  lateHeartbeats: 0,
  crashes: 0,
  lostCommits: 0,
  releases: 0,
  losses: 0,
  resets: 0,
  leaves: 0,
}

/** What CI explores to the end: each line is what it has beyond the least bounds. */
export const boundsInCi: readonly Partial<Bounds>[] = [
  { rejoins: 1 },
  { lostJoins: 1, lateHeartbeats: 1 },
  { crashes: 1, lostCommits: 1 },
  { resets: 1, leaves: 1 },
  { offsets: 2, rounds: 2, crashes: 1, lostCommits: 1 },
  { together: 1, switches: 3 },
  { switches: 1, crashes: 1 },
  { together: 1, lostCommits: 1 },
  { together: 1, resets: 1, leaves: 1 },
  { together: 1, rounds: 2, offsets: 2 },
  { together: 1, rounds: 1, partitions: 2, crashes: 1, lostCommits: 1 },
]
