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

/** `npm run bench` measures these, in this order. */
export const scenarios: readonly Scenario[] = [
  { ...usual, name: '200,000 commands', load: full },
  { ...usual, name: '200,000, 64 in flight', load: full, concurrency: 64 },
  { ...usual, name: '200,000, 16 partitions', load: full, partitions: 16 },
  { ...usual, name: '200,000, 64 partitions', load: full, partitions: 64 },
  { ...usual, name: '200,000, 4 processes, 64 partitions', load: full, partitions: 64, processes: 4 },
  { ...usual, name: '200,000 with hooks', load: full, hooks: true },
  { ...usual, name: '200,000 of mixed kinds', load: full, kinds: 'mixed' },
  { ...usual, name: '1,000,000 commands', load: { commands: 1_000_000 } },
  { ...usual, name: '1,000,000, 64 partitions', load: { commands: 1_000_000 }, partitions: 64 },
  { ...usual, name: '5,000 a second', load: { rate: 5_000, seconds: 15, warmUpSeconds: 30 } },
  { ...usual, name: '200 a second', load: { rate: 200, seconds: 30, warmUpSeconds: 120 } },
  {
    ...usual,
    name: '200 a second, 64 partitions',
    load: { rate: 200, seconds: 30, warmUpSeconds: 120 },
    partitions: 64,
  },
  { ...usual, name: 'nothing, 64 partitions', load: { rate: 0, seconds: 30, warmUpSeconds: 60 }, partitions: 64 },
  { ...usual, name: '50 urgent a second behind 300,000', load: behind },
  { ...usual, name: '50 urgent behind 300,000, 64 in flight', load: behind, concurrency: 64 },
]

/** One of one's own, of the same sort. */
export function scenarioOf(own: Partial<Scenario> & Pick<Scenario, 'load'>): Scenario {
  return { ...usual, name: 'this one', ...own }
}
