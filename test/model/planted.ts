import type { Broken } from './promises.ts'
import { design, type Rules } from './rules.ts'
import type { Bounds } from './world.ts'

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

const keptByLease: Partial<Rules> = { keeps: ({ oldLease }) => oldLease }

export const planted: readonly Planted[] = [
  {
    name: 'foreign-checkpoint-is-not-believed',
    what: 'A session is kept while the old lease covers the time, and a checkpoint of another process is not believed.',
    rules: { ...keptByLease, believes: ({ own, seq }, { confirmed }) => own && seq >= confirmed },
    breaks: 'twice',
    bounds: { releases: 1 },
  },
  {
    name: 'kept-while-the-old-lease-lasts',
    what: 'A session is kept through a re-join if the lease before it covers the time.',
    rules: keptByLease,
    breaks: 'kept',
  },
  {
    name: 'kept-under-another-member-id',
    what: 'A session is kept though its process is another member now.',
    rules: { keeps: ({ sameWay, generation, synced }) => sameWay && generation === synced + 1 },
    breaks: 'kept',
    bounds: { resets: 1 },
  },
  {
    name: 'skipped-generation-is-not-seen',
    what: 'A session is kept by a member that missed a generation.',
    rules: { keeps: ({ sameId, sameWay }) => sameId && sameWay },
    breaks: 'kept',
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
    name: 'opens-without-lease',
    what: 'A partition is taken over by a process whose lease is over.',
    rules: { mayOpen: () => true },
    breaks: 'late',
  },
  {
    name: 'finishes-without-lease',
    what: 'A process that is told to stop, or joins again, opens its lost session anew though its lease is over.',
    rules: { mayOpen: ({ leased, finishing, awaits }) => leased || (finishing && awaits) },
    breaks: 'late',
    bounds: { offsets: 2, leaves: 1 },
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
    name: 'reads-before-it-fences',
    what: 'The checkpoint is read before the earlier owner is fenced.',
    rules: { fencesFirst: false },
    breaks: 'answered',
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
    bounds: { together: 1 },
  },
  {
    name: 'generation-is-not-checked',
    what: 'A commit for all partitions bears no generation.',
    rules: { bears: 'none' },
    breaks: 'twice',
    bounds: { together: 1 },
  },
  {
    name: 'newest-generation-is-borne',
    what: 'A commit for all partitions bears the newest generation, not the one that it was formed in.',
    rules: { bears: 'the newest that was answered' },
    breaks: 'twice',
    bounds: { together: 1 },
  },
  {
    name: 'generation-is-borne-before-its-answer',
    what: 'A process commits while it joins, in the generation whose partitions it has not been told yet.',
    rules: { bears: 'the newest that was joined', mayCommit: () => true },
    breaks: 'unseen',
    bounds: { together: 1 },
  },
  {
    name: 'together-kept-through-a-skipped-generation',
    what: 'A session whose commits the generation fences is kept by a member that missed a generation.',
    rules: { keeps: ({ sameId, sameWay }) => sameId && sameWay },
    breaks: 'unseen',
    bounds: { together: 1 },
  },
  {
    name: 'taken-over-during-the-own-commit',
    what: 'A partition is taken over again while a commit of its last session is under way.',
    rules: { waitsForOwn: false },
    breaks: 'unseen',
    bounds: { together: 1, rejoins: 1 },
  },
  {
    name: 'only-one-session-is-lost',
    what: 'A commit for all partitions whose fate is unclear ends the session of one of them alone.',
    rules: { endsAll: false },
    breaks: 'stuck',
    bounds: { together: 1, partitions: 2, rounds: 1, lostCommits: 1 },
  },
  {
    name: 'apart-owner-is-not-fenced',
    what: 'A process that commits together does not fence one that commits apart.',
    rules: { claims: { ...design.claims, fences: false, by: 'the process' } },
    breaks: 'results',
    bounds: { switches: 1 },
  },
  {
    name: 'claim-without-a-second-fence',
    what: 'A claim is committed by the producer of the process, and the partition not fenced again.',
    rules: { claims: { ...design.claims, by: 'the process' } },
    breaks: 'results',
    bounds: { switches: 1 },
  },
  {
    name: 'claim-between-two-fences',
    what: 'A claim is committed by the producer of the process, between two fences of the partition.',
    rules: { claims: { ...design.claims, by: 'the process', again: true } },
    breaks: 'results',
    bounds: { switches: 1 },
  },
  {
    name: 'claim-of-another-generation',
    what: 'A claim bears the generation of the moment when it is committed, not of the moment when it was read.',
    rules: { claims: { ...design.claims, of: 'the commit' } },
    breaks: 'unseen',
    bounds: { together: 1 },
  },
  {
    name: 'claim-bears-the-own-tag',
    what: 'A claim bears the tag of the process that makes it, which takes the intents in it for its own.',
    rules: { claims: { ...design.claims, ownTag: true } },
    breaks: 'twice',
    bounds: { switches: 1 },
  },
  {
    name: 'commits-are-not-held',
    what: 'A commit begins while the process joins, in the generation that it leaves.',
    rules: { mayCommit: () => true },
    breaks: null,
    bounds: { together: 1 },
  },
]

export const rulesOf = (bug: Planted): Rules => ({ ...design, ...bug.rules })
