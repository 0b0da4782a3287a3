/** What a process does, as far as its choice matters for the promises: the design of src/bus/session in small. */
export interface Rules {
  /** Whether a session goes on after a re-join that gives the partition to the same process again. */
  keeps(join: { sameId: boolean; synced: number; generation: number }): boolean
  /** Whether the checkpoint that the bus tells counts, or else the last one that was confirmed to this process. */
  believes(told: { own: boolean; seq: number }, known: { confirmed: number; found: number }): boolean
  /** Whether an intent that another process left may have been POSTed. */
  doubtsForeignIntents: boolean
  /** Whether the checkpoint of another process ends what this one may tell of its own POSTs. */
  clearsLedger: boolean
  /** The sequence number to go on from after the checkpoint of another process. */
  seqAfter(found: number): number
  /** Whether a POST may begin whose intent is in a commit. */
  mayPost(now: { answered: boolean; alive: boolean; leased: boolean }): boolean
  /** Whether the answer to a heartbeat extends the lease. */
  extendsLease(since: { joinBegan: boolean }): boolean
  /** Whether a take-over waits for the commit of its own process that is under way. */
  waitsForOwn: boolean
  /** Whether a take-over first initialises the producer after a commit that its process gave up. */
  initialises: boolean
  /** Whether a take-over waits until no open transaction holds the offset. */
  waitsForStable: boolean
  /** The generation that a commit bears. */
  bears: 'the one it was formed in' | 'the newest that was answered' | 'the newest that was joined' | 'none'
  /** Whether a commit may begin. */
  mayCommit(now: { joining: boolean }): boolean
}

export const design: Rules = {
  keeps: ({ sameId, synced, generation }) => sameId && generation === synced + 1,
  believes: ({ own, seq }, { confirmed, found }) => seq >= (own ? confirmed : found + 1),
  doubtsForeignIntents: true,
  clearsLedger: true,
  seqAfter: found => found,
  mayPost: ({ answered, alive, leased }) => answered && alive && leased,
  extendsLease: ({ joinBegan }) => !joinBegan,
  waitsForOwn: true,
  initialises: true,
  waitsForStable: true,
  bears: 'the one it was formed in',
  mayCommit: ({ joining }) => !joining,
}
