import { conclusionOf } from './conclusion.ts'
import type { Findings, SearchedLog } from './findings.ts'
import { type Event, storyOf, time } from './story.ts'

/** How far back is looked unless told otherwise. */
export const weekMs = 7 * 24 * 3_600_000
/** The most messages of one correlationId whose stories are told: more would be a list, which tail is for. */
export const mostIds = 20

/** WantedMessage says which messages of an id are meant, and who is looking. */
export interface WantedMessage {
  /** Ids are unique within one. Default: any. */
  account?: string
  tenant?: string
  /** Whether texts, phones, codes and replies may be seen. Default: no. */
  show?: boolean
}

/** All about the messages with one id, and what it comes to. */
export interface Story {
  id: bigint
  /** Whether there is any trace of it. */
  found: boolean
  /** The accounts that have a message with this id. */
  accounts: string[]
  /** The oldest comes first. */
  events: Event[]
  /** There is one for each account, or one of account '' where none is known. */
  conclusions: { account: string; text: string }[]
  searched: SearchedLog[]
  gaps: string[]
}

export function tell(all: Findings, id: bigint, wanted: WantedMessage): Story {
  const findings = only(all, wanted)
  const accounts = accountsOf(findings)
  const events = storyOf(findings, wanted.show ?? false)
  const conclusions = accounts.map(account => ({ account, text: conclusionOf(findings, id, account) }))
  if (conclusions.length === 0) conclusions.push({ account: '', text: withoutAccount(findings, id) })
  const searched = findings.searched.toSorted(byPlace) // they end in any order
  return { id, found: events.length > 0, accounts, events, conclusions, searched, gaps: findings.gaps.toSorted() }
}

/** The story for machines, an object a line. */
export function storyLines({ id, events, conclusions, searched, gaps }: Story): object[] {
  return [
    ...events.map(event => ({ ...event, time: time(event.time) })),
    ...conclusions.map(({ account, text }) => ({ kind: 'conclusion', id, account, text })),
    { kind: 'searched', logs: searched, gaps },
  ]
}

const byPlace = (a: SearchedLog, b: SearchedLog) =>
  a.topic.localeCompare(b.topic) || (a.partition ?? 0) - (b.partition ?? 0) || a.records - b.records

function withoutAccount(findings: Findings, id: bigint): string {
  if (findings.letters.length > 0) return conclusionOf(findings, id, '')
  return `No trace of ${id}. Check the id, and that its producer writes to these brokers. busgate message ${id} --since 30d searches further back.`
}

/** Dead letters tell neither account nor tenant. */
function only(findings: Findings, { account, tenant }: WantedMessage): Findings {
  const fits = (value: { account: string; tenant: string | null }) =>
    (account === undefined || value.account === account) && (tenant === undefined || value.tenant === tenant)
  return {
    ...findings,
    commands: findings.commands.filter(({ value }) => fits(value.command)),
    results: findings.results.filter(({ value }) => fits(value)),
    statuses: findings.statuses.filter(({ value }) => fits(value)),
    doubts: findings.doubts.filter(({ value }) => fits(value)),
  }
}

function accountsOf({ commands, results, statuses, doubts }: Findings): string[] {
  const named = [...results, ...statuses, ...doubts].map(({ value }) => value.account)
  return [...new Set([...commands.map(({ value }) => value.command.account), ...named])].sort()
}
