import { stringifyJson } from '../../protocol/index.ts'
import type { SendResult, StatusEvent } from '../../records/generated.ts'
import { count, cut, endText, timeText } from '../../words.ts'
import { originText, placeText, shown } from '../dead-letters/letter.ts'
import { conclusionOf, lostText } from './conclusion.ts'
import { type Findings, type FoundCommand, type SearchedLog, type Sighting, stateAfter } from './findings.ts'

/** An event of a message's story. */
export interface Event {
  /** Milliseconds since 1970; -1 if unknown. */
  time: number
  kind: 'command' | 'result' | 'doubt' | 'status' | 'dead letter'
  /** `topic/partition@offset` */
  place: string
  text: string
  /** The complete record, for machines. */
  detail: unknown
}

/** Fields of results and statuses that hold personal or unforeseen data. */
const personal: readonly string[] = ['code', 'hlr', 'payload', 'reply', 'replies', 'extra']
const hidden = '***'
/** Longest text of an event, and of a conclusion. */
const longestText = 4000

/** All findings in chronological order. @param reveal whether to show texts, phone numbers and the like */
export function storyOf(findings: Findings, reveal: boolean): Event[] {
  const verdicts = verdictsOf(findings)
  const events = [
    ...findings.commands.map(one =>
      event('command', one, commandText(one.value, reveal), commandDetail(one.value, reveal)),
    ),
    ...findings.undecoded.map(one => event('command', one, `cannot be read now: ${one.value.why}`, one.value)),
    ...findings.doubts.map(one => {
      const { attempts, cause, postedAt, account } = one.value
      const text = `in doubt: ${cause}, account ${account}, ${count(attempts, 'attempt')}, the last begun ${timeText(postedAt, 'by')}`
      return event('doubt', one, text, shown(one.value, reveal))
    }),
    ...findings.results.map(one => event('result', one, resultText(one.value, reveal), masked(one.value, reveal))),
    ...findings.statuses.map(one => {
      const isVerdict = verdicts.has(one)
      const text = `${statusText(one.value, reveal)}${isVerdict ? ' ← the verdict' : ''}`
      return event('status', one, text, { ...masked(one.value, reveal), isVerdict })
    }),
    ...findings.letters.map(one => {
      const { code, message } = one.value
      const from = originText(one.value)
      const text = [`${code}: ${message}`, from && `from ${from}`].filter(Boolean).join(', ')
      return event('dead letter', one, text, one.value)
    }),
  ]
  return events.toSorted((a, b) => a.time - b.time)
}

/** Lines that list the searched topics and the gaps. */
export function searchedText({ searched, gaps }: Pick<Findings, 'searched' | 'gaps'>): string[] {
  const topics = [...Map.groupBy(searched, ({ topic }) => topic)].map(([topic, logs]) => {
    const partitions = new Set(logs.map(({ partition }) => partition))
    const records = logs.reduce((sum, log) => sum + log.records, 0)
    const where = partitions.size === 1 ? `${topic}/${[...partitions][0]}` : `${topic} (${partitions.size} partitions)`
    return `${where}: ${count(records, 'offset')}${sinceText(logs)}`
  })
  return ['Searched:', ...topics.map(line => `  ${line}`), ...gaps.map(gap => `  ${gap}`)]
}

function sinceText(logs: readonly SearchedLog[]): string {
  const times = logs.flatMap(({ since }) => since ?? [])
  const unreadable = logs.reduce((sum, log) => sum + log.unreadable, 0)
  const since =
    times.length === 0
      ? ''
      : `, ${timeText(
          times.reduce((a, b) => Math.min(a, b)),
          'since',
        )}`
  const gone = logs.some(({ olderAreGone }) => olderAreGone) ? '; older ones are deleted (retention)' : ''
  return `${since}${gone}${unreadable > 0 ? `; ${count(unreadable, 'batch')} cannot be read` : ''}`
}

function event<T>(kind: Event['kind'], { time, place }: Sighting<T>, text: string, detail: unknown): Event {
  return { time, kind, place: placeText(place), text: cut(text, longestText), detail }
}

const list = (parts: readonly (string | null | false | undefined)[]) => parts.filter(Boolean).join(', ')

function commandText({ command, type, progress, replayedFrom }: FoundCommand, reveal: boolean): string {
  const { account, tenant, campaign, correlationId, deadline, delivery, notBefore } = command
  const about = list([
    `${type} for ${reveal ? command.phone : hidden}`,
    `account ${account}`,
    tenant !== null && `tenant ${tenant}`,
    campaign !== null && `campaign ${campaign}`,
    correlationId !== null && `correlation ${correlationId}`,
    delivery !== 'DEFAULT' && delivery,
    notBefore !== null && `not before ${timeText(notBefore)}`,
    deadline !== null && `deadline ${endText(deadline)}`,
    replayedFrom !== null && `replayed from ${replayedFrom}`,
    progress !== 'done' && progress !== 'unknown' && `progress: ${progress === 'later' ? 'set aside' : progress}`,
  ])
  return reveal ? `${about}: ${stringifyJson(Object.values(command.message)[0])}` : about
}

function commandDetail({ command, ...rest }: FoundCommand, reveal: boolean): unknown {
  return { ...(shown(command, reveal) as object), ...rest }
}

function resultText(result: SendResult, reveal: boolean): string {
  const { outcome, final, errorCode, error, msgId, parts, attempts, sentAt, price } = result
  const place = { topic: result.commandTopic, partition: result.commandPartition, offset: result.commandOffset }
  return list([
    `${outcome}${final ? '' : ' (not final)'}${msgId === null ? '' : ` as ${msgId}`}`,
    errorCode !== null && (error === null ? errorCode : `${errorCode}: ${error}`),
    parts !== null && count(parts, 'part'),
    price !== null && `price ${price}`,
    attempts > 0 && count(attempts, 'attempt'),
    sentAt !== null && `posted ${timeText(sentAt)}${outcome === 'IN_DOUBT' ? ' at the latest' : ''}`,
    reveal && result.code !== null && `code ${result.code}`,
    `of ${placeText(place)}`,
  ])
}

function statusText({ status, state, final, source, verified, error, updatedAt, reply }: StatusEvent, reveal: boolean) {
  return list([
    status === '' || status === state ? state : `${state}: ${status}`,
    error,
    final ? 'final' : 'not final',
    source.toLowerCase(),
    verified ? 'verified' : 'not verified',
    updatedAt !== null && timeText(updatedAt, 'since'),
    reply !== null && `reply ${reveal ? reply : hidden}`,
  ])
}

function masked<T extends object>(value: T, reveal: boolean): object {
  const entries = Object.entries(value).map(([name, one]) => {
    const isEmpty = one === null || (Array.isArray(one) && one.length === 0)
    return [name, !reveal && personal.includes(name) && !isEmpty ? hidden : one]
  })
  return Object.fromEntries(entries)
}

/** For each account the first event that gives the verdict; a repeated callback gives it again. */
function verdictsOf(findings: Findings): Set<Sighting<StatusEvent>> {
  const given = findings.statuses
    .toSorted((a, b) => a.time - b.time)
    .filter(({ value }) => givesVerdict(value, findings))
  const byAccount = Map.groupBy(given, ({ value }) => value.account)
  return new Set([...byAccount.values()].map(([first]) => first!))
}

/** Whether this event alone gives the same verdict as all events of its message. */
function givesVerdict(event: StatusEvent, findings: Findings): boolean {
  const all = stateAfter(findings, event)
  const alone = stateAfter(findings, event, [event])
  if (all.verdict === null || alone.stage !== all.stage) return false
  return alone.since === all.since && alone.status === all.status
}

/** Default of how far back to search. */
export const weekMs = 7 * 24 * 3_600_000
/** Most messages of one correlationId to tell in full; `busgate tail results` lists more. */
export const mostIds = 20

/** Which messages of an id to include, and whether to show personal data. */
export interface WantedMessage {
  /** Ids are unique within an account. Default: all accounts. */
  account?: string
  tenant?: string
  /** Whether to show texts, phone numbers, codes and replies. Default false. */
  reveal?: boolean
}

export type Story = ReturnType<typeof tell>

/**
 * The messages with one id: their events in chronological order, and a conclusion per account; a single one with account '' if no
 * account is known.
 */
export function tell(all: Findings, id: bigint, wanted: WantedMessage) {
  const findings = only(all, wanted)
  const accounts = accountsOf(findings)
  const events = storyOf(findings, wanted.reveal ?? false)
  const conclusions = accounts.map(account => ({
    account,
    text: cut(conclusionOf(findings, id, account), longestText),
  }))
  if (conclusions.length === 0) conclusions.push({ account: '', text: withoutAccount(findings, id) })
  const searched = findings.searched.toSorted(byPlace) // searches end in any order
  return { id, found: events.length > 0, accounts, events, conclusions, searched, gaps: findings.gaps.toSorted() }
}

export type StoryLine = { kind: string } & Record<string, unknown>

/** The story for machines, one object per line. */
export function storyLines({ id, events, conclusions, searched, gaps }: Story): StoryLine[] {
  return [
    ...events.map(event => ({ ...event, time: timeText(event.time) })),
    ...conclusions.map(({ account, text }) => ({ kind: 'conclusion', id, account, text })),
    { kind: 'searched', logs: searched, gaps },
  ]
}

const byPlace = (a: SearchedLog, b: SearchedLog) =>
  a.topic.localeCompare(b.topic) || a.partition - b.partition || a.records - b.records

function withoutAccount(findings: Findings, id: bigint): string {
  if (findings.letters.length + findings.undecoded.length > 0) return conclusionOf(findings, id, '')
  const advice =
    'Check the id, and that its producer writes to these brokers. ' +
    `busgate message ${id} --since 30d searches further back.`
  return [`No trace of ${id}.`, ...lostText(findings), advice].join(' ')
}

/** Filters by account and tenant, except dead letters, which have neither. */
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
