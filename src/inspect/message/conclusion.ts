import { finalOf } from '../../consumer/final.ts'
import { heldAccounts } from '../../fleet/holds.ts'
import { isSendType, operations, pollStateOf } from '../../protocol/index.ts'
import { hookedByType } from '../../records/command.ts'
import type { SendResult } from '../../records/generated.ts'
import { shellWord } from '../../shell.ts'
import { heldPollsText, mendText } from '../../vocabulary/holds.ts'
import { type ErrorCode, errorCodeTexts, leavesIdFree } from '../../vocabulary/lists.ts'
import { count, span, timeText } from '../../words.ts'
import { type Letter, originText, placeText, readableOnce, shortPlace } from '../dead-letters/letter.ts'
import { type Findings, type FoundCommand, type FoundDoubt, isUnsent, type Sighting, stateAfter } from './findings.ts'
import { heldBackText, notYetText, undecodedText, withdrawnText } from './why-not-yet.ts'

/** @param errorCode of a result; one of a newer busgate has no remedy here */
export const remedyOf = (errorCode: string | null): string | null =>
  errorCodeTexts[errorCode as ErrorCode]?.remedy ?? null

const anew = 'if it is still wanted, send it under a new id'
const outsideOfWithdrawal =
  'outside of the withdrawal: with another campaign, correlationId or tenant, or after busgate withdraw … --end'
const capital = (text: string) => text.charAt(0).toUpperCase() + text.slice(1)

/** Says what happened to one message, and what to do, in plain sentences. */
export function conclusionOf(findings: Findings, id: bigint, account: string): string {
  return [whatBecame(findings, id, account), ...repetition(findings, id, account)].join(' ')
}

function whatBecame(findings: Findings, id: bigint, account: string): string {
  const results = findings.results.map(({ value }) => value).filter(one => one.id === id && one.account === account)
  const final = finalOf(results, { id, account })
  const command = firstCommand(findings, results, account)
  const isSentNext = final && leavesIdFree(final.outcome) && command && isUnsent(command.value)
  const perhapsSent = perhapsSentLetter(findings, account)
  const isTold = final !== null && (perhapsSent === undefined || mayBeSent(final))
  if (isTold && !isSentNext) return ofFinal(final, findings, id, account)
  const doubted = results.some(({ outcome }) => outcome === 'IN_DOUBT')
  const doubts = findings.doubts.filter(({ value }) => value.account === account)
  if (doubted || doubts.length > 0) {
    const doubt = doubts.at(-1)?.value
    const type = doubt?.type ?? results.at(-1)?.type ?? null
    return (
      `Perhaps sent: the answer of the gateway is missing${doubt ? ` (${doubt.cause})` : ''}${whoFindsOut(doubts, findings)} ` +
      whoCanTell(id, account, type)
    )
  }
  if (perhapsSent) return letterText(perhapsSent, findings, id, account)
  if (results.length > 0 && !command) {
    return (
      'Only a repeated record was found: its id was seen before, so it was not sent. The first record is older than ' +
      'the search: ' +
      `busgate message ${id} --since 30d searches further back.`
    )
  }
  const letter = findings.letters.toSorted((a, b) => a.time - b.time).at(-1)
  if (!command && letter) return letterText(letter, findings, id, account)
  const [undecoded] = findings.undecoded
  if (!command && undecoded) return undecodedText(undecoded, findings)
  if (!command) {
    return (
      verdictText(findings, id, account) ??
      ['Neither its command nor a result was found.', ...lostText(findings)].join(' ')
    )
  }
  return ofCommand(command, findings, id)
}

/** Says that somebody has set the committed offset behind a command without a result; null if nobody has. */
function skippedText({ place }: Sighting<FoundCommand>, { lost }: Findings): string | null {
  const covers = ({ code, origin, lastOffset }: Letter) =>
    code === 'RECORDS_SKIPPED' &&
    origin?.topic === place.topic &&
    origin.partition === place.partition &&
    origin.offset <= place.offset &&
    place.offset <= (lastOffset ?? origin.offset)
  if (!lost.some(({ value }) => covers(value))) return null
  return (
    `The command at ${placeText(place)} was skipped: somebody set the committed offset of the group behind it, and it has no ` +
    'result. Probably it was not sent: if a worker was killed before, it may have been. Reset the offset to send it.'
  )
}

/** Most ranges that are listed. */
const mostRanges = 5

/** Says which commands were deleted before they had a result, since the message may be one of them. */
export function lostText({ lost }: Pick<Findings, 'lost'>): string[] {
  const deleted = lost.filter(({ value }) => value.code === 'RECORDS_DELETED')
  if (deleted.length === 0) return []
  const ranges = deleted.map(({ value }) => `${originText(value)}${value.perhapsSent ? ' (perhaps sent)' : ''}`)
  const left = ranges.length - mostRanges
  const listed = [...ranges.slice(0, mostRanges), ...(left > 0 ? [`${count(left, 'further range')}`] : [])].join(', ')
  return [
    `Commands were deleted before they had a result, and it may be one of them: ${listed}. ` +
      'busgate dlq list --code RECORDS_DELETED says of each range whether it was perhaps sent.',
  ]
}

/** A final result is promised only while a doubt is on its topic and unfinished: doubts are lost with deleted records. */
function whoFindsOut(doubts: readonly Sighting<FoundDoubt>[], findings: Findings): string {
  const open = doubts.findLast(({ value: { progress } }) => progress !== 'done' && progress !== 'unknown')?.value
  if (open)
    return `, and busgate is finding out. ${askedText(open, findings)} A final result will follow: do not send it again.`
  return '. No open doubt about it was found, so it may never get a final result: do not send it again before you know.'
}

/** Says since when a message is in doubt, and when the gateway is asked about it. */
function askedText({ postedAt, account, type, asked }: FoundDoubt, { fleet }: Findings): string {
  const since = `It has been in doubt ${timeText(postedAt, 'since')}`
  if (type !== null && isSendType(type) && !operations[type].hasStatus) return `${since}; only a callback can tell.`
  const held = heldAccounts(fleet?.alive ?? [], 'polls').find(one => one.account === account)
  if (held) return `${since}, but ${heldPollsText(held)}. ${mendText(held.reason)}`
  if (Date.now() < asked.from) return `${since}; the gateway is asked ${timeText(asked.from, 'at')}.`
  return `${since}; the gateway is asked about every ${span(asked.everyMs)}.`
}

/** The command that counts: the oldest that was not settled without using the id, or as a dead letter. */
function firstCommand({ commands, letters }: Findings, results: readonly SendResult[], account: string) {
  const unread = letters.flatMap(({ value: { origin } }) => (origin ? [placeText(origin)] : []))
  const settled = [...placesOf(results, leavesIdFree), ...unread]
  return commands
    .filter(({ value, place }) => value.command.account === account && !settled.includes(placeText(place)))
    .toSorted((a, b) => a.time - b.time || a.place.offset - b.place.offset)[0]
}

const mayBeSent = ({ outcome }: SendResult): boolean => outcome === 'SENT' || outcome === 'UNRESOLVED'

/** The dead letter of a command that was perhaps sent, whatever became of later records with its id. */
function perhapsSentLetter({ letters, commands }: Findings, account: string): Sighting<Letter> | undefined {
  const isOfOther = ({ origin }: Letter) =>
    commands.some(
      ({ place, value }) => origin && placeText(place) === placeText(origin) && value.command.account !== account,
    )
  return letters.find(({ value }) => value.perhapsSent && !isOfOther(value))
}

function letterText({ value, place }: Sighting<Letter>, { commands }: Findings, id: bigint, account: string): string {
  const { code, message, origin, perhapsSent } = value
  const text = message.replace(/\.$/, '')
  if (code === 'RECORDS_DELETED') {
    return perhapsSent
      ? `Perhaps sent: ${text}. ${whoCanTell(id, account, null)}`
      : `Not sent: ${text}. Its producer must write it again.`
  }
  const why = `${code}: ${text}`
  if (perhapsSent) {
    return (
      `Perhaps sent: its record could not be read after a worker had begun to send it (${why}). ` +
      `${whoCanTell(id, account, null)} A result, if there is one, says more: busgate message ${id} --since 30d.`
    )
  }
  const replay = `busgate dlq replay --at ${shortPlace(place)} sends it`
  const isReadable = code !== 'KEY_NOT_FOUND'
  if (isReadable && origin && commands.some(command => placeText(command.place) === placeText(origin))) {
    return `Not sent: its record became a dead letter (${code}). It can be read now: ${replay}.`
  }
  const once = readableOnce[code]
  const otherwise = once ? `${once}, ${replay}; otherwise` : 'Its bytes stay unreadable:'
  return `Not sent: its record could not be read (${why}). ${otherwise} its producer must write it again.`
}

function ofCommand(command: Sighting<FoundCommand>, findings: Findings, id: bigint): string {
  const { progress, type } = command.value
  const where = placeText(command.place)
  const withdrawn = withdrawnText(command, findings)
  if (withdrawn && progress === 'later') return `Not sent, and it will not be: ${withdrawn}`
  if (withdrawn && isUnsent(command.value))
    return `Not sent, and it will not be: when a worker reads the command at ${where}, ${withdrawn}`
  if (isUnsent(command.value)) return notYetText(command, findings)
  const texts: Record<Exclude<FoundCommand['progress'], 'unread' | 'waiting' | 'later'>, string> = {
    sending: sendingText(command, findings),
    doubted:
      `Perhaps sent: its worker stopped with a request for ${where} in flight. Its result follows: do not send it again. ` +
      whoCanTell(id, command.value.command.account, type),
    done:
      skippedText(command, findings) ??
      [
        `The command at ${where} is finished, but its result is older than the search: busgate message ${id} --since 30d searches further back.`,
        // its own record was not deleted
        ...lostText({ lost: findings.lost.filter(({ value }) => value.origin?.topic !== command.place.topic) }),
      ].join(' '),
    unknown: `The command is at ${where}; the progress of the workers is unknown.`,
  }
  return texts[progress as keyof typeof texts]
}

/** An account that is held back is tried with single requests, which say little of when its commands are sent. */
function sendingText(command: Sighting<FoundCommand>, findings: Findings): string {
  const request = `request for the command at ${placeText(command.place)} is in flight`
  const held = heldBackText(command, findings)
  return held
    ? `Not sent yet: ${held} A ${request}, to find out whether the gateway takes it now.`
    : `Being sent now: a ${request}. Its result follows.`
}

function ofFinal(final: SendResult, findings: Findings, id: bigint, account: string): string {
  const { type, outcome, errorCode, error, attempts } = final
  const reason = [errorCode, error].filter(Boolean).join(': ')
  if (outcome === 'SENT') return sentText(final, findings)
  if (errorCode === 'DUPLICATE_ID' && outcome === 'REJECTED') {
    return `This record was not sent: the gateway knows its id (${reason}). ${remedy(errorCode)}. ${whoCanTell(id, account, type)}`
  }
  if (outcome === 'REJECTED') {
    return `Not sent: the gateway refused it (${reason}). ${remedy(errorCode)}; ${anew}.`
  }
  if (errorCode === 'COUNTRY' || errorCode === 'PARTS') {
    return `Not sent: it exceeds a limit of the settings (${reason}). ${remedy(errorCode)}; ${anew}.`
  }
  if (outcome === 'INVALID') return `Not sent: the command violates the interface (${reason}). Correct it; ${anew}.`
  if (outcome === 'EXPIRED' && errorCode === 'WITHDRAWN')
    return `Not sent: ${error ?? 'it was withdrawn'}. ${capital(anew)}, and ${outsideOfWithdrawal}.`
  if (errorCode === 'DEADLINE' && hasDeadlineInSeconds(findings, final)) {
    return `Not sent: its deadline is in 1970: deadlines are milliseconds, not seconds. Correct it; ${anew}.`
  }
  if (outcome === 'EXPIRED') return `Not sent: it was too late (${reason}). ${remedy(errorCode)}; ${anew}.`
  if (outcome === 'UNRESOLVED') {
    const told = verdictText(findings, id, account)
    if (told) return `It was in doubt until a status came. ${told}`
    return (
      `Perhaps sent: nobody can tell after ${attempts} attempt${attempts === 1 ? '' : 's'} (${reason}), and this is final. ` +
      `${whoCanTell(id, account, type)} If you send it again under a new id, it may be billed and delivered twice.`
    )
  }
  outcome satisfies 'DUPLICATE' | 'IN_DOUBT' | 'UNKNOWN' // the first two are never final
  return 'Its result was written by a newer busgate: use that version.'
}

/** A time of these years in seconds, read as milliseconds, is in 1970. */
const yearMs = 365 * 24 * 3_600_000

function hasDeadlineInSeconds({ commands }: Findings, { account }: SendResult): boolean {
  return commands.some(({ value: { command } }) => {
    const { deadline } = command
    return command.account === account && deadline !== null && deadline >= 0 && deadline < yearMs
  })
}

/** Says how to find out about a message in doubt, by the rule of readStatusAnswer. */
function whoCanTell(id: bigint, account: string, type: string | null): string {
  if (type !== null && isSendType(type) && !operations[type].hasStatus) {
    return `The gateway has no status of a ${type}.`
  }
  return `Ask the gateway: ${statusCommand(id, account)}; any status text but UNKNOWN proves that it was sent.`
}

function statusCommand(id: bigint, account: string): string {
  return `busgate gateway status '{"id":${id}}'${account === 'default' ? '' : ` --account=${account === '' ? 'NAME' : shellWord(account)}`}`
}

const remedy = (errorCode: string | null) => remedyOf(errorCode) ?? 'Its text says why'

function sentText(result: SendResult, findings: Findings): string {
  const { id, account, sentAt, msgId, type, completedAt } = result
  const taken = `the gateway accepted it ${timeText(sentAt ?? completedAt)}${msgId === null ? '' : ` as ${msgId}`}`
  if (isSendType(type) && !operations[type].hasStatus) return `Sent: ${taken}. A ${type} has no delivery status.`
  const told = verdictText(findings, id, account)
  if (told) return `Sent: ${taken}. ${told}`
  const where = hasOwnHook(findings, result) ? 'callbacks go to the hook of its command' : 'it may still be on its way'
  return (
    `Sent: ${taken}. No status has come yet: ${where}. ${statusCommand(id, account)} asks the gateway. The ` +
    'reconciler, if it runs, asks when a verdict is overdue.'
  )
}

/** Whether callbacks go to the command's own hook instead of busgate. */
function hasOwnHook({ commands }: Findings, { account, type }: SendResult): boolean {
  if (isSendType(type) && hookedByType(type) === false) return false
  return commands.some(({ value: { command } }) => command.account === account && command.hook !== null)
}

/** null if there is no status. */
function verdictText(findings: Findings, id: bigint, account: string): string | null {
  const events = findings.statuses.map(({ value }) => value).filter(event => event.account === account)
  if (events.length === 0) return null
  const life = stateAfter(findings, { id, account })
  if (life.status === null) {
    if (findings.commands.length + findings.results.length === 0) {
      return (
        'Only unverified statuses came, which anybody can forge, and no command or result with this id was found in account ' +
        `${account}. ${statusCommand(id, account)} asks the gateway.`
      )
    }
    return (
      "Its statuses came to the account's own address, where anybody can claim anything, and tell nothing of a message that " +
      `had a hook of its own: ${statusCommand(id, account)} asks the gateway.`
    )
  }
  const { verdict } = life
  const since = life.since === null ? '' : ` ${timeText(life.since)}`
  if (verdict === 'DELIVERED') {
    return `Delivered${toldBy(life.status, verdict)}${since}${life.read ? ', and it was read' : ''}.`
  }
  if (verdict === 'FAILED') {
    const why = events.find(event => event.status === life.status && event.error !== null)?.error
    return `Not delivered${toldBy(life.status, verdict)}${since}${why ? ` (${why})` : ''}; ${anew}.`
  }
  if (verdict === 'UNKNOWN') return 'Nobody ever told whether it was delivered, and its life is over.'
  return `Not delivered yet: ${life.status}${since} is the last that is known.`
}

/** The status text if it says more than the verdict; a note if `success` decided, because the text is missing or contradicts it. */
function toldBy(status: string, verdict: 'DELIVERED' | 'FAILED'): string {
  if (status === '') return ' (its callback has no status text)'
  if (status === verdict) return ''
  const { state } = pollStateOf(status)
  return state === 'UNKNOWN' || state === verdict
    ? `: ${status}`
    : ` (by success of its callback, whose text is ${status})`
}

function repetition({ results }: Findings, id: bigint, account: string): string[] {
  const own = results.map(({ value }) => value).filter(one => one.id === id && one.account === account)
  const placesWith = (outcome: SendResult['outcome']) => placesOf(own, one => one === outcome)
  const [sent, repeated] = [placesWith('SENT'), placesWith('DUPLICATE')]
  const twice =
    `The id came with ${sent.length} commands that were all sent, and paid for: ${sent.join(' and ')}. An id is known again ` +
    'on its own partition, among its last 10,000 ids.'
  const once =
    `The id came ${repeated.length + 1} times: the command at ${repeated.join(' and ')} was not sent (DUPLICATE), because the ` +
    'first one counts.'
  const said = [...(sent.length > 1 ? [twice] : []), ...(repeated.length > 0 ? [once] : [])]
  return said.length > 0 ? [...said, 'Another message needs an id of its own.'] : []
}

/** Places of the commands whose results have one of the outcomes. */
function placesOf(results: readonly SendResult[], isOne: (outcome: SendResult['outcome']) => boolean): string[] {
  const places = results
    .filter(({ outcome }) => isOne(outcome))
    .map(({ commandTopic: topic, commandPartition: partition, commandOffset: offset }) =>
      placeText({ topic, partition, offset }),
    )
  return [...new Set(places)]
}
