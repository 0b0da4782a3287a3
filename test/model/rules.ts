/** What a process does, as far as its choice matters for the promises: the design of src/bus/session in small. */
export interface Rules {
  /** Whether a session goes on after a re-join that gives the partition to the same process again. */
  keeps(join: { sameId: boolean; sameWay: boolean; synced: number; generation: number; oldLease: boolean }): boolean
  /** Whether the checkpoint that the bus tells counts, or else the last one that was confirmed to this process. */
  believes(told: { own: boolean; seq: number }, known: { confirmed: number; found: number }): boolean
  /** Whether an intent that another process left may have been POSTed. */
  doubtsForeignIntents: boolean
  /** Whether another owner in between ends what this process may tell of its own POSTs. */
  clearsLedger: boolean
  /** The sequence number to go on from after the checkpoint of another process. */
  seqAfter(found: number): number
  /** Whether a POST may begin whose intent is in a commit. */
  mayPost(now: { answered: boolean; alive: boolean; leased: boolean }): boolean
  /**
   * Whether a process may take the partition over, or open its session anew.
   * @param finishing it is told to stop, or is about to join again
   * @param awaits to commit what its POSTs came to
   * @param own whether the checkpoint that counts is its own; null: it is not known yet
   */
  mayOpen(now: { leased: boolean; finishing: boolean; awaits: boolean; own: boolean | null }): boolean
  /** Whether the answer to a heartbeat extends the lease. */
  extendsLease(since: { joinBegan: boolean }): boolean
  /** Whether the checkpoint is read after the earlier owner was fenced. */
  fencesFirst: boolean
  /** Whether a take-over waits until no open transaction holds the offset. */
  waitsForStable: boolean
  /** The generation that a commit for all partitions bears. */
  bears: 'the one it was formed in' | 'the newest that was answered' | 'the newest that was joined' | 'none'
  /** Whether a commit for all partitions may begin. */
  mayCommit(now: { joining: boolean }): boolean
  /** Whether a take-over waits for the commit of its own process that is under way. */
  waitsForOwn: boolean
  /** Whether a commit for all partitions whose fate is unclear ends all sessions of the process. */
  endsAll: boolean
  /** How a process that commits together makes a checkpoint that a process left which commits apart another one's. */
  claims: Claiming
}

export interface Claiming {
  /** Whether the partition's own producer is initialised before. */
  fences: boolean
  /** Who commits it: the partition's producer in the generation, or the producer of the process. */
  by: 'the partition' | 'the process'
  /** Whether the partition's producer is initialised again, and the checkpoint read, after it. */
  again: boolean
  /** The generation that it bears: of the take-over's beginning, before it was read, or of the moment when it is committed. */
  of: 'the take-over' | 'the commit'
  /** Whether it bears the tag of the process. */
  ownTag: boolean
}

export const design: Rules = {
  keeps: ({ sameId, sameWay, synced, generation }) => sameId && sameWay && generation === synced + 1,
  believes: ({ own, seq }, { confirmed, found }) => seq >= (own ? confirmed : found + 1),
  doubtsForeignIntents: true,
  clearsLedger: true,
  seqAfter: found => found,
  mayPost: ({ answered, alive, leased }) => answered && alive && leased,
  mayOpen: ({ leased, finishing, awaits, own }) => leased || (finishing && (own ?? awaits)),
  extendsLease: ({ joinBegan }) => !joinBegan,
  fencesFirst: true,
  waitsForStable: true,
  bears: 'the one it was formed in',
  mayCommit: ({ joining }) => !joining,
  waitsForOwn: true,
  endsAll: true,
  claims: { fences: true, by: 'the partition', of: 'the take-over', again: false, ownTag: false },
}
