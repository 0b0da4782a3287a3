import type { Kinds } from './load.ts'

/** One job to be measured. */
export interface Scenario {
  name: string
  partitions: number
  kinds: Kinds
  processes: number
  /** Whether each message gets a hook address. */
  hooks: boolean
  /** Requests in flight in one process; null: as many as by default. */
  concurrency: number | null
  /** How long the gateway takes. */
  latencyMs: number
  load: Load
}

export type Load =
  /** All lie on the topic before the worker starts. */
  | { commands: number }
  /** Commands a second, measured for so long after the warm-up. 0: none come. */
  | { rate: number; seconds: number; warmUpSeconds: number }
  /** Urgent commands a second, for so long, while so many others lie on the topic. */
  | { urgentRate: number; seconds: number; behind: number }

const usual: Omit<Scenario, 'name' | 'load'> = {
  partitions: 4,
  kinds: 'sms',
  processes: 1,
  hooks: false,
  concurrency: null,
  latencyMs: 20,
}

const full = { commands: 200_000 }
const behind = { urgentRate: 50, seconds: 6, behind: 300_000 }

/** `npm run bench` measures these, in this order, each beside a bare loop: a quarter of an hour. */
export const scenarios: readonly Scenario[] = [
  { ...usual, name: '200,000 commands', load: full },
  { ...usual, name: '200,000, 64 in flight', load: full, concurrency: 64 },
  { ...usual, name: '200,000, 64 partitions', load: full, partitions: 64 },
  { ...usual, name: '200,000 with hooks', load: full, hooks: true },
  { ...usual, name: '200,000 of mixed kinds', load: full, kinds: 'mixed' },
  { ...usual, name: '200,000 in Cyrillic', load: full, kinds: 'cyrillic' },
  { ...usual, name: '1,000,000 commands', load: { commands: 1_000_000 } },
  { ...usual, name: '5,000 a second', load: { rate: 5_000, seconds: 15, warmUpSeconds: 30 } },
  {
    ...usual,
    name: '200 a second, 64 partitions',
    load: { rate: 200, seconds: 30, warmUpSeconds: 90 },
    partitions: 64,
  },
  { ...usual, name: 'nothing, 64 partitions', load: { rate: 0, seconds: 20, warmUpSeconds: 30 }, partitions: 64 },
  { ...usual, name: '50 urgent a second behind 300,000', load: behind },
]

/** One of one's own, of the same sort. */
export function scenarioOf(own: Partial<Scenario> & Pick<Scenario, 'load'>): Scenario {
  return { ...usual, name: 'this one', ...own }
}
