import type { Kinds } from './load.ts'

/** One job of the benchmark. */
export interface Scenario {
  name: string
  partitions: number
  kinds: Kinds
  processes: number
  /** Whether each message gets a hook address. */
  hooks: boolean
  /** gateway.concurrency of each process; null: the default. */
  concurrency: number | null
  /** The gateway's response time. */
  latencyMs: number
  load: Load
}

export type Load =
  /** A backlog that is on the topic before the worker starts. */
  | { commands: number }
  /** A steady rate of commands a second, measured for `seconds` after the warm-up. */
  | { rate: number; seconds: number; warmUpSeconds: number }
  /** A steady rate of urgent commands a second in front of a backlog. */
  | { urgentRate: number; seconds: number; behind: number }

const defaults: Omit<Scenario, 'name' | 'load'> = {
  partitions: 4,
  kinds: 'sms',
  processes: 1,
  hooks: false,
  concurrency: null,
  latencyMs: 20,
}

const full = { commands: 200_000 }
const behind = { urgentRate: 50, seconds: 6, behind: 300_000 }

/** The scenarios of `npm run bench`, in this order, each compared with a bare loop. They take 15 minutes. */
export const scenarios: readonly Scenario[] = [
  { ...defaults, name: '200,000 commands', load: full },
  { ...defaults, name: '200,000, 64 in flight', load: full, concurrency: 64 },
  { ...defaults, name: '200,000, 64 partitions', load: full, partitions: 64 },
  { ...defaults, name: '200,000 with hooks', load: full, hooks: true },
  { ...defaults, name: '200,000 of mixed kinds', load: full, kinds: 'mixed' },
  { ...defaults, name: '200,000 in Cyrillic', load: full, kinds: 'cyrillic' },
  { ...defaults, name: '1,000,000 commands', load: { commands: 1_000_000 } },
  { ...defaults, name: '5,000 a second', load: { rate: 5_000, seconds: 15, warmUpSeconds: 30 } },
  {
    ...defaults,
    name: '200 a second, 64 partitions',
    load: { rate: 200, seconds: 30, warmUpSeconds: 90 },
    partitions: 64,
  },
  { ...defaults, name: 'nothing, 64 partitions', load: { rate: 0, seconds: 20, warmUpSeconds: 30 }, partitions: 64 },
  { ...defaults, name: '50 urgent a second behind 300,000', load: behind },
]

/** A custom scenario. */
export function scenarioOf(own: Partial<Scenario> & Pick<Scenario, 'load'>): Scenario {
  return { ...defaults, name: 'this one', ...own }
}
