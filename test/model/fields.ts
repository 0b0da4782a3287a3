/**
 * What there is to know in the model, and what some of the values mean. Every name is one byte: a new one is added to its
 * list, and is a property of the view then.
 */

/** What the coordinator knows, and what of the bounds is left. */
export const ofBroker = [
  'generation',
  'preparing', // the coordinator waits for members to join
  'rounds', // from here on: left of the bounds
  'rejoins',
  'lostJoins',
  'lateHeartbeats',
  'crashes',
  'lostCommits',
  'releases',
  'losses',
  'resets',
  'leaves',
] as const

/** What the brokers know of a partition. */
export const ofPartition = [
  'owner', // process + 1 that the present generation gives the partition to
  'tag', // of the stored checkpoint: process + 1, GONE, or 0: there is no checkpoint
  'seq',
  'writer', // the truth: process + 1 whose barrier write or commit the coordinator took last
  'lostBy', // process + 1 whose confirmed checkpoint the coordinator has lost
] as const

export const ofOffset = [
  'stored', // in the checkpoint that the coordinator tells
  'posted', // the truth: a POST began that was not taken back
  'results', // the truth: final results and doubts that can be read
] as const

export const ofProcess = [
  'phase',
  'known', // the coordinator has this member under the id it uses
  'joined', // and has its JoinGroup of the round that is open
  'generation', // of the last SyncGroup that was answered to it
  'joining', // the generation in the last answer to its JoinGroup
  'sameId', // its member id is the one of that last SyncGroup
  'lease',
  'answer', // one that gives a lease is on its way, to a heartbeat or the SyncGroup; 2: a join began since
  'leaving',
  'transaction', // what the process commits, for all its partitions
  'valid', // the coordinator still knows the member and the generation that it was formed in
  'unheard', // why nobody waits for its end
] as const

/** What a process knows of a partition. */
export const ofSeat = [
  'given', // the answer to its SyncGroup gives it the partition
  'holding', // it was given the partition, as far as it knows
  'found', // seq at the take-over; 0: not taken over yet
  'confirmed', // seq of the last commit that was answered since then; 0: none
  'session',
  'held',
  'touched', // a release is to be committed
  'tag', // of the checkpoint that it was told
  'seq',
  'part', // seq of its part in the transaction; 0: it has none
  'partOver', // the session is over that the part was of
] as const

/** What a process knows of an offset. */
export const ofCell = [
  'state', // in the window of its session
  'ledger',
  'sent', // state in the transaction
  'kind', // what the transaction does to the offset
  'confirmed', // state in the last commit that was confirmed
] as const

export const NONE = 0

/** `phase`: where a process is in the group's protocol. */
export const MUST_JOIN = 1
export const IN_JOIN = 2
export const JOINED = 3
/** The answer to its SyncGroup is on its way. */
export const IN_SYNC = 4
export const MEMBER = 5

/** `session`: its barrier write was answered; it was told the checkpoint; it is open. */
export const FENCED = 1
export const TOLD = 2
export const OPEN = 3

/** `transaction`: it is on its way; its progress is written and it is open; it is committed; it is aborted. */
export const SENT = 1
export const WRITTEN = 2
export const COMMITTED = 3
export const ABORTED = 4

/** `unheard`: the process gave it up, or died. */
export const GIVEN_UP = 1
export const DIED = 2

/** `tag` of the checkpoint of a process that died. */
export const GONE = 15

/** `kind`: the effects of a commit on an offset. */
export const INTENDED = 1
export const SETTLED = 2

/** `ledger`: a POST may begin, while the session is open that asked; it may not any more; it is in flight; its outcome. */
export const READY = 1
export const DEAD = 2
export const IN_FLIGHT = 3
export const KNOWN = 4
export const RELEASED = 5
