import type { Level } from 'pino'
import { type ErrorPlace, safeText, summaryOf } from './error.ts'
import type { Events, RecordPlace } from './events.ts'

type OfEvent<K extends keyof Events, T> = T | ((event: Events[K]) => T)

/** LogLine says how an event is logged. */
export interface LogLine<K extends keyof Events> {
  level: OfEvent<K, Level>
  /** The sentence that a person reads; it repeats nothing that `safeText` would hide. */
  msg: OfEvent<K, string>
  /** What an operator does about it; absent where nothing is to be done. */
  action?: string
}

/**
 * Every event's line in the log; null: it is not logged, because the metrics tell it better. What is seen many times a
 * second, or at an outsider's will, stays below info. docs/logs.md is made from this.
 */
export const logLines: { [K in keyof Events]: LogLine<K> | null } = {
  'role.started': { level: 'info', msg: ({ role }) => `the role ${role} works from now on` },
  'worker.started': { level: 'info', msg: ({ version }) => `busgate ${version} has started` },
  'worker.stopping': { level: 'info', msg: ({ signal }) => `${signal}: finishing what is in flight` },
  'worker.stopped': { level: 'info', msg: 'stopped, with nothing left in flight' },
  'worker.failed': {
    level: 'fatal',
    msg: ({ error }) => `cannot go on: ${textOf(error)}`,
    action:
      'Nothing, if a supervisor starts it again and it stays up; else mend what the error names (`busgate doctor`).',
  },
  'worker.crashed': {
    level: 'fatal',
    msg: ({ error }) => `an error that nobody caught: ${textOf(error)}`,
    action: "Keep the line and tell busgate's maintainers: it is a fault of the program.",
  },
  'commands.consumed': null,
  'results.published': {
    level: 'debug',
    msg: ({ type, outcome, errorCode, count }) => `${count} × ${type}: ${outcome}${errorCode ? ` ${errorCode}` : ''}`,
  },
  'envelope.finished': {
    level: 'debug',
    msg: ({ account, outcome, operations, seconds }) =>
      `${counts(operations, 'operation')} of account ${account}: ${outcome} after ${rounded('seconds', seconds)} s`,
  },
  'gateway.retry': {
    level: 'debug',
    msg: ({ reason, count }) => `${counts(count, 'operation')} to be sent again: ${reason}`,
  },
  'rate.waited': {
    level: 'debug',
    msg: ({ account, seconds }) => `account ${account} waited ${rounded('seconds', seconds)} s for its rate`,
  },
  'account.paused': {
    level: 'warn',
    msg: ({ account, reason, retryInMs, error }) =>
      `account ${account} pauses (${reason}) and tries again in ${rounded('seconds', retryInMs / 1000)} s: ${safeText(error)}${reason === 'denied' ? keyHint(account) : ''}`,
    action:
      'denied: mend the key ([BusgateKeyRefused](runbooks/BusgateKeyRefused.md)); throttled: nothing, unless it lasts ([BusgateThrottled](runbooks/BusgateThrottled.md)); any other reason: [BusgateBreakerOpen](runbooks/BusgateBreakerOpen.md).',
  },
  'account.resumed': { level: 'info', msg: ({ account }) => `account ${account} sends again` },
  'session.opened': {
    level: 'info',
    msg: ({ inDoubt, ...place }) =>
      `works on ${at(place)}${inDoubt > 0 ? `, with ${counts(inDoubt, 'command')} that another owner may have sent` : ''}`,
  },
  'session.lost': {
    level: 'warn',
    msg: ({ topic, partition, stage, error }) =>
      `the session of ${topic}/${partition} ended in ${stage}: ${textOf(error)}`,
    action:
      'Nothing after a rebalance or a restart; if it goes on: [BusgateSessionsFenced](runbooks/BusgateSessionsFenced.md).',
  },
  'session.closed': {
    level: 'info',
    msg: ({ topic, partition }) => `does not work on ${topic}/${partition} any more`,
  },
  'session.openFailed': {
    level: 'warn',
    msg: ({ topic, partition, error }) => `cannot open ${topic}/${partition}, tries again: ${textOf(error)}`,
    action:
      'Mend what the error names: rights, a coordinator that is away, too few in-sync replicas (`busgate doctor`).',
  },
  'cycle.committed': null,
  'commit.confirmed': null,
  'log.cut': {
    level: 'error',
    msg: ({ topic, partition, unsent, unsentOffsets, perhapsSent, isEnd }) =>
      `the log of ${topic}/${partition} lost its ${isEnd ? 'end' : 'beginning'}: ` +
      `${counts(unsent, 'offset')} not sent${unsent > 0 ? ` (${unsentOffsets})` : ''}, ${perhapsSent} perhaps sent`,
    action:
      'Find out why (retention, deleted records, an unclean election). Have the producer send anew only the commands at `unsentOffsets`; those that were perhaps sent could reach people twice.',
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
      'End the transaction in the program that owns it. If it is gone, abort it with the command in the line; brokers end what a client left open by its `transaction.timeout.ms`, but for hanging transactions.',
  },
  'transaction.ended': {
    level: 'info',
    msg: ({ topic, partition }) => `no open transaction holds up ${topic}/${partition} any more`,
  },
  'topics.compacted': {
    level: 'error',
    msg: ({ topics }) => `${topics.join(', ')} must not be compacted: set cleanup.policy=delete`,
    action: 'Set `cleanup.policy=delete` at once: what is compacted away is lost, and no worker starts meanwhile.',
  },
  'doubt.opened': {
    level: 'warn',
    msg: ({ cause, count }) => `${counts(count, 'command')} in doubt (${cause}): perhaps sent, and resolved by itself`,
    action: 'Nothing for a few; many: [BusgateDoubtsGrowing](runbooks/BusgateDoubtsGrowing.md).',
  },
  'doubt.resolved': { level: 'debug', msg: ({ outcome }) => `a doubt ended ${outcome}` },
  'doubts.lost': {
    level: 'error',
    msg: ({ topic, partition, count }) =>
      `${counts(count, 'command')} in doubt went with ${topic}/${partition} when the topic was deleted: no final result follows`,
    action:
      'Create the topic again. Look among the results for ids that are IN_DOUBT without a final result, and ask the gateway for them before anything is sent again.',
  },
  'status.polled': { level: 'debug', msg: ({ result }) => `a status was asked for: ${result}` },
  'session.unchecked': {
    level: 'warn',
    msg: ({ topic, partition, until }) =>
      `${topic}/${partition}: what is below offset ${until} waits until the results tell what was answered before`,
    action:
      'Nothing after a reset of offsets that was meant; else find out who took the committed offset, or its metadata, away.',
  },
  'answered.unavailable': {
    level: 'error',
    msg: ({ error }) => `the results cannot be read for what was answered before: ${textOf(error)}`,
    action: 'Give the process READ of the results and the dead letters, or bring back the schema that the error names.',
  },
  'answered.read': {
    level: 'info',
    msg: ({ sessions, known, took }) =>
      `the results were read for ${counts(sessions, 'partition')} in ${rounded('took', took)} s: ${counts(known, 'answer')} found`,
  },
  'answered.found': {
    level: 'debug',
    msg: ({ topic, count }) => `${counts(count, 'record')} of ${topic} passed over: answered before`,
  },
  'evidence.unavailable': {
    level: 'warn',
    msg: ({ topic, partition, error }) =>
      `callbacks do not help to resolve doubts: cannot read ${partition === null ? topic : `${topic}/${partition}`}: ${textOf(error)}`,
    action: 'Give the process READ of the statuses, or mend what the error names. Doubts are asked for meanwhile.',
  },
  'statuses.unreadable': {
    level: 'warn',
    msg: ({ topic, partition, error }) => `cannot read the statuses of ${topic}/${partition}: ${textOf(error)}`,
    action: 'Mend what the error names; the reconciler goes on by itself.',
  },
  'result.unreadable': {
    level: 'warn',
    msg: ({ error, ...place }) => `${at(place)} ${error ? `cannot be read: ${safeText(error)}` : 'is no result'}`,
    action: 'Find out who else writes to the topic of results. The record is passed over.',
  },
  'deadLetter.published': {
    level: ({ stage }) => (stage === 'callback' ? 'debug' : 'warn'), // of callbacks, an outsider decides
    msg: ({ stage, code, count, first }) =>
      stage === 'callback' || first === null
        ? `${counts(count, 'callback')} kept as dead letter: ${code}`
        : count === 1
          ? `${at(first)} became a dead letter: ${code}`
          : `${count} records became dead letters, the first ${at(first)}: ${code}`,
    action: '`busgate dlq list` shows them; what to do: [BusgateDeadLetters](runbooks/BusgateDeadLetters.md).',
  },
  'record.shortened': {
    level: 'debug', // of callbacks, an outsider decides
    msg: ({ topic }) => `a record was shortened to what ${topic} takes`,
    action: 'Nothing, unless readers miss something: then raise `max.message.bytes` of the topic.',
  },
  'registry.unavailable': {
    level: 'warn',
    msg: ({ schemaId, count, error }) =>
      `the schema registry does not answer${count === 0 ? '' : count === 1 ? ` for schema ${schemaId}` : ` for ${count} schemas, one of them ${schemaId}`}: ${textOf(error)}`,
    action: 'Bring the registry back; records with these schemas go on by themselves.',
  },
  'registry.available': { level: 'info', msg: 'the schema registry answers again' },
  'bus.unavailable': {
    level: 'warn',
    msg: ({ error }) => `the brokers cannot be reached (busgate doctor says more): ${textOf(error)}`,
    action: 'Mend what the error names (`busgate doctor`); the start goes on by itself.',
  },
  'bus.log': {
    level: ({ level }) => level,
    msg: ({ message }) => safeText(message),
    action:
      'warn passes by itself, unless it is repeated for minutes; error: look at the brokers and `busgate doctor`.',
  },
  'hook.shortened': null,
  'callback.accepted': {
    level: 'debug',
    msg: ({ type, state, verified, contradicts }) =>
      `a callback of ${type}: ${state}${contradicts ? ', though its status says otherwise' : ''}${verified ? '' : ', unverified'}`,
  },
  'callback.refused': { level: 'debug', msg: ({ reason }) => `a callback was refused: ${reason}` },
  'callbacks.refused': {
    level: ({ isOurs }) => (isOurs ? 'warn' : 'info'),
    msg: ({ counts: byReason, error }) => {
      const reasons = Object.entries(byReason).map(([reason, count]) => `${count} ${reason}`)
      return `callbacks were refused: ${reasons.join(', ')}${error ? ` (${nameOf(error)})` : ''}`
    },
    action:
      'warn: [BusgateCallbacksRefused](runbooks/BusgateCallbacksRefused.md); info: nothing, unless many ([BusgateHooksRefused](runbooks/BusgateHooksRefused.md)).',
  },
  'delivery.latency': null,
  'callback.missing': {
    level: 'debug',
    msg: ({ type, count }) => `${counts(count, 'verdict')} of ${type} did not come in time`,
  },
  'verdict.found': {
    level: 'debug',
    msg: ({ type, state }) => `a verdict of ${type} was found by asking: ${state}`,
  },
  'verdicts.forgotten': {
    level: 'warn',
    msg: ({ count }) => `the reconciler forgot ${counts(count, 'id')}: its memory is full`,
    action: 'Add processes of the role reconciler, or memory to them.',
  },
  'pause.begun': {
    level: 'warn',
    msg: ({ kind, name, by, until, reason }) =>
      safeText(`${kind} ${name} is paused by ${by}${untilText(until)}${reason === null ? '' : `: ${reason}`}`),
    action: 'Nothing, if it is meant; `busgate status` shows all pauses, `busgate resume` ends one.',
  },
  'withdrawal.begun': {
    level: ({ kind }) => (kind === 'message' ? 'debug' : 'warn'), // programs may withdraw thousands
    msg: ({ kind, name, by, until, reason }) =>
      safeText(`${kind} ${name} is withdrawn by ${by}${untilText(until)}${reason === null ? '' : `: ${reason}`}`),
    action: 'Nothing, if it is meant; `busgate status` shows all withdrawals, `busgate withdraw --end` ends one.',
  },
  'withdrawal.ended': {
    level: 'debug',
    msg: ({ kind, name, by }) => safeText(`the withdrawal of ${kind} ${name} is over, by ${by}`),
  },
  'pause.ended': { level: 'info', msg: ({ kind, name, by }) => safeText(`${kind} ${name} goes on, by ${by}`) },
  'control.unreadable': {
    level: 'warn',
    msg: ({ error, ...place }) => `${at(place)} is neither a pause nor a withdrawal: ${textOf(error)}`,
    action:
      'Find out who else writes to the control topic, or whether a newer busgate does. The record is passed over.',
  },
  'control.unavailable': {
    level: 'warn',
    msg: ({ topic, error }) =>
      `cannot read ${topic}; pauses and withdrawals stay, new ones are not seen: ${textOf(error)}`,
    action: 'Give the process READ of the control topic, or mend what the error names.',
  },
  'balance.read': {
    level: 'debug',
    msg: ({ account, currency, amount }) => `account ${account} has ${rounded('amount', amount)} ${currency}`,
  },
}

/** Says how far a partition is read, whose transaction is open there, and what to do. */
export function openTransactionText(event: Events['transaction.open']): string {
  const { topic, partition, offset, producerId, transactionalId, error } = event
  const id = producerId === null ? 'a producer' : `the producer with the id ${producerId}`
  const name = transactionalId === null ? id : `${transactionalId} (producer id ${producerId})`
  return (
    `${topic}/${partition} is not read beyond offset ${offset}: ${name} holds a transaction open` +
    `${error === null ? '' : ` (${error})`}. End it there; if that program is gone: kafka-transactions.sh ` +
    `--bootstrap-server BROKER abort --topic ${topic} --partition ${partition} --start-offset ${offset}`
  )
}

/** A number as it is logged: milliseconds are whole, all else has at most three digits behind the point. */
export function rounded(field: string, value: number): number {
  return field.endsWith('Ms') ? Math.round(value) : Math.round(value * 1000) / 1000
}

const untilText = (until: number | null): string => (until === null ? '' : ` until ${new Date(until).toISOString()}`)

const at = ({ topic, partition, offset }: RecordPlace): string => `${topic}/${partition}@${offset}`

const counts = (count: number, noun: string): string => `${count} ${noun}${count === 1 ? '' : 's'}`

const textOf = (error: Error): string => summaryOf(error).message

const nameOf = ({ name, code }: ErrorPlace): string => code ?? name

function keyHint(account: string): string {
  const [path, variable] =
    account === 'default'
      ? ['gateway.apiKey', 'GATEWAY_API_KEY']
      : [`gateway.accounts.${account}.apiKey`, `GATEWAY_ACCOUNTS_${account.toUpperCase()}_API_KEY`]
  return `; put its key into ${path} (BUSGATE_${variable})`
}
