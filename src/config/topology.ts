import type { Role } from '../vocabulary/lists.ts'
import type { Settings } from './compile.ts'

type Names = Settings['topics']
/** Purpose of a topic. The setting `topics.` plus this word holds its name. */
export type TopicUse = keyof Names
export type TopicRight = 'READ' | 'WRITE'

export interface TopicFacts {
  /** The schema registered under the topic's subject; null if there is none. */
  schema: 'command' | 'doubt' | 'result' | 'status' | null
  /**
   * Topics of one group should have the same number of partitions, so that one of messages shares its keys with few others, and
   * that commands and doubts are spread over as many members. `alone`: independent. `single`: one partition.
   */
  partitions: 'of commands' | 'of messages' | 'alone' | 'single'
  /**
   * Retention. `outlasting commands`: a command must not be deleted before it expires, or it would have no result, and the
   * reconciler reads results that are days old. `until seen`: long enough for a person to look. `last of a key`: compacted.
   * `until done`: compacted soon, as finished records still hold messages. `for minutes`: its records are renewed all the time.
   */
  kept: 'outlasting commands' | 'until seen' | 'last of a key' | 'until done' | 'for minutes'
  /** What compaction would destroy; null if no role refuses to start because of it. */
  lostByCompaction: 'unread records' | 'answers' | null
  rights: Partial<Record<Role, readonly TopicRight[]>>
  /** Whether every role works without the topic. */
  dispensable?: true
}

/** Properties of each topic, whatever its name, in the order in which topics are listed. */
export const topology: Readonly<Record<TopicUse, TopicFacts>> = {
  commands: {
    schema: 'command',
    partitions: 'of commands',
    kept: 'outlasting commands',
    lostByCompaction: 'unread records',
    rights: { worker: ['READ', 'WRITE'] },
  },
  later: {
    schema: null, // its records are commands, written under the subject of their command topic
    partitions: 'of commands',
    kept: 'until done',
    lostByCompaction: null,
    rights: { worker: ['READ', 'WRITE'] },
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
  },
  statuses: {
    schema: 'status',
    partitions: 'of messages',
    kept: 'outlasting commands',
    lostByCompaction: null,
    rights: { worker: ['READ'], callbacks: ['WRITE'], reconciler: ['READ', 'WRITE'] },
  },
  overdue: {
    schema: null, // its records are results, written under the subject of results
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
  history: {
    schema: null,
    partitions: 'single',
    kept: 'outlasting commands',
    lostByCompaction: null,
    rights: {},
    dispensable: true,
  },
  workers: {
    schema: null,
    partitions: 'single',
    kept: 'for minutes',
    lostByCompaction: null,
    rights: { worker: ['WRITE'], callbacks: ['WRITE'], reconciler: ['WRITE'] },
    dispensable: true,
  },
  deadLetters: {
    schema: null,
    partitions: 'alone',
    kept: 'until seen',
    lostByCompaction: 'unread records',
    rights: { worker: ['READ', 'WRITE'], callbacks: ['WRITE'], reconciler: ['WRITE'] },
  },
}

export const topicUses = Object.keys(topology) as TopicUse[]

export function topicsIn(names: Names): { topic: string; use: TopicUse }[] {
  return topicUses.flatMap(use => [names[use]].flat().map(topic => ({ topic, use })))
}

/** Names of the topics that meet a condition. */
export function topicsWhere(names: Names, isSo: (facts: TopicFacts) => boolean): string[] {
  return topicsIn(names).flatMap(({ topic, use }) => (isSo(topology[use]) ? [topic] : []))
}

/** The rights that a process's roles need on a topic. */
export function rightsOf(use: TopicUse, { roles }: Pick<Settings, 'roles'>): TopicRight[] {
  return [...new Set(roles.flatMap(role => topology[use].rights[role] ?? []))]
}
