import type { Bounds } from './bounds.ts'
import type { Broken } from './promises.ts'
import { design, type Rules } from './rules.ts'

/** A rule that was made wrong on purpose, to see whether the model finds what comes of it. */
export interface Planted {
  name: string
  /** What is wrong, in a sentence. */
  what: string
  rules: Partial<Rules>
  /** null: nothing, though it is not the design. */
  breaks: Broken | null
  /** What it needs beyond the least bounds. */
  bounds?: Partial<Bounds>
}

export const planted: readonly Planted[] = [
  {
    name: 'foreign-checkpoint-is-not-believed',
    what: 'A session is kept through every re-join, and a checkpoint of another process is not believed.',
    rules: { keeps: () => true, believes: ({ own, seq }, { confirmed }) => own && seq >= confirmed },
    breaks: 'twice',
    bounds: { releases: 1 },
  },
  {
    name: 'kept-through-every-join',
    what: 'A session is kept through every re-join that gives the partition to the same process again.',
    rules: { keeps: () => true },
    breaks: 'unseen',
  },
  {
    name: 'kept-under-another-member-id',
    what: 'A session is kept though its process is another member now.',
    rules: { keeps: ({ generation, synced }) => generation === synced + 1 },
    breaks: 'unseen',
    bounds: { resets: 1 },
  },
  {
    name: 'skipped-generation-is-not-seen',
    what: 'A session is kept by a member that missed a generation.',
    rules: { keeps: ({ sameId }) => sameId },
    breaks: 'unseen',
  },
  {
    name: 'ledger-outlives-a-foreign-owner',
    what: 'What another process took over stays in the ledger.',
    rules: { clearsLedger: false },
    breaks: 'stale',
  },
  {
    name: 'foreign-intents-are-new',
    what: 'An intent that another process left is taken for new.',
    rules: { doubtsForeignIntents: false },
    breaks: 'twice',
  },
  {
    name: 'post-before-the-commit',
    what: 'A POST begins before the commit of its intent is answered.',
    rules: { mayPost: ({ alive, leased }) => alive && leased },
    breaks: 'twice',
  },
  {
    name: 'lost-session-still-sends',
    what: 'A POST begins though its session is over.',
    rules: { mayPost: ({ answered, leased }) => answered && leased },
    breaks: 'late',
  },
  {
    name: 'no-lease-check',
    what: 'A POST begins though the lease is over.',
    rules: { mayPost: ({ answered, alive }) => answered && alive },
    breaks: 'late',
  },
  {
    name: 'late-heartbeat-counts',
    what: 'The answer to a heartbeat extends the lease after the next join began.',
    rules: { extendsLease: () => true },
    breaks: 'late',
    bounds: { lateHeartbeats: 1 },
  },
  {
    name: 'sequence-begins-anew',
    what: 'Each owner counts its commits from the beginning.',
    rules: { seqAfter: () => 0 },
    breaks: 'unseen',
  },
  {
    name: 'older-checkpoint-is-believed',
    what: 'A checkpoint that is older than what was confirmed is believed.',
    rules: { believes: () => true },
    breaks: 'twice',
    bounds: { losses: 1, lostCommits: 1 },
  },
  {
    name: 'unstable-offsets-are-read',
    what: 'A take-over does not wait until no open transaction holds the offset.',
    rules: { waitsForStable: false },
    breaks: 'answered',
  },
  {
    name: 'taken-over-during-the-own-commit',
    what: 'A partition is taken over again while a commit of its last session is under way.',
    rules: { waitsForOwn: false },
    breaks: 'unseen',
    bounds: { rejoins: 1 },
  },
  {
    name: 'given-up-commit-may-land',
    what: 'A partition is taken over again before a commit that was given up is fenced.',
    rules: { initialises: false },
    breaks: 'unseen',
    bounds: { lostCommits: 1 },
  },
  {
    name: 'generation-is-not-checked',
    what: 'A commit bears no generation.',
    rules: { bears: 'none' },
    breaks: 'twice',
  },
  {
    name: 'newest-generation-is-borne',
    what: 'A commit bears the newest generation, not the one that it was formed in.',
    rules: { bears: 'the newest that was answered' },
    breaks: 'twice',
  },
  {
    name: 'generation-is-borne-before-its-answer',
    what: 'A process commits while it joins, in the generation whose partitions it has not been told yet.',
    rules: { bears: 'the newest that was joined', mayCommit: () => true },
    breaks: 'unseen',
  },
  {
    name: 'only-one-session-is-lost',
    what: 'A commit whose fate is unclear ends the session of one of its partitions alone.',
    rules: { endsAll: false },
    breaks: 'stuck',
    bounds: { partitions: 2, rounds: 1, lostCommits: 1 },
  },
  {
    name: 'commits-are-not-held',
    what: 'A commit begins while the process joins, in the generation that it leaves.',
    rules: { mayCommit: () => true },
    breaks: null,
  },
  {
    name: 'taken-over-without-a-barrier',
    what: 'A take-over does not check that its process is a member of the generation.',
    rules: { writesBarrier: false },
    breaks: null,
  },
  {
    name: 'taken-over-in-the-next-generation',
    what: 'A take-over does not check that its generation is still the one, and goes on in the next.',
    rules: { takesOverInNext: true },
    breaks: null,
  },
]

export const rulesOf = (bug: Planted): Rules => ({ ...design, ...bug.rules })
