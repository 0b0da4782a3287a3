import { type Change, changeText } from '../../control/change.ts'
import type { Fleet, Process } from '../../fleet/fleet.ts'
import { heldAccounts, noWorkerText, ownerOf } from '../../fleet/holds.ts'
import { shellFlag } from '../../shell.ts'
import { heldAccountText, mendText, stuckText } from '../../vocabulary/holds.ts'
import { ended, endText, grouped, sentence, timeText } from '../../words.ts'
import { placeText } from '../dead-letters/letter.ts'
import type { Findings, FoundCommand, Sighting, Undecoded } from './findings.ts'

/** Says why a command has not been sent yet, who can change that, and when it ends if nobody does. */
export function notYetText(command: Sighting<FoundCommand>, findings: Findings, now = Date.now()): string {
  return [
    `Not sent yet: ${reasonOf(command, findings, now)}`,
    ...deadlineText(command.value.command.deadline, now),
  ].join(' ')
}

function reasonOf(command: Sighting<FoundCommand>, findings: Findings, now: number): string {
  const { place, value } = command
  const { fleet } = findings
  const where = placeText(place)
  const owner = fleet && ownerOf(fleet, place)
  const due = value.command.notBefore ?? 0
  const paused = pausesText(command, findings, due)
  if (due > now) {
    const without = fleet && !owner ? ` ${sentence(unownedText(fleet, where))}` : ''
    const still = paused ? ` It will still wait then, ${paused}` : ''
    return `it waits until ${timeText(due)} (in ${about((due - now) / 1000)}).${without}${still}`
  }
  if (value.progress === 'unread' && !owner) {
    const start = `no worker owns the partition of ${where}. Start busgate run with this kafka.groupId.`
    return paused ? `${start} It will still wait, ${paused}` : start
  }
  if (paused) return `the command at ${where} waits, ${paused}`
  if (!fleet) {
    return `the command at ${where} is in the queue. If that takes long, GET /readyz of its worker and busgate doctor say why.`
  }
  if (!owner) return unownedText(fleet, where)
  if (value.progress === 'later') return 'its time has come, and its worker takes it up within seconds.'
  return (
    stuckReason(owner, place, value.schemaId) ??
    heldText(owner, value) ??
    processText(owner) ??
    queueText(command, owner)
  )
}

function unownedText(fleet: Fleet, where: string): string {
  const noWorker = noWorkerText(fleet)
  if (noWorker === null) return `no worker owns the partition of ${where} now. One takes it over within a minute.`
  return `${ended(noWorker)} The operator must start busgate run with this kafka.groupId.`
}

function stuckReason(
  { report }: Process,
  { topic, partition, offset }: Sighting<unknown>['place'],
  schemaId: number | null,
): string | null {
  const stuck = report.stuck.find(
    one =>
      one.topic === topic &&
      one.partition === partition &&
      one.offset <= offset &&
      (one.why === 'transaction' || one.schemaId === schemaId),
  )
  if (!stuck) return null
  const mend = stuck.why === 'schema' ? ' The operator must restore the schema registry.' : ''
  return `${ended(stuckText(stuck))}${mend}`
}

/** Says why the account of a command is held back; null if it is not. */
export function heldBackText({ place, value }: Sighting<FoundCommand>, { fleet }: Findings): string | null {
  const owner = fleet && ownerOf(fleet, place)
  return owner ? heldText(owner, value) : null
}

function heldText(owner: Process, { command }: FoundCommand): string | null {
  const held = heldAccounts([owner], 'held').find(({ account }) => account === command.account)
  return held ? `${heldAccountText(held)}. ${mendText(held.reason)}` : null
}

function processText({ name, report }: Process): string | null {
  return report.reasons.length > 0
    ? `its worker, process ${name}, does not work: ${ended(report.reasons.join('; '))}`
    : null
}

/** Fewer settled commands in the last minute tell nothing of the next. */
const leastSettled = 10

function queueText({ place, value: { ahead } }: Sighting<FoundCommand>, { report }: Process): string {
  if (ahead === null || ahead === 0) return 'it is next in its partition.'
  const perSecond = report.owned[place.topic]?.[place.partition] ?? 0
  const others = ahead === 1 ? '1 other' : `${grouped(ahead)} others`
  if (perSecond * 60 < leastSettled)
    return `it is behind ${others} in its partition, and few of them were finished in the last minute.`
  const rate = perSecond < 10 ? perSecond.toFixed(1) : grouped(Math.round(perSecond))
  return `it is behind ${others} in its partition, which finishes ${rate} a second: its turn comes in about ${about(ahead / perSecond)}.`
}

function about(seconds: number): string {
  if (seconds < 120) return `${Math.max(1, Math.round(seconds))} s`
  if (seconds < 7200) return `${Math.round(seconds / 60)} min`
  return seconds < 48 * 3600 ? `${Math.round(seconds / 3600)} h` : `${Math.round(seconds / 86_400)} days`
}

function deadlineText(deadline: number | null, now: number): string[] {
  if (deadline === null) return []
  return [`Its deadline ${deadline < now ? 'was' : 'is'} ${endText(deadline)}: unsent, it ends EXPIRED.`]
}

/** Describes the pauses that still stop a command at a time, who set them, and how to end them; null if there are none. */
function pausesText(
  { value, place: { topic } }: Sighting<FoundCommand>,
  { controls }: Findings,
  at: number,
): string | null {
  const { account, campaign, tenant } = value.command
  const names = { account, campaign, tenant, topic, quiet_hours: account }
  const lasts = ({ until }: Change) => (until ?? Number.POSITIVE_INFINITY) > at
  const own = controls.filter(one => one.effect === 'paused' && names[one.kind] === one.name && lasts(one))
  if (own.length === 0) return null
  const byHand = own.filter(({ kind }) => kind !== 'quiet_hours')
  const commands = byHand.map(({ kind, name }) => `busgate resume ${shellFlag(kind, name)}`)
  const end = byHand.length > 0 ? ` ${commands.join(' and ')} ${byHand.length > 1 ? 'resume' : 'resumes'} it.` : ''
  return `because ${own.map(changeText).join('; ')}.${end}`
}

/** Says who withdrew an unsent command; null if nobody did. */
export function withdrawnText(
  { value: { command }, time }: Sighting<FoundCommand>,
  { controls }: Findings,
): string | null {
  const { id, account, tenant, campaign, correlationId } = command
  const names = { tenant, campaign, correlation_id: correlationId, message: `${account}/${id}` }
  const isOwn = (one: Change) =>
    one.effect === 'withdrawn' && names[one.kind] === one.name && time <= (one.until ?? Number.POSITIVE_INFINITY)
  const own = controls.find(isOwn)
  return own ? `it ends EXPIRED (WITHDRAWN), because ${changeText(own)}.` : null
}

/** Says what is known of a record that has the id as its key, and whose schema cannot be loaded here. */
export function undecodedText({ place, value }: Sighting<Undecoded>, { fleet }: Findings): string {
  const owner = fleet && ownerOf(fleet, place)
  const stuck = owner && stuckReason(owner, place, value.schemaId)
  return `Not sent yet: ${stuck ?? `the record at ${placeText(place)} has this id as its key, and cannot be read now: ${ended(value.why)}`}`
}
