import type { Bounds } from './bounds.ts'
import type { Broken } from './promises.ts'
import { design, type Rules } from './rules.ts'

/** A rule that was made wrong on purpose, to see whether the model finds what comes of it. */
export interface Planted {
  rules: Partial<Rules>
  breaks: Broken
  /** What it needs beyond the least bounds. */
  bounds?: Partial<Bounds>
}

export const planted: Readonly<Record<string, Planted>> = {
  'foreign-checkpoint-is-not-believed': {
    rules: { keeps: () => true, believes: ({ own, seq }, { confirmed }) => own && seq >= confirmed },
    breaks: 'twice',
    bounds: { releases: 1 },
  },
  'kept-through-every-join': { rules: { keeps: () => true }, breaks: 'unseen' },
  'kept-under-another-member-id': {
    rules: { keeps: ({ generation, synced }) => generation === synced + 1 },
    breaks: 'unseen',
    bounds: { resets: 1 },
  },
  'skipped-generation-is-not-seen': { rules: { keeps: ({ sameId }) => sameId }, breaks: 'unseen' },
  'ledger-outlives-a-foreign-owner': { rules: { clearsLedger: false }, breaks: 'stale' },
  'foreign-intents-are-new': { rules: { doubtsForeignIntents: false }, breaks: 'twice' },
  'post-before-the-commit': { rules: { mayPost: ({ alive, leased }) => alive && leased }, breaks: 'twice' },
  'lost-session-still-sends': { rules: { mayPost: ({ answered, leased }) => answered && leased }, breaks: 'late' },
  'no-lease-check': { rules: { mayPost: ({ answered, alive }) => answered && alive }, breaks: 'late' },
  'late-heartbeat-counts': { rules: { extendsLease: () => true }, breaks: 'late', bounds: { lateHeartbeats: 1 } },
  'sequence-begins-anew': { rules: { seqAfter: () => 0 }, breaks: 'unseen' },
  'older-checkpoint-is-believed': {
    rules: { believes: () => true },
    breaks: 'twice',
    bounds: { losses: 1, lostCommits: 1 },
  },
  'unstable-offsets-are-read': { rules: { waitsForStable: false }, breaks: 'answered' },
  'taken-over-during-the-own-commit': { rules: { waitsForOwn: false }, breaks: 'unseen', bounds: { rejoins: 1 } },
  'given-up-commit-may-land': { rules: { initialises: false }, breaks: 'unseen', bounds: { lostCommits: 1 } },
  'generation-is-not-checked': { rules: { bears: 'none' }, breaks: 'twice' },
  'newest-generation-is-borne': { rules: { bears: 'the newest that was answered' }, breaks: 'twice' },
  'generation-is-borne-before-its-answer': {
    rules: { bears: 'the newest that was joined', mayCommit: () => true },
    breaks: 'unseen',
  },
}

export const rulesOf = ({ rules }: Planted): Rules => ({ ...design, ...rules })
