import { shellWord } from '../shell.ts'
import { count as numberOf, timeText } from '../words.ts'
import { cutText } from './cut-text.ts'
import { type ErrorPlace, safeText, summaryOf } from './error.ts'
import type { Events, SessionStage } from './events.ts'
import type { Level } from './logger.ts'
import type { RecordPlace } from './stable-events.ts'

type OfEvent<K extends keyof Events, T> = T | ((event: Events[K]) => T)

/** The log line of an event. */
export interface LogLine<K extends keyof Events> {
  level: OfEvent<K, Level>
  /** A sentence for people; contains nothing that `safeText` would hide. */
  msg: OfEvent<K, string>
  /** What an operator should do; absent if nothing. */
  action?: string
}

const stageTexts: Record<SessionStage, string> = {
  fetch: 'reading',
  handle: 'handling its records',
  commit: 'committing',
}

/**
 * The log lines of all events; null for events that only metrics show. Frequent events, and those that outsiders can cause,
 * stay below info. docs/logs.md is generated from this.
 */
export const logLines: { [K in keyof Events]: LogLine<K> | null } = {
  'role.started': { level: 'info', msg: ({ role }) => `role ${role} started` },
  'role.off': { level: 'info', msg: ({ role, reason }) => `role ${role} is off: ${reason}` },
  'worker.started': { level: 'info', msg: ({ version }) => `busgate ${version} has started` },
  'worker.stopping': { level: 'info', msg: ({ signal }) => `${signal}: finishing requests in flight` },
  'worker.stopped': { level: 'info', msg: 'stopped; nothing is in flight' },
  'worker.failed': {
    level: 'fatal',
    msg: ({ error }) => `cannot continue: ${textOf(error)}`,
    action:
      'Nothing, if a supervisor restarts it and it stays up; else repair what the error names (`busgate doctor`).',
  },
  'worker.crashed': {
    level: 'fatal',
    msg: ({ error }) => `uncaught error: ${textOf(error)}`,
    action: "Keep the line and report it to busgate's maintainers: it is a bug.",
  },
  'secret.unusable': {
    level: 'warn',
    msg: ({ setting, reason }) => `${setting} has no valid value now (${reason}); the last valid one stays in use`,
    action: 'Repair the file before a restart: without it, the process does not start.',
  },
  'secret.usable': { level: 'info', msg: ({ setting }) => `${setting} has a valid value again` },
  'commands.consumed': null,
  'results.published': {
    level: 'debug',
    msg: ({ type, outcome, errorCode, count }) => `${count} × ${type}: ${outcome}${errorCode ? ` ${errorCode}` : ''}`,
  },
  'country.refused': null,
  'envelope.finished': {
    level: 'debug',
    msg: ({ account, outcome, operations, seconds }) =>
      `${numberOf(operations, 'operation')} of account ${account}: ${outcome} after ${rounded('seconds', seconds)} s`,
  },
  'gateway.retry': {
    level: 'debug',
    msg: ({ reason, count }) => `${numberOf(count, 'operation')} to be retried: ${reason}`,
  },
  'rate.waited': {
    level: 'debug',
    msg: ({ account, seconds }) => `account ${account} waited ${rounded('seconds', seconds)} s for its rate`,
  },
  'account.paused': {
    level: 'warn',
    msg: ({ account, reason, retryInMs, error, keyPlace }) =>
      `account ${account} is held back (${reason}) and retries in ${rounded('seconds', retryInMs / 1000)} s: ${safeText(error)}${keyHint(reason, keyPlace)}`,
    action:
      'denied: replace the key ([BusgateKeyRefused](runbooks/BusgateKeyRefused.md)); throttled: nothing, unless it lasts ([BusgateThrottled](runbooks/BusgateThrottled.md)); any other reason: [BusgateBreakerOpen](runbooks/BusgateBreakerOpen.md).',
  },
  'polls.paused': {
    level: 'warn',
    msg: ({ account, reason, retryInMs, error, keyPlace }) =>
      `status polls of account ${account} are held back (${reason}) and retry in ${rounded('seconds', retryInMs / 1000)} s: ${safeText(error)}${keyHint(reason, keyPlace)}`,
    action:
      'denied, while commands pass: the key lacks the right to ask for statuses; doubts then end UNRESOLVED. Any other reason: nothing, unless doubts grow ([BusgateDoubtsGrowing](runbooks/BusgateDoubtsGrowing.md)).',
  },
  'account.resumed': { level: 'info', msg: ({ account }) => `account ${account} resumes sending` },
  'session.opened': {
    level: 'info',
    msg: ({ inDoubt, topic, partition, offset, committed }) =>
      `owns ${at({ topic, partition, offset: committed })}${offset < committed ? `, reading from offset ${offset} to find repeated ids` : ''}${inDoubt > 0 ? `, with ${numberOf(inDoubt, 'command')} that another owner may have sent` : ''}`,
  },
  'session.lost': {
    level: 'warn',
    msg: ({ topic, partition, stage, error }) =>
      `lost the session of ${topic}/${partition} while ${stageTexts[stage]}: ${textOf(error)}`,
    action:
      'Nothing after a rebalance or a restart; if it continues: [BusgateSessionsFenced](runbooks/BusgateSessionsFenced.md).',
  },
  'session.closed': {
    level: 'info',
    msg: ({ topic, partition }) => `no longer owns ${topic}/${partition}`,
  },
  'session.openFailed': {
    level: 'warn',
    msg: ({ topic, partition, error }) => `cannot open ${topic}/${partition}, retrying: ${textOf(error)}`,
    action:
      'Repair what the error names: rights, an unavailable coordinator, too few in-sync replicas (`busgate doctor`).',
  },
  'cycle.committed': null,
  'commit.confirmed': null,
  'log.cut': {
    level: 'error',
    msg: cutText,
    action:
      'Find out why (retention, deleted records, an unclean election). Let the producer resend only the commands at `unsentOffsets`: those that were perhaps sent could reach people twice. A dead letter for each range (RECORDS_DELETED) says the same: `busgate dlq list`.',
  },
  'transaction.open': {
    level: 'warn',
    msg: ({ transactionalId, error, ...event }) =>
      openTransactionText({
        ...event,
        transactionalId: transactionalId && safeText(transactionalId),
        error: error && safeText(error),
      }),
    action:
      'End the transaction in the program that owns it. If that program is gone, abort the transaction with the command in the line. Brokers abort it after its `transaction.timeout.ms`, except hanging transactions.',
  },
  'transaction.ended': {
    level: 'info',
    msg: ({ topic, partition }) => `no open transaction blocks ${topic}/${partition} any more`,
  },
  'topics.compacted': {
    level: 'error',
    msg: ({ topics }) => `${topics.join(', ')} must not be compacted: set cleanup.policy=delete`,
    action: 'Set `cleanup.policy=delete` at once: compacted records are lost, and no worker starts until then.',
  },
  'doubt.opened': {
    level: 'warn',
    msg: ({ cause, count }) =>
      `${numberOf(count, 'command')} in doubt (${cause}): perhaps sent; busgate resolves this by itself`,
    action: 'Nothing for a few; many: [BusgateDoubtsGrowing](runbooks/BusgateDoubtsGrowing.md).',
  },
  'doubt.resolved': { level: 'debug', msg: ({ outcome }) => `a doubt ended ${outcome}` },
  'doubts.lost': {
    level: 'error',
    msg: ({ topic, partition, count }) =>
      `the doubts of ${numberOf(count, 'command')} of ${topic}/${partition} were deleted: they end UNRESOLVED`,
    action:
      'Find out who deleted records or the topic. Ask the gateway about these messages before anyone resends them.',
  },
  'status.polled': { level: 'debug', msg: ({ result }) => `polled a status: ${result}` },
  'session.foreignOffset': {
    level: 'warn',
    msg: ({ topic, partition, offset }) =>
      `${topic}/${partition}: somebody else set the committed offset to ${offset}; busgate continues there and skips everything below`,
    action:
      'Nothing after an intended reset of offsets. Else a program uses `kafka.groupId`: stop it, stop the workers, and reset the offset to before it ran; what has a result is not sent again.',
  },
  'session.unchecked': {
    level: 'warn',
    msg: ({ topic, partition, until }) =>
      `${topic}/${partition}: records below offset ${until} wait until the results say which were answered before`,
    action:
      'Nothing at the first start of a group, or after an intended reset of offsets; else find out who removed the committed offset or its metadata.',
  },
  'answered.unavailable': {
    level: 'error',
    msg: ({ error }) => `cannot read the results to find answered commands: ${textOf(error)}`,
    action: 'Grant the process READ of the results and the dead letters, or restore the schema that the error names.',
  },
  'answered.read': {
    level: 'info',
    msg: ({ sessions, known, took }) =>
      `read the results for ${numberOf(sessions, 'partition')} in ${rounded('took', took)} s: found ${numberOf(known, 'answer')}`,
  },
  'answered.found': {
    level: 'debug',
    msg: ({ topic, count }) => `skipped ${numberOf(count, 'record')} of ${topic}: answered before`,
  },
  'evidence.unavailable': {
    level: 'warn',
    msg: ({ topic, partition, error }) =>
      `cannot use callbacks to resolve doubts: cannot read ${topic}/${partition}: ${textOf(error)}`,
    action:
      'Grant the process READ of the statuses, or repair what the error names. Until then nothing in doubt is sent again.',
  },
  'statuses.unreadable': {
    level: 'warn',
    msg: ({ topic, partition, error }) => `cannot read the statuses of ${topic}/${partition}: ${textOf(error)}`,
    action: 'Repair what the error names; the reconciler then continues by itself.',
  },
  'result.unreadable': {
    level: 'warn',
    msg: ({ error, ...place }) => `${at(place)} ${error ? `cannot be read: ${safeText(error)}` : 'is not a result'}`,
    action:
      'Restore its schema if that is missing: the record is read again for a week. Else find out who else writes to the topic of results; the record is skipped.',
  },
  'deadLetter.published': {
    level: ({ stage }) => (stage === 'callback' ? 'debug' : 'warn'), // of callbacks, an outsider decides
    msg: ({ stage, code, count, first }) =>
      stage === 'callback' || first === null
        ? `${numberOf(count, 'callback')} kept as dead letter: ${code}`
        : count === 1
          ? `${at(first)} became a dead letter: ${code}`
          : `${count} records became dead letters, the first ${at(first)}: ${code}`,
    action: '`busgate dlq list` shows them; see [BusgateDeadLetters](runbooks/BusgateDeadLetters.md).',
  },
  'fault.contained': {
    level: ({ isTold }) => (isTold ? 'debug' : 'error'), // content of outsiders can cause any number
    msg: ({ handling, place, error }) =>
      `busgate failed while it handled ${handling === 'partition' ? 'the records of a' : handling === 'answer' ? 'an' : 'a'} ${handling}${place ? ` at ${at(place)}` : ''} (${nameOf(error)}); everything else continues`,
    action:
      "Keep the line and report it to busgate's maintainers: it is a bug. See [BusgateFaults](runbooks/BusgateFaults.md).",
  },
  'record.shortened': {
    level: 'debug', // of callbacks, an outsider decides
    msg: ({ topic }) => `shortened a record to the limit of ${topic}`,
    action: 'Nothing, unless readers miss something; then raise `max.message.bytes` of the topic.',
  },
  'registry.unavailable': {
    level: 'warn',
    msg: ({ schemaId, count, place, error }) =>
      `the schema registry does not answer${count === 0 ? '' : count === 1 ? ` for schema ${schemaId}` : ` for ${count} schemas, one of them ${schemaId}`}${place ? `, needed by ${at(place)}` : ''}: ${textOf(error)}`,
    action: 'Restore the registry; records with these schemas then continue by themselves.',
  },
  'registry.available': { level: 'info', msg: 'the schema registry answers again' },
  'bus.unavailable': {
    level: 'warn',
    msg: ({ error }) => `the bus cannot be used now (busgate doctor says more): ${textOf(error)}`,
    action: 'Repair what the error names (`busgate doctor`); the start then continues by itself.',
  },
  'bus.log': {
    level: ({ level }) => level,
    msg: ({ message }) => safeText(message),
    action: 'warn: nothing, unless it repeats for minutes; error: check the brokers, and run `busgate doctor`.',
  },
  'hook.shortened': null,
  'callback.accepted': {
    level: 'debug',
    msg: ({ type, state, verified, contradicts }) =>
      `a callback of ${type}: ${state}${contradicts ? ', which contradicts its status text' : ''}${verified ? '' : ', unverified'}`,
  },
  'callback.refused': { level: 'debug', msg: ({ reason }) => `refused a callback: ${reason}` },
  'callbacks.refused': {
    level: ({ isOurs }) => (isOurs ? 'warn' : 'info'),
    msg: ({ counts: byReason, error }) => {
      const reasons = Object.entries(byReason).map(([reason, count]) => `${count} ${reason}`)
      return `refused callbacks: ${reasons.join(', ')}${error ? ` (${nameOf(error)})` : ''}`
    },
    action:
      'warn: [BusgateCallbacksRefused](runbooks/BusgateCallbacksRefused.md); info: nothing, unless many ([BusgateHooksRefused](runbooks/BusgateHooksRefused.md)).',
  },
  'delivery.latency': null,
  'callback.missing': {
    level: 'debug',
    msg: ({ type, count }) => `${numberOf(count, 'verdict')} of ${type} missing after the expected time`,
  },
  'verdict.found': {
    level: 'debug',
    msg: ({ type, state }) => `found a verdict of ${type} by polling: ${state}`,
  },
  'verdicts.forgotten': {
    level: 'warn',
    msg: ({ count }) => `the reconciler forgot ${numberOf(count, 'id')}: its memory is full`,
    action: 'Add partitions to the topics of results and statuses, or shorten reconciler.expectMs.',
  },
  'pause.begun': {
    level: 'warn',
    msg: ({ kind, name, by, until, reason }) =>
      safeText(`${kind} ${name} is paused by ${by}${untilText(until)}${reason === null ? '' : `: ${reason}`}`),
    action: 'Nothing, if it is intended; `busgate status` shows all pauses, `busgate resume` ends one.',
  },
  'withdrawal.begun': {
    level: ({ kind }) => (kind === 'message' ? 'debug' : 'warn'), // programs may withdraw thousands
    msg: ({ kind, name, by, until, reason }) =>
      safeText(`${kind} ${name} is withdrawn by ${by}${untilText(until)}${reason === null ? '' : `: ${reason}`}`),
    action: 'Nothing, if it is intended; `busgate status` shows all withdrawals, `busgate withdraw --end` ends one.',
  },
  'withdrawal.ended': {
    level: 'debug',
    msg: ({ kind, name, by }) => safeText(`the withdrawal of ${kind} ${name} is ended by ${by}`),
  },
  'pause.ended': { level: 'info', msg: ({ kind, name, by }) => safeText(`${kind} ${name} is resumed by ${by}`) },
  'control.unreadable': {
    level: 'warn',
    msg: ({ error, count, ...place }) =>
      `${at(place)} is neither a pause nor a withdrawal: ${textOf(error)}${count > 1 ? `; ${count - 1} more after it` : ''}`,
    action: 'Find out who else writes to the control topic, perhaps a newer busgate. The records are skipped.',
  },
  'control.unavailable': {
    level: 'warn',
    msg: ({ topic, error }) =>
      `cannot read ${topic}; existing pauses and withdrawals stay, new ones are not seen: ${textOf(error)}`,
    action:
      'Grant the process READ of the control topic, or repair what the error names ([BusgateControlBehind](runbooks/BusgateControlBehind.md)).',
  },
  'control.overfull': {
    level: 'error',
    msg: ({ topic, reason }) => `${topic} is overfull: ${reason}`,
    action:
      'End withdrawals that are over, and find out who writes so many ([BusgateControlFilling](runbooks/BusgateControlFilling.md)).',
  },
  'control.available': { level: 'info', msg: ({ topic }) => `all pauses and withdrawals on ${topic} are known again` },
  'control.crowded': {
    level: 'warn',
    msg: ({ topic, count }) => `${numberOf(count, 'more change')} of pauses and withdrawals on ${topic} within seconds`,
    action: '`busgate status` shows what is in force.',
  },
  'report.unavailable': {
    level: 'warn',
    msg: ({ topic, error }) => `cannot report on ${topic} what holds commands back: ${safeText(error)}`,
    action: 'Create the topic (`busgate topics create`), or grant WRITE of it. Sending continues.',
  },
  'report.available': { level: 'info', msg: ({ topic }) => `reports on ${topic} again` },
  'gateway.unproved': {
    level: 'warn',
    msg: ({ error }) => safeText(error),
    action:
      'Repair the setting, key, certificate, proxy or network that the line names (`busgate gateway balance`). After an upgrade: the old processes still work; go back, or repair the new settings.',
  },
  'gateway.proved': { level: 'info', msg: ({ account }) => `the gateway accepts the key of account ${account}` },
  'balance.read': {
    level: 'debug',
    msg: ({ account, currency, amount }) => `account ${account} has ${rounded('amount', amount)} ${currency}`,
  },
  'balance.failed': {
    level: 'warn',
    msg: ({ account, reason, error, keyPlace }) =>
      `cannot read the balance of account ${account}: ${safeText(error)}${keyHint(reason, keyPlace)}`,
    action:
      'denied: the key is wrong, or lacks the right to ask for the balance ([BusgateKeyRefused](runbooks/BusgateKeyRefused.md)); unreadable: nothing, but the metric stays empty; any other reason: nothing, unless commands wait ([BusgateBreakerOpen](runbooks/BusgateBreakerOpen.md)). `gateway.balanceIntervalMs=0` ends the requests, but for refused keys.',
  },
}

/** Says up to which offset the partition is read, whose transaction is open, and what to do. */
export function openTransactionText(event: Events['transaction.open']): string {
  const { topic, partition, offset, producerId, transactionalId, error } = event
  const id = producerId === null ? 'a producer' : `the producer with the id ${producerId}`
  const name = transactionalId === null ? id : `${transactionalId} (producer id ${producerId})`
  return (
    `${topic}/${partition} cannot be read beyond offset ${offset}: ${name} has an open transaction` +
    `${error === null ? '' : ` (${error})`}. End it there; if that program is gone: kafka-transactions.sh ` +
    `--bootstrap-server BROKER abort --topic ${shellWord(topic)} --partition ${partition} --start-offset ${offset}`
  )
}

/** Rounds a number for the log: milliseconds to integers, others to three decimals. */
export function rounded(field: string, value: number): number {
  return field.endsWith('Ms') ? Math.round(value) : Math.round(value * 1000) / 1000
}

const untilText = (until: number | null): string => (until === null ? '' : ` ${timeText(until, 'until')}`)

const at = ({ topic, partition, offset }: RecordPlace): string => `${topic}/${partition}@${offset}`

const textOf = (error: Error): string => summaryOf(error).message

const keyHint = (reason: string, keyPlace: string) => (reason === 'denied' ? `; put its key into ${keyPlace}` : '')

const nameOf = ({ name, code }: ErrorPlace): string => code ?? name
