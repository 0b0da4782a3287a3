import type { Role } from '../protocol/index.ts'
import type { Settings } from './compile.ts'

type Names = Settings['topics']
/** TopicUse is what a topic is there for. Its names are in the setting `topics.` with this word behind it. */
export type TopicUse = keyof Names
export type TopicRight = 'READ' | 'WRITE'

export interface TopicFacts {
  /** The schema registered as the topic's subject; null: there is none. */
  schema: 'command' | 'doubt' | 'result' | 'status' | null
  /**
   * Topics of one group are keyed alike and have equally many partitions, so that a partition of one stands for a partition
   * of the others. `alone`: the number is the topic's own. `single`: one partition is enough.
   */
  partitions: 'of commands' | 'of messages' | 'alone' | 'single'
  /**
   * `outlasting commands`: a command that is removed before it expires would have no result, and the reconciler walks
   * results some days old. `until seen`: somebody has to find the time to look. `last of a key`: the topic is compacted.
   */
  kept: 'outlasting commands' | 'until seen' | 'last of a key'
  /** What compaction would take away; null: no role is kept from its start by it. */
  lostByCompaction: 'unread records' | 'answers' | null
  rights: Partial<Record<Role, readonly TopicRight[]>>
  /** Whether the worker reads it only where no window tells what was answered before (`delivery.checkResults`). */
  readForAnswers?: true
}

/** Everything that is the same of a topic under whatever name. The order is the one in which topics are listed. */
export const topology: Readonly<Record<TopicUse, TopicFacts>> = {
  commands: {
    schema: 'command',
    partitions: 'of commands',
    kept: 'outlasting commands',
    lostByCompaction: 'unread records',
    rights: { worker: ['READ'] },
  },
  doubts: {
    schema: 'doubt',
    partitions: 'of commands',
    kept: 'outlasting commands',
    lostByCompaction: 'unread records',
    rights: { worker: ['READ', 'WRITE'] },
  },
  results: {
    schema: 'result',
    partitions: 'of messages',
    kept: 'outlasting commands',
    lostByCompaction: 'answers',
    rights: { worker: ['READ', 'WRITE'], reconciler: ['READ'] },
    readForAnswers: true,
  },
  statuses: {
    schema: 'status',
    partitions: 'of messages',
    kept: 'outlasting commands',
    lostByCompaction: null,
    rights: { worker: ['READ'], callbacks: ['WRITE'], reconciler: ['READ', 'WRITE'] },
  },
  overdue: {
    schema: null, // its records are results, and are written with their subject
    partitions: 'of messages',
    kept: 'outlasting commands',
    lostByCompaction: null,
    rights: { reconciler: ['READ', 'WRITE'] },
  },
  control: {
    schema: null,
    partitions: 'single',
    kept: 'last of a key',
    lostByCompaction: null,
    rights: { worker: ['READ'] },
  },
  deadLetters: {
    schema: null,
    partitions: 'alone',
    kept: 'until seen',
    lostByCompaction: 'unread records',
    rights: { worker: ['READ', 'WRITE'], callbacks: ['WRITE'] },
    readForAnswers: true,
  },
}

export const topicUses = Object.keys(topology) as TopicUse[]

/** Every topic by its name, with what it is there for. */
export function topicsIn(names: Names): { topic: string; use: TopicUse }[] {
  return topicUses.flatMap(use => [names[use]].flat().map(topic => ({ topic, use })))
}

/** The names of the topics of which something is so. */
export function topicsWhere(names: Names, isSo: (facts: TopicFacts) => boolean): string[] {
  return topicsIn(names).flatMap(({ topic, use }) => (isSo(topology[use]) ? [topic] : []))
}

/** Tells what the roles of a process need to do with a topic. */
export function rightsOf(use: TopicUse, { roles, delivery }: Pick<Settings, 'roles' | 'delivery'>): TopicRight[] {
  const { rights, readForAnswers } = topology[use]
  const needed = roles.flatMap(role =>
    role === 'worker' && readForAnswers && !delivery.checkResults ? ['WRITE' as const] : (rights[role] ?? []),
  )
  return [...new Set(needed)]
}
